//===- SegmentSchedule.cpp - the order of phases --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Plan/Policy.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"

namespace ckpt {
#define GEN_PASS_DEF_SEGMENTSCHEDULEPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

namespace {

struct SegmentSchedulePass
    : public ckpt::impl::SegmentSchedulePassBase<SegmentSchedulePass> {
  using SegmentSchedulePassBase::SegmentSchedulePassBase;

  void runOnOperation() override {
    if (failed(verifyVariantsExist(getOperation())))
      return signalPassFailure();
    for (TableOp table : getOperation().getOps<TableOp>()) {
      FailureOr<rt::PlannedStep> plan = readTable(table);
      if (failed(plan))
        return signalPassFailure();
      SmallVector<int64_t> order;
      for (const rt::TableEntry &entry : rt::scheduleSegments(*plan))
        order.append({int64_t(entry.phase), entry.block});
      table.setOrder(order);
    }
  }
};

} // namespace
