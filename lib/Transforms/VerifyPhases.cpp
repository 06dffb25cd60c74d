//===- VerifyPhases.cpp - what may no longer exist ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// One gate after each level. A pass may then rely on what its `Requires`
// says, whoever wrote the IR.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "ckpt/Transforms/Passes.h"

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

/// Every op of `region` satisfies `allowed`, or an error says what the level
/// holds.
static LogicalResult verifyOps(Region &region, StringRef expected,
                               llvm::function_ref<bool(Operation *)> allowed) {
  for (Operation &op : region.getOps())
    if (!allowed(&op))
      return op.emitOpError() << "expected " << expected << " at this level";
  return success();
}

static bool isCrossing(Operation *op) {
  return isa<SaveOp, LoadOp, YieldOp>(op);
}

/// Every load of `backward` names a save of `forward`, of the same type.
static LogicalResult
verifyLoads(Region &region, const llvm::StringMap<ckpt::TensorType> &saved) {
  for (LoadOp load : region.getOps<LoadOp>()) {
    auto it = saved.find(load.getName());
    if (it == saved.end())
      return load.emitOpError() << "expected a ckpt.save \"" << load.getName()
                                << "\" in the forward, found none";
    if (it->second != load.getValue().getType())
      return load.emitOpError()
             << "expected the type of its save, " << it->second << ", got "
             << load.getValue().getType();
  }
  return success();
}

static FailureOr<llvm::StringMap<ckpt::TensorType>> savesOf(Region &forward) {
  llvm::StringMap<ckpt::TensorType> saved;
  for (SaveOp save : forward.getOps<SaveOp>())
    if (!saved
             .try_emplace(save.getName(),
                          cast<ckpt::TensorType>(save.getValue().getType()))
             .second) {
      save.emitOpError() << "expected one save per name, got \""
                         << save.getName() << "\" again";
      return failure();
    }
  return saved;
}

static LogicalResult verifyCrossing(StepOp step) {
  auto saved = savesOf(step.getForward());
  if (failed(saved))
    return failure();
  return verifyLoads(step.getBackward(), *saved);
}

namespace {

struct VerifyBlocksPass
    : public ckpt::impl::VerifyBlocksPassBase<VerifyBlocksPass> {
  using VerifyBlocksPassBase::VerifyBlocksPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyOps(
            module.getBodyRegion(), "sizes, blocks and stacks only",
            [](Operation *op) { return isa<SizeOp, BlockOp, StackOp>(op); })))
      return signalPassFailure();
    if (module.getOps<StackOp>().empty()) {
      module.emitError() << "expected at least one ckpt.stack, got none; a "
                            "step is made for the blocks of a stack";
      signalPassFailure();
    }
  }
};

struct VerifyStepsPass
    : public ckpt::impl::VerifyStepsPassBase<VerifyStepsPass> {
  using VerifyStepsPassBase::VerifyStepsPassBase;
  void runOnOperation() override {
    llvm::StringSet<> done;
    for (StepOp step : getOperation().getOps<StepOp>()) {
      done.insert(step.getBlock());
      auto isStepOp = [](Operation *op) {
        return op->getNumRegions() == 0 && !isa<LaunchOp>(op);
      };
      if (failed(verifyOps(step.getForward(),
                           "tensor ops without boundary regions", isStepOp)) ||
          failed(verifyOps(step.getBackward(),
                           "tensor ops without boundary regions", isStepOp)) ||
          failed(verifyCrossing(step)))
        return signalPassFailure();
    }
    for (BlockOp block : getOperation().getOps<BlockOp>())
      if (!done.contains(block.getSymName())) {
        block.emitOpError() << "expected a ckpt.step of @" << block.getSymName()
                            << ", found none";
        return signalPassFailure();
      }
  }
};

