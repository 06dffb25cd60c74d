//===- Differentiate.cpp - from blocks to steps ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "StepBackward.h"
#include "ckpt/Transforms/Passes.h"

namespace ckpt {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

namespace {

struct DifferentiatePass
    : public ckpt::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (StepOp step : module.getOps<StepOp>()) {
      step.emitOpError() << "expected a module without steps";
      return signalPassFailure();
    }
    for (BlockOp block : llvm::make_early_inc_range(module.getOps<BlockOp>()))
      if (failed(differentiate(module, block)))
        return signalPassFailure();
  }

private:
  LogicalResult differentiate(ModuleOp module, BlockOp block) {
    std::string name = (block.getSymName() + "_step").str();
    if (Operation *other = module.lookupSymbol(name)) {
      InFlightDiagnostic error = block.emitOpError()
                                 << "expected no other symbol named @" << name;
      error.attachNote(other->getLoc()) << "it is here";
      return error;
    }
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(block);
    auto step =
        StepOp::create(builder, block.getLoc(), name, block.getSymName());
    StepForward forward(block, step);
    if (failed(forward.build()))
      return failure();
    return StepBackward(block, step, forward).build();
  }
};

} // namespace
