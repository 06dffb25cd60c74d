//===- SegmentSchedule.cpp - the order of phases --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Policy.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"

namespace ckpt {
#define GEN_PASS_DEF_SEGMENTSCHEDULEPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

/// The planned step that a table states.
static FailureOr<rt::PlannedStep> readTable(ModuleOp module, TableOp table) {
  rt::PlannedStep plan;
  for (auto name : table.getVariants().getAsRange<FlatSymbolRefAttr>()) {
    auto variant = cast<VariantOp>(module.lookupSymbol(name.getValue()));
    if (variant.getForward().empty())
      return variant.emitOpError()
             << "expected filled regions; run ckpt-rematerialize";
    rt::BlockPlan block;
    block.demand = demandOf(variant);
    plan.blocks.push_back(std::move(block));
  }
  int64_t next = 0, numBlocks = plan.blocks.size();
  ArrayRef<int64_t> triples = table.getSegments();
  for (; triples.size() >= 3; triples = triples.drop_front(3)) {
    int64_t first = triples[0], count = triples[1];
    if (first != next || count < 1 || count > numBlocks - first)
      return table.emitOpError()
             << "expected segments that follow each other over " << numBlocks
             << " blocks, found " << count << " blocks from block " << first;
    for (int64_t i = first; i < first + count; ++i)
      plan.blocks[i].segment = int(plan.segments.size());
    plan.segments.push_back({int(first), int(count), triples[2] != 0});
    next = first + count;
  }
  if (next != numBlocks)
    return table.emitOpError() << "expected segments over " << numBlocks
                               << " blocks, found them to end at " << next;
  return plan;
}

namespace {

struct SegmentSchedulePass
    : public ckpt::impl::SegmentSchedulePassBase<SegmentSchedulePass> {
  using SegmentSchedulePassBase::SegmentSchedulePassBase;

  void runOnOperation() override {
    for (TableOp table : getOperation().getOps<TableOp>()) {
      FailureOr<rt::PlannedStep> plan = readTable(getOperation(), table);
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
