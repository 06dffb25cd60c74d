//===- CkptOps.cpp - what tablegen writes of the ops ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ckpt;

//===----------------------------------------------------------------------===//
// Operand types: those at the end that repeat the one before are left out
//===----------------------------------------------------------------------===//

using OptionalOperand = std::optional<OpAsmParser::UnresolvedOperand>;

static ParseResult parseTypes(OpAsmParser &parser, ArrayRef<Type *> types) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> written;
  if (parser.parseTypeList(written))
    return failure();
  if (written.size() > types.size())
    return parser.emitError(loc) << "expected at most " << types.size()
                                 << " operand types, got " << written.size();
  for (auto [index, type] : llvm::enumerate(types))
    *type = index < written.size() ? written[index] : written.back();
  return success();
}

static void printTypes(OpAsmPrinter &printer, ArrayRef<Type> types) {
  while (types.size() > 1 && types.back() == types[types.size() - 2])
    types = types.drop_back();
  llvm::interleaveComma(types, printer);
}

/// Every operand is there.
template <typename... Types>
static ParseResult parseOperandTypes(OpAsmParser &parser, Types &...types) {
  return parseTypes(parser, {&types...});
}
template <typename... Types>
static void printOperandTypes(OpAsmPrinter &printer, Operation *,
                              Types... types) {
  printTypes(printer, {Type(types)...});
}

/// The last operand may be absent.
template <typename... Types,
          typename = std::enable_if_t<(std::is_same_v<Types, Type> && ...)>>
static ParseResult parseOptionalOperandTypes(OpAsmParser &parser,
                                             const OptionalOperand &last,
                                             Types &...types) {
  SmallVector<Type *> wanted{&types...};
  if (!last)
    wanted.pop_back();
  return parseTypes(parser, wanted);
}

/// A norm: weight, or weight and bias, may be absent.
static ParseResult parseOptionalOperandTypes(OpAsmParser &parser,
                                             const OptionalOperand &weight,
                                             const OptionalOperand &bias,
                                             Type &x, Type &weightType,
                                             Type &biasType) {
  SmallVector<Type *> wanted{&x};
  if (weight)
    wanted.push_back(&weightType);
  if (bias)
    wanted.push_back(&biasType);
  return parseTypes(parser, wanted);
}

template <typename... Args>
static void printOptionalOperandTypes(OpAsmPrinter &printer, Operation *op,
                                      Args...) {
  printTypes(printer, SmallVector<Type>(op->getOperandTypes()));
}

static ParseResult
parseVariadicOperandTypes(OpAsmParser &parser,
                          ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                          SmallVectorImpl<Type> &types) {
  types.resize(operands.size());
  SmallVector<Type *> wanted;
  for (Type &type : types)
    wanted.push_back(&type);
  return parseTypes(parser, wanted);
}
static void printVariadicOperandTypes(OpAsmPrinter &printer, Operation *op,
                                      OperandRange, TypeRange) {
  printTypes(printer, SmallVector<Type>(op->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// {approximate = tanh}
//===----------------------------------------------------------------------===//

static ParseResult parseGeluAttributes(OpAsmParser &parser,
                                       GeluKindAttr &approximate,
                                       NamedAttrList &attributes) {
  auto parseEntry = [&]() -> ParseResult {
    std::string name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeywordOrString(&name))
      return failure();
    if (name != "approximate") {
      if (succeeded(parser.parseOptionalEqual())) {
        Attribute value;
        if (parser.parseAttribute(value))
          return failure();
        attributes.set(name, value);
      } else {
        attributes.set(name, parser.getBuilder().getUnitAttr());
      }
      return success();
    }
    StringRef kind;
    if (parser.parseEqual() || parser.parseKeyword(&kind))
      return failure();
    std::optional<GeluKind> value = symbolizeGeluKind(kind);
    if (!value)
      return parser.emitError(loc)
             << "expected 'approximate' to be tanh or erf, got " << kind;
    approximate = GeluKindAttr::get(parser.getContext(), *value);
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  if (!approximate)
    return parser.emitError(loc)
           << "expected {approximate = tanh} or {approximate = erf}";
  return success();
}

static void printGeluAttributes(OpAsmPrinter &printer, Operation *op,
                                GeluKindAttr approximate, DictionaryAttr) {
  printer << "{approximate = " << stringifyGeluKind(approximate.getValue());
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    printer << ", ";
    printer.printKeywordOrString(attribute.getName());
    if (!isa<UnitAttr>(attribute.getValue()))
      printer << " = " << attribute.getValue();
  }
  printer << "}";
}

#define GET_OP_CLASSES
#include "ckpt/Dialect/Ckpt/IR/CkptOps.cpp.inc"
