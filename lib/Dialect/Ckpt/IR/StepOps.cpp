//===- StepOps.cpp - assembly of steps, kernels and variants --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ckpt;

//===----------------------------------------------------------------------===//
// Shared: `keyword(%a : type, ...) { ... }`
//===----------------------------------------------------------------------===//

static ParseResult parseArgumentsAndRegion(OpAsmParser &parser,
                                           Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();
  return parser.parseRegion(region, arguments);
}

static void printArguments(OpAsmPrinter &printer, Region &region) {
  printer << '(';
  llvm::interleaveComma(
      region.getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
}

static void printArgumentsAndRegion(OpAsmPrinter &printer, StringRef keyword,
                                    Region &region) {
  printer.increaseIndent();
  printer.printNewline();
  printer << keyword;
  printArguments(printer, region);
  printer << ' ';
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
  printer.decreaseIndent();
}

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  FlatSymbolRefAttr block;
  Region *forward = result.addRegion(), *backward = result.addRegion();
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseKeyword("of") ||
      parser.parseAttribute(block, getBlockAttrName(result.name),
                            result.attributes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseKeyword("forward") ||
      parseArgumentsAndRegion(parser, *forward) ||
      parser.parseKeyword("backward") ||
      parseArgumentsAndRegion(parser, *backward))
    return failure();
  return success();
}

void StepOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " of " << getBlockAttr();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getBlockAttrName()});
  printArgumentsAndRegion(printer, "forward", getForward());
  printArgumentsAndRegion(printer, "backward", getBackward());
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name, text;
  StringRef kernelClass;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kernelClass))
    return failure();
  std::optional<KernelClass> value = symbolizeKernelClass(kernelClass);
  if (!value)
    return parser.emitError(loc)
           << "expected gemm, attention_forward, attention_backward or "
              "row_wise, got "
           << kernelClass;
  result.addAttribute(getKernelClassAttrName(result.name),
                      KernelClassAttr::get(parser.getContext(), *value));
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseKeyword("workspace") ||
      parser.parseAttribute(text, getWorkspaceAttrName(result.name),
                            result.attributes) ||
      parser.parseKeyword("flops") ||
      parser.parseAttribute(text, getFlopsAttrName(result.name),
                            result.attributes) ||
      parser.parseKeyword("traffic") ||
      parser.parseAttribute(text, getTrafficAttrName(result.name),
                            result.attributes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << ' ' << stringifyKernelClass(getKernelClass());
  printArguments(printer, getBody());
  printer << " workspace " << getWorkspaceAttr() << " flops " << getFlopsAttr()
          << " traffic " << getTrafficAttr();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getKernelClassAttrName(), getWorkspaceAttrName(),
       getFlopsAttrName(), getTrafficAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// VariantOp
//===----------------------------------------------------------------------===//

ParseResult VariantOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  FlatSymbolRefAttr step;
  SmallVector<Attribute> fates;
  auto parseFate = [&]() -> ParseResult {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Fate> fate = symbolizeFate(keyword);
    if (!fate)
      return parser.emitError(loc)
             << "expected unused, keep, recompute or offload, got " << keyword;
    fates.push_back(FateAttr::get(parser.getContext(), *fate));
    return success();
  };
  auto parseFlags = [&](StringAttr attribute) -> ParseResult {
    SmallVector<bool> flags;
    auto parseFlag = [&]() -> ParseResult {
      StringRef keyword;
      if (failed(parser.parseOptionalKeyword(&keyword, {"true", "false"})))
        return parser.emitError(parser.getCurrentLocation(),
                                "expected true or false");
      flags.push_back(keyword == "true");
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFlag))
      return failure();
    result.addAttribute(attribute, builder.getDenseBoolArrayAttr(flags));
    return success();
  };
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseKeyword("of") ||
      parser.parseAttribute(step, getStepAttrName(result.name),
                            result.attributes) ||
      parser.parseKeyword("fates") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFate) ||
      parser.parseKeyword("replay_results") ||
      parseFlags(getReplayResultsAttrName(result.name)) ||
      parser.parseKeyword("state_gradients") ||
      parseFlags(getStateGradientsAttrName(result.name)) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getFatesAttrName(result.name),
                      builder.getArrayAttr(fates));
  for (StringRef keyword : {"forward", "replay", "backward"}) {
    Region *region = result.addRegion();
    if (succeeded(parser.parseOptionalKeyword(keyword)) &&
        parseArgumentsAndRegion(parser, *region))
      return failure();
  }
  return success();
}

void VariantOp::print(OpAsmPrinter &printer) {
  auto printFlag = [&](bool flag) { printer << (flag ? "true" : "false"); };
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " of " << getStepAttr() << " fates [";
  llvm::interleaveComma(getFates(), printer, [&](Attribute fate) {
    printer << stringifyFate(cast<FateAttr>(fate).getValue());
  });
  printer << "] replay_results [";
  llvm::interleaveComma(getReplayResults(), printer, printFlag);
  printer << "] state_gradients [";
  llvm::interleaveComma(getStateGradients(), printer, printFlag);
  printer << ']';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getStepAttrName(), getFatesAttrName(),
       getReplayResultsAttrName(), getStateGradientsAttrName()});
  for (auto [keyword, region] :
       {std::pair("forward", &getForward()), std::pair("replay", &getReplay()),
        std::pair("backward", &getBackward())})
    if (!region->empty())
      printArgumentsAndRegion(printer, keyword, *region);
}
