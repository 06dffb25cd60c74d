//===- VerifyPhases.cpp - what may no longer exist ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// One gate after each level, for what no op can verify by itself. A pass may
// then rely on what its `Requires` says, whoever wrote the IR.
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/SelectGroups.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace ckpt {
#define GEN_PASS_DEF_VERIFYBLOCKSPASS
#define GEN_PASS_DEF_VERIFYSTEPSPASS
#define GEN_PASS_DEF_VERIFYSELECTEDPASS
#define GEN_PASS_DEF_VERIFYPLANNEDPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

/// Every op of the regions satisfies `allowed`, or an error says what the
/// level holds.
static LogicalResult verifyOps(ArrayRef<Region *> regions, StringRef expected,
                               llvm::function_ref<bool(Operation *)> allowed) {
  for (Region *region : regions)
    for (Operation &op : region->getOps())
      if (!allowed(&op))
        return op.emitOpError() << "expected " << expected << " at this level";
  return success();
}

static bool isCrossing(Operation *op) {
  return isa<SaveOp, LoadOp, YieldOp>(op);
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

/// Names to the types under which their values can be loaded.
using Loadable = llvm::StringMap<Type>;

static LogicalResult verifyLoads(Region &region, const Loadable &loadable) {
  for (LoadOp load : region.getOps<LoadOp>()) {
    Type type = loadable.lookup(load.getName());
    if (!type)
      return load.emitOpError()
             << "expected \"" << load.getName()
             << "\" to be saved, made again or copied in before, found nothing "
                "of it";
    if (type != load.getValue().getType())
      return load.emitOpError() << "expected the saved type " << type
                                << ", got " << load.getValue().getType();
  }
  return success();
}

template <typename OpT>
static void addNames(Region &region, Loadable &loadable) {
  for (OpT op : region.getOps<OpT>())
    loadable[op.getName()] = op.getValue().getType();
}

/// What is offloaded is not kept on the device as well.
static LogicalResult verifyOffloads(VariantOp variant, StepOp step) {
  llvm::StringSet<> offloaded;
  for (auto [save, fate] :
       llvm::zip(step.getForward().getOps<SaveOp>(), variant.getFates()))
    if (cast<FateAttr>(fate).getValue() == Fate::Offload)
      offloaded.insert(save.getName());
  for (SaveOp save : variant.getForward().getOps<SaveOp>())
    if (offloaded.contains(save.getName()))
      return save.emitOpError()
             << "expected a ckpt.copy_out of \"" << save.getName()
             << "\", whose fate is offload; run ckpt-offload-insertion";
  return success();
}

static LogicalResult verifyVariant(VariantOp variant, StepOp step) {
  Region &forward = variant.getForward(), &replay = variant.getReplay(),
         &backward = variant.getBackward();
  if (forward.empty() || replay.empty() || backward.empty())
    return variant.emitOpError() << "expected a filled forward, replay and "
                                    "backward; run ckpt-rematerialize";
  if (failed(verifyOps(
          {&forward, &replay, &backward},
          "launches, saves, loads and copies only", [](Operation *op) {
            return isCrossing(op) || isa<LaunchOp, CopyOutOp, CopyInOp>(op);
          })))
    return failure();
  if (failed(verifyOffloads(variant, step)))
    return failure();
  Loadable copied, loadable;
  addNames<CopyOutOp>(forward, copied);
  for (Region *region : {&replay, &backward})
    for (CopyInOp copy : region->getOps<CopyInOp>())
      if (!copied.contains(copy.getName()))
        return copy.emitOpError()
               << "expected a ckpt.copy_out \"" << copy.getName()
               << "\" in the forward, found none";
  addNames<SaveOp>(forward, loadable);
  if (failed(verifyLoads(replay, loadable)))
    return failure();
  addNames<SaveOp>(replay, loadable);
  addNames<CopyInOp>(replay, loadable);
  return verifyLoads(backward, loadable);
}

LogicalResult ckpt::verifyStepsExist(ModuleOp module) {
  llvm::StringSet<> done;
  for (StepOp step : module.getOps<StepOp>())
    done.insert(step.getBlock());
  for (BlockOp block : module.getOps<BlockOp>())
    if (!done.contains(block.getSymName()))
      return block.emitOpError() << "expected a ckpt.step of it, found none; "
                                    "run ckpt-differentiate";
  return success();
}

LogicalResult ckpt::verifyVariantsExist(ModuleOp module) {
  if (module.getOps<BlockOp>().empty())
    return success();
  if (failed(verifyStepsExist(module)))
    return failure();
  if (!module.getOps<VariantOp>().empty())
    return success();
  StepOp step = *module.getOps<StepOp>().begin();
  return step.emitOpError()
         << "expected a ckpt.variant of it, found none; run ckpt-plan";
}

LogicalResult ckpt::verifyPlanned(ModuleOp module) {
  for (VariantOp variant : module.getOps<VariantOp>())
    if (failed(verifyVariant(variant,
                             module.lookupSymbol<StepOp>(variant.getStep()))))
      return failure();
  auto tables = llvm::to_vector(module.getOps<TableOp>());
  if (tables.size() != 1)
    return module.emitError()
           << "expected one ckpt.table, got " << tables.size()
           << (tables.empty() ? "; run ckpt-plan" : "");
  if (!tables.front().getOrder())
    return tables.front().emitOpError()
           << "expected an order of phases; run ckpt-segment-schedule";
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

struct VerifyBlocksPass
    : public ckpt::impl::VerifyBlocksPassBase<VerifyBlocksPass> {
  using VerifyBlocksPassBase::VerifyBlocksPassBase;
  void runOnOperation() override {
    if (failed(verifyOps(
            &getOperation().getBodyRegion(), "sizes, blocks and stacks only",
            [](Operation *op) { return isa<SizeOp, BlockOp, StackOp>(op); })))
      return signalPassFailure();
    // Kernels run over rows, which a tensor without extents has none of.
    WalkResult result = getOperation().walk([](Block *block) {
      for (BlockArgument argument : block->getArguments())
        if (failed(verifyRank(argument, block->getParentOp())))
          return WalkResult::interrupt();
      for (Operation &op : *block)
        for (Value value : op.getResults())
          if (failed(verifyRank(value, &op)))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  static LogicalResult verifyRank(Value value, Operation *op) {
    auto type = dyn_cast<ckpt::TensorType>(value.getType());
    if (!type || type.getRank() > 0)
      return success();
    return op->emitOpError() << "expected tensors of at least one extent, got "
                             << type << "; give a scalar the extent 1";
  }
};

struct VerifyStepsPass
    : public ckpt::impl::VerifyStepsPassBase<VerifyStepsPass> {
  using VerifyStepsPassBase::VerifyStepsPassBase;
  void runOnOperation() override {
    for (StepOp step : getOperation().getOps<StepOp>())
      if (failed(verifyOps(
              {&step.getForward(), &step.getBackward()},
              "tensor ops, saves and loads only",
              [](Operation *op) { return isCrossing(op) || isFusible(op); })))
        return signalPassFailure();
    if (failed(verifyStepsExist(getOperation())))
      signalPassFailure();
  }
};

struct VerifySelectedPass
    : public ckpt::impl::VerifySelectedPassBase<VerifySelectedPass> {
  using VerifySelectedPassBase::VerifySelectedPassBase;
  void runOnOperation() override {
    for (StepOp step : getOperation().getOps<StepOp>())
      if (failed(verifyOps({&step.getForward(), &step.getBackward()},
                           "launches, saves and loads only", [](Operation *op) {
                             return isCrossing(op) || isa<LaunchOp>(op);
                           })))
        return signalPassFailure();
    if (failed(verifyStepsExist(getOperation())))
      signalPassFailure();
  }
};

struct VerifyPlannedPass
    : public ckpt::impl::VerifyPlannedPassBase<VerifyPlannedPass> {
  using VerifyPlannedPassBase::VerifyPlannedPassBase;
  void runOnOperation() override {
    if (failed(verifyPlanned(getOperation())))
      signalPassFailure();
  }
};

} // namespace