struct VerifySelectedPass
    : public ckpt::impl::VerifySelectedPassBase<VerifySelectedPass> {
  using VerifySelectedPassBase::VerifySelectedPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (StepOp step : module.getOps<StepOp>())
      if (failed(verifyRegion(module, step.getForward())) ||
          failed(verifyRegion(module, step.getBackward())) ||
          failed(verifyCrossing(step)))
        return signalPassFailure();
  }

private:
  static LogicalResult verifyRegion(ModuleOp module, Region &region) {
    if (failed(verifyOps(
            region, "launches, saves and loads only",
            [](Operation *op) { return isCrossing(op) || isa<LaunchOp>(op); })))
      return failure();
    for (LaunchOp launch : region.getOps<LaunchOp>()) {
      auto kernel = module.lookupSymbol<KernelOp>(launch.getKernel());
      if (!kernel)
        return launch.emitOpError() << "expected a ckpt.kernel @"
                                    << launch.getKernel() << ", found none";
      Block &body = kernel.getBody().front();
      if (body.getArgumentTypes() != launch.getReads().getTypes() ||
          body.getTerminator()->getOperandTypes() !=
              launch.getWrites().getTypes())
        return launch.emitOpError()
               << "expected the types of @" << launch.getKernel()
               << "'s arguments and results";
    }
    return success();
  }
};

struct VerifyPlannedPass
    : public ckpt::impl::VerifyPlannedPassBase<VerifyPlannedPass> {
  using VerifyPlannedPassBase::VerifyPlannedPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (VariantOp variant : module.getOps<VariantOp>())
      if (failed(verifyVariant(variant)))
        return signalPassFailure();
    auto tables = llvm::to_vector(module.getOps<TableOp>());
    if (tables.size() != 1) {
      module.emitError() << "expected one ckpt.table, got " << tables.size();
      return signalPassFailure();
    }
    TableOp table = tables.front();
    if (!table.getOrder()) {
      table.emitOpError()
          << "expected an order of phases; run ckpt-segment-schedule";
      return signalPassFailure();
    }
    for (auto symbol : table.getVariants().getAsRange<FlatSymbolRefAttr>())
      if (!module.lookupSymbol<VariantOp>(symbol.getValue())) {
        table.emitOpError()
            << "expected a ckpt.variant " << symbol << ", found none";
        return signalPassFailure();
      }
  }

private:
  static LogicalResult verifyVariant(VariantOp variant) {
    for (Region *region : {&variant.getForward(), &variant.getReplay(),
                           &variant.getBackward()}) {
      if (region->empty())
        return variant.emitOpError()
               << "expected a filled forward, replay and backward; run "
                  "ckpt-rematerialize";
      if (failed(verifyOps(*region, "launches, saves, loads and copies only",
                           [](Operation *op) {
                             return isCrossing(op) ||
                                    isa<LaunchOp, CopyOutOp, CopyInOp>(op);
                           })))
        return failure();
    }
    // What a replay or a backward loads is kept by the forward, or made or
    // copied in by the replay; what is copied in has been copied out.
    auto saved = savesOf(variant.getForward());
    if (failed(saved))
      return failure();
    llvm::StringMap<ckpt::TensorType> copied;
    for (CopyOutOp copy : variant.getForward().getOps<CopyOutOp>())
      copied[copy.getName()] =
          cast<ckpt::TensorType>(copy.getValue().getType());
    if (failed(verifyLoads(variant.getReplay(), *saved)))
      return failure();
    for (Region *region : {&variant.getReplay(), &variant.getBackward()})
      for (CopyInOp copy : region->getOps<CopyInOp>()) {
        if (!copied.contains(copy.getName()))
          return copy.emitOpError()
                 << "expected a ckpt.copy_out \"" << copy.getName()
                 << "\" in the forward, found none";
        saved->insert({copy.getName(),
                       cast<ckpt::TensorType>(copy.getValue().getType())});
      }
    for (SaveOp save : variant.getReplay().getOps<SaveOp>())
      saved->insert(
          {save.getName(), cast<ckpt::TensorType>(save.getValue().getType())});
    return verifyLoads(variant.getBackward(), *saved);
  }
};

} // namespace
