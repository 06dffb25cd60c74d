//===- StepVerifiers.cpp - what steps and variants must hold to -----------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "SizeText.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ckpt;

/// A region that is there ends in `ckpt.yield`.
static LogicalResult verifyRegion(Operation *op, StringRef name,
                                  Region &region) {
  if (!region.hasOneBlock() || region.front().empty() ||
      !isa<YieldOp>(region.front().back()))
    return op->emitOpError("expected the ")
           << name << " to be one block that ends in ckpt.yield";
  return success();
}

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

LogicalResult StepOp::verify() {
  // step_c1
  if (failed(verifyRegion(*this, "forward", getForward())) ||
      failed(verifyRegion(*this, "backward", getBackward())))
    return failure();
  llvm::StringMap<SaveOp> saves;
  for (SaveOp save : getForward().getOps<SaveOp>()) {
    // Children are verified after this.
    auto name = save.getProperties().name;
    if (!name || save->getNumOperands() != 1)
      return success();
    // step_c2
    auto [other, isNew] = saves.try_emplace(name, save);
    if (!isNew) {
      InFlightDiagnostic diag = save.emitOpError("expected a new name, got '")
                                << name.getValue() << "'";
      diag.attachNote(other->second.getLoc()) << "it is taken here";
      return diag;
    }
  }
  for (LoadOp load : getBackward().getOps<LoadOp>()) {
    auto name = load.getProperties().name;
    if (!name || load->getNumResults() != 1)
      return success();
    // step_c3
    SaveOp save = saves.lookup(name);
    if (!save)
      return load.emitOpError("expected the name of a ckpt.save, got '")
             << name.getValue() << "'";
    Type saved = save->getOperand(0).getType();
    if (load->getResult(0).getType() != saved)
      return load.emitOpError("expected the type that '")
             << name.getValue() << "' was saved with, " << saved << ", got "
             << load->getResult(0).getType();
  }
  return success();
}

LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // step_c4
  auto block =
      symbolTable.lookupNearestSymbolFrom<BlockOp>(*this, getBlockAttr());
  if (!block)
    return emitOpError("expected the name of a ckpt.block, got ")
           << getBlockAttr();
  // step_c5
  if (getForward().getArgumentTypes() != block.getBody().getArgumentTypes())
    return emitOpError("expected the forward to take the arguments of @")
           << block.getSymName() << ": " << block.getBody().getArgumentTypes()
           << ", got " << getForward().getArgumentTypes();
  TypeRange yielded = getForward().front().back().getOperandTypes();
  if (yielded != block.getResults().getTypes())
    return emitOpError("expected the forward to yield the results of @")
           << block.getSymName() << ": " << block.getResults().getTypes()
           << ", got " << yielded;
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  // kernel_c1
  for (auto [name, text] : {std::pair("workspace", getWorkspaceAttr()),
                            std::pair("flops", getFlopsAttr()),
                            std::pair("traffic", getTrafficAttr())})
    if (!sizeOf(text))
      return emitOpError("expected ") << name << " to be a size, got " << text;
  // kernel_c2
  if (failed(verifyRegion(*this, "body", getBody())))
    return failure();
  // kernel_c3
  if (getBody().front().back().getNumOperands() == 0)
    return emitOpError("expected the body to yield something");
  return success();
}

