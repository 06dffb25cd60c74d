//===- BlockOps.cpp - assembly of blocks, boundary regions ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ckpt;

//===----------------------------------------------------------------------===//
// BlockOp
//===----------------------------------------------------------------------===//

ArrayRef<BlockArgument> BlockOp::getStates() {
  return ArrayRef<BlockArgument>(getBody().getArguments())
      .take_front(getNumStates());
}

ArrayRef<BlockArgument> BlockOp::getInputs() {
  return ArrayRef<BlockArgument>(getBody().getArguments())
      .slice(getNumStates(), getNumInputs());
}

ArrayRef<BlockArgument> BlockOp::getParams() {
  return ArrayRef<BlockArgument>(getBody().getArguments())
      .drop_front(getNumStates() + getNumInputs());
}

bool BlockOp::isParam(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->getParentOp() == getOperation() &&
         argument.getArgNumber() >= getNumStates() + getNumInputs();
}

StringRef BlockOp::getPortName(unsigned index) {
  return cast<StringAttr>(getPortNames()[index]).getValue();
}

bool BlockOp::needsGradient(unsigned index) {
  return getNeedsGradient()[index];
}

OperandRange BlockOp::getResults() {
  return getBody().front().getTerminator()->getOperands();
}

/// `blocks.{i}.attn.qkv.weight` -> `attn_qkv_weight`.
static std::string ssaNameOf(StringRef portName) {
  size_t pattern = portName.find("{i}.");
  if (pattern != StringRef::npos)
    portName = portName.drop_front(pattern + 4);
  std::string name = portName.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

void BlockOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  ArrayAttr names = getProperties().port_names;
  if (!names)
    return;
  for (auto [argument, attribute] : llvm::zip(region.getArguments(), names))
    if (auto name = dyn_cast<StringAttr>(attribute); name && !name.empty())
      setName(argument, ssaNameOf(name));
}

namespace {
/// What a port list says besides argument and type.
struct Ports {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> names;
  SmallVector<bool> needsGradient;
};
} // namespace

/// `%x : type differentiable`; the name is a string or else the SSA name.
static ParseResult parseValuePort(OpAsmParser &parser, Ports &ports) {
  OpAsmParser::Argument argument;
  std::string name;
  if (parser.parseArgument(argument))
    return failure();
  if (failed(parser.parseOptionalString(&name)))
    name = argument.ssaName.name.drop_front().str();
  if (parser.parseColonType(argument.type))
    return failure();
  ports.needsGradient.push_back(
      succeeded(parser.parseOptionalKeyword("differentiable")));
  ports.names.push_back(parser.getBuilder().getStringAttr(name));
  ports.arguments.push_back(argument);
  return success();
}

/// `%w "blocks.{i}.w" frozen : type`.
static ParseResult parseParamPort(OpAsmParser &parser, Ports &ports) {
  OpAsmParser::Argument argument;
  std::string name;
  StringRef role;
  if (parser.parseArgument(argument) || parser.parseString(&name))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&role, {"frozen", "trainable"})))
    return parser.emitError(loc, "expected frozen or trainable");
  if (parser.parseColonType(argument.type))
    return failure();
  ports.needsGradient.push_back(role == "trainable");
  ports.names.push_back(parser.getBuilder().getStringAttr(name));
  ports.arguments.push_back(argument);
  return success();
}

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes))
    return failure();
  Ports ports;
  auto parseSection =
      [&](StringRef keyword,
          ParseResult (*parsePort)(OpAsmParser &, Ports &)) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Paren, [&] { return parsePort(parser, ports); });
  };
  if (parseSection("states", parseValuePort))
    return failure();
  int64_t numStates = ports.arguments.size();
  if (parseSection("inputs", parseValuePort))
    return failure();
  int64_t numInputs = ports.arguments.size() - numStates;
  if (parseSection("params", parseParamPort) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getNumStatesAttrName(result.name),
                      builder.getI64IntegerAttr(numStates));
  result.addAttribute(getNumInputsAttrName(result.name),
                      builder.getI64IntegerAttr(numInputs));
  result.addAttribute(getPortNamesAttrName(result.name),
                      builder.getArrayAttr(ports.names));
  result.addAttribute(getNeedsGradientAttrName(result.name),
                      builder.getDenseBoolArrayAttr(ports.needsGradient));
  return parser.parseRegion(*result.addRegion(), ports.arguments);
}

/// The name that `value` prints under, without the percent sign.
static std::string printedName(OpAsmPrinter &printer, Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printer.printOperand(value, os);
  return text.substr(1);
}

void BlockOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  auto printValuePort = [&](BlockArgument argument) {
    StringRef name = getPortName(argument.getArgNumber());
    printer << argument;
    if (printedName(printer, argument) != name) {
      printer << ' ';
      printer.printString(name);
    }
    printer << " : " << argument.getType();
    if (needsGradient(argument.getArgNumber()))
      printer << " differentiable";
  };
  auto printParamPort = [&](BlockArgument argument) {
    printer.printNewline();
    printer << argument << ' ';
    printer.printString(getPortName(argument.getArgNumber()));
    printer << (needsGradient(argument.getArgNumber()) ? " trainable"
                                                       : " frozen")
            << " : " << argument.getType();
  };
  // Four columns more than the body, six for the parameters.
  auto indent = [&](int steps) {
    for (; steps > 0; --steps)
      printer.increaseIndent();
    for (; steps < 0; ++steps)
      printer.decreaseIndent();
  };
  auto printSection = [&](StringRef keyword, ArrayRef<BlockArgument> ports,
                          StringRef separator, auto printPort) {
    if (ports.empty())
      return;
    indent(2);
    printer.printNewline();
    printer << keyword << '(';
    indent(1);
    llvm::interleave(ports, printPort, [&] { printer << separator; });
    indent(-3);
    printer << ')';
  };
  printSection("states", getStates(), ", ", printValuePort);
  printSection("inputs", getInputs(), ", ", printValuePort);
  printSection("params", getParams(), ",", printParamPort);
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getNumStatesAttrName(), getNumInputsAttrName(),
       getPortNamesAttrName(), getNeedsGradientAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Boundary regions
//===----------------------------------------------------------------------===//

static SetVector<Value> capturedBy(Region &body) {
  SetVector<Value> captured;
  auto block = body.getParentOfType<BlockOp>();
  body.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!body.isAncestor(operand.getParentRegion()) &&
          !(block && block.isParam(operand)))
        captured.insert(operand);
  });
  return captured;
}

SetVector<Value> AttentionOp::getCapturedValues() {
  return capturedBy(getBody());
}

SetVector<Value> FfnOp::getCapturedValues() { return capturedBy(getBody()); }
