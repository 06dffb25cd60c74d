//===- OffloadInsertion.cpp - copies out and in ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"

#include "mlir/IR/Builders.h"

namespace ckpt {
#define GEN_PASS_DEF_OFFLOADINSERTIONPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

template <typename OpTy>
static OpTy findNamed(Region &region, StringRef name) {
  for (OpTy op : region.getOps<OpTy>())
    if (op.getName() == name)
      return op;
  return {};
}

/// Turns the save and the loads of one offloaded value into copies.
static LogicalResult insertCopies(VariantOp variant, StringRef name) {
  auto save = findNamed<SaveOp>(variant.getForward(), name);
  if (!save)
    return variant.emitOpError() << "expected the forward to save '" << name
                                 << "', whose fate is offload";
  OpBuilder builder(save);
  bool isRead = false;
  for (Region *region : {&variant.getReplay(), &variant.getBackward()}) {
    auto load = findNamed<LoadOp>(*region, name);
    if (!load || isRead)
      continue;
    isRead = true;
    builder.setInsertionPoint(load);
    auto copy = CopyInOp::create(builder, load.getLoc(), load.getType(),
                                 load.getNameAttr());
    // The backward still loads it after a replay that read it.
    if (region == &variant.getReplay() &&
        findNamed<LoadOp>(variant.getBackward(), name))
      SaveOp::create(builder, load.getLoc(), copy, load.getNameAttr());
    load.replaceAllUsesWith(copy.getValue());
    load.erase();
  }
  if (isRead) {
    builder.setInsertionPoint(save);
    CopyOutOp::create(builder, save.getLoc(), save.getValue(),
                      save.getNameAttr());
  }
  save.erase();
  return success();
}

namespace {

struct OffloadInsertionPass
    : public ckpt::impl::OffloadInsertionPassBase<OffloadInsertionPass> {
  using OffloadInsertionPassBase::OffloadInsertionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyVariantsExist(module)))
      return signalPassFailure();
    for (VariantOp variant : module.getOps<VariantOp>())
      if (failed(insertCopies(module, variant)))
        return signalPassFailure();
  }

private:
  LogicalResult insertCopies(ModuleOp module, VariantOp variant) {
    auto step = cast<StepOp>(module.lookupSymbol(variant.getStep()));
    if (variant.getForward().empty())
      return variant.emitOpError()
             << "expected filled regions; run ckpt-rematerialize";
    auto saves = llvm::to_vector(step.getForward().getOps<SaveOp>());
    rt::Demand demand = demandOf(variant);
    for (auto [save, fate] : llvm::zip_equal(saves, demand.fates))
      if (fate == rt::Fate::Offload &&
          failed(::insertCopies(variant, SaveOp(save).getName())))
        return failure();
    return success();
  }
};

} // namespace