LogicalResult LaunchOp::verify() {
  // launch_c1
  if (std::optional<ArrayRef<int64_t>> pairs = getInPlace()) {
    int64_t limits[] = {int64_t(getReads().size()), int64_t(getNumResults())};
    bool fits = pairs->size() % 2 == 0;
    for (auto [index, number] : llvm::enumerate(*pairs))
      fits &= number >= 0 && number < limits[index % 2];
    if (!fits)
      return emitOpError("expected in_place to hold pairs of one of ")
             << limits[0] << " operands and one of " << limits[1]
             << " results, got " << getInPlaceAttr();
  }
  // launch_c2
  if (std::optional<StringRef> scope = getScope();
      scope && *scope != "attention" && *scope != "ffn")
    return emitOpError("expected scope to be attention or ffn, got '")
           << *scope << "'";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // launch_c3
  auto kernel =
      symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("expected the name of a ckpt.kernel, got ")
           << getKernelAttr();
  // launch_c4
  if (getReads().getTypes() != kernel.getBody().getArgumentTypes())
    return emitOpError("expected operands of the types that @")
           << kernel.getSymName()
           << " takes: " << kernel.getBody().getArgumentTypes() << ", got "
           << getReads().getTypes();
  TypeRange yielded = kernel.getBody().front().back().getOperandTypes();
  if (getResultTypes() != yielded)
    return emitOpError("expected results of the types that @")
           << kernel.getSymName() << " yields: " << yielded << ", got "
           << getResultTypes();
  return success();
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

LogicalResult VariantOp::verify() {
  // variant_c1
  for (Attribute fate : getFates())
    if (!isa<FateAttr>(fate))
      return emitOpError("expected fates to hold fates, got ") << fate;
  // variant_c2
  for (auto [name, region] :
       {std::pair("forward", &getForward()), std::pair("replay", &getReplay()),
        std::pair("backward", &getBackward())})
    if (!region->empty() && failed(verifyRegion(*this, name, *region)))
      return failure();
  return success();
}

LogicalResult VariantOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // variant_c3
  auto step = symbolTable.lookupNearestSymbolFrom<StepOp>(*this, getStepAttr());
  if (!step)
    return emitOpError("expected the name of a ckpt.step, got ")
           << getStepAttr();
  // variant_c4
  size_t numSaves = llvm::range_size(step.getForward().getOps<SaveOp>());
  if (getFates().size() != numSaves)
    return emitOpError("expected ")
           << numSaves << " fates, one for each ckpt.save of @"
           << step.getSymName() << ", got " << getFates().size();
  // variant_c5
  size_t numStates = step.getForward().front().back().getNumOperands();
  if (getReplayResults().size() != numStates ||
      getStateGradients().size() != numStates)
    return emitOpError("expected ")
           << numStates << " flags in replay_results and in state_gradients, "
           << "one for each state, got " << getReplayResults().size() << " and "
           << getStateGradients().size();
  return success();
}

LogicalResult TableOp::verify() {
  // table_c1
  for (Attribute variant : getVariants())
    if (!isa<FlatSymbolRefAttr>(variant))
      return emitOpError("expected variants to hold symbols, got ") << variant;
  int64_t numBlocks = getVariants().size();
  // table_c2
  ArrayRef<int64_t> segments = getSegments();
  bool fits = segments.size() % 3 == 0;
  for (size_t i = 0; fits && i < segments.size(); i += 3)
    fits = segments[i] >= 0 && segments[i] < numBlocks && segments[i + 1] > 0 &&
           segments[i + 1] <= numBlocks - segments[i] &&
           (segments[i + 2] == 0 || segments[i + 2] == 1);
  if (!fits)
    return emitOpError("expected segments to hold triples first block, number "
                       "of blocks, checkpointed, within ")
           << numBlocks << " blocks, got " << getSegmentsAttr();
  // table_c3
  ArrayRef<int64_t> order = getOrder().value_or(ArrayRef<int64_t>());
  fits = order.size() % 2 == 0;
  for (size_t i = 0; fits && i < order.size(); i += 2)
    fits = order[i] >= 0 && order[i] <= 2 && order[i + 1] >= 0 &&
           order[i + 1] < numBlocks;
  if (!fits)
    return emitOpError(
               "expected order to hold pairs of a phase (0, 1 or 2) and "
               "one of ")
           << numBlocks << " blocks, got " << getOrderAttr();
  return success();
}

LogicalResult TableOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // table_c1
  for (Attribute variant : getVariants())
    if (!symbolTable.lookupNearestSymbolFrom<VariantOp>(
            *this, cast<FlatSymbolRefAttr>(variant)))
      return emitOpError("expected the name of a ckpt.variant, got ")
             << variant;
  return success();
}
