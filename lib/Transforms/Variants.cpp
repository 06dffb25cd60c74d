//===- Variants.cpp - a plan read back from the IR ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Transforms/Problem.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ckpt;

static_assert(int(rt::Fate::Unused) == int(Fate::Unused) &&
              int(rt::Fate::Keep) == int(Fate::Keep) &&
              int(rt::Fate::Recompute) == int(Fate::Recompute) &&
              int(rt::Fate::Offload) == int(Fate::Offload));

rt::Demand ckpt::demandOf(VariantOp variant) {
  rt::Demand demand;
  for (FateAttr fate : variant.getFates().getAsRange<FateAttr>())
    demand.fates.push_back(static_cast<rt::Fate>(fate.getValue()));
  ArrayRef<bool> results = variant.getReplayResults();
  ArrayRef<bool> gradients = variant.getStateGradients();
  demand.replayResults.assign(results.begin(), results.end());
  demand.stateGradients.assign(gradients.begin(), gradients.end());
  return demand;
}

int ckpt::kindOf(VariantOp variant, ModuleOp module,
                 const rt::Program &program) {
  StringRef block =
      cast<StepOp>(module.lookupSymbol(variant.getStep())).getBlock();
  return int(llvm::find_if(program.kinds,
                           [&](const rt::BlockKind &kind) {
                             return kind.name == block;
                           }) -
             program.kinds.begin());
}

namespace {
/// What the names in a variant's regions mean.
struct Names {
  explicit Names(const rt::BlockKind &kind) {
    for (auto [i, op] : llvm::enumerate(kind.ops))
      ops[op.id] = int(i);
    for (auto [i, value] : llvm::enumerate(kind.saved))
      saved[value.name] = int(i);
  }
  llvm::StringMap<int> ops, saved;
};
} // namespace

static LogicalResult readCopy(Operation *op, StringRef name,
                              rt::VariantStep::Kind stepKind,
                              const Names &names,
                              std::vector<rt::VariantStep> &steps) {
  auto found = names.saved.find(name);
  if (found == names.saved.end())
    return op->emitOpError()
           << "expected a saved value of the step, found '" << name << "'";
  steps.push_back({stepKind, found->second, {}});
  return success();
}

static LogicalResult readRegion(Region &region, const Names &names,
                                std::vector<rt::VariantStep> &steps) {
  using Kind = rt::VariantStep::Kind;
  if (region.empty())
    return region.getParentOp()->emitOpError()
           << "expected filled regions; run ckpt-rematerialize";
  for (Operation &op : region.front()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      auto found = names.ops.find(launch.getId());
      if (found == names.ops.end())
        return launch.emitOpError() << "expected an op of the step, found id '"
                                    << launch.getId() << "'";
      rt::VariantStep step{Kind::Launch, found->second, {}};
      for (Value write : launch.getWrites())
        step.writes.push_back(!write.use_empty());
      steps.push_back(std::move(step));
    } else if (auto copy = dyn_cast<CopyOutOp>(op)) {
      if (failed(readCopy(copy, copy.getName(), Kind::CopyOut, names, steps)))
        return failure();
    } else if (auto copy = dyn_cast<CopyInOp>(op)) {
      if (failed(readCopy(copy, copy.getName(), Kind::CopyIn, names, steps)))
        return failure();
    } else if (!isa<SaveOp, LoadOp, YieldOp>(op)) {
      return op.emitOpError()
             << "expected launches, saves, loads and copies in a variant";
    }
  }
  return success();
}

LogicalResult ckpt::readVariants(ModuleOp module, rt::Program &program) {
  for (VariantOp op : module.getOps<VariantOp>()) {
    rt::BlockKind &kind = program.kinds[kindOf(op, module, program)];
    Names names(kind);
    rt::Variant variant;
    variant.demand = demandOf(op);
    if (failed(readRegion(op.getForward(), names, variant.forward)) ||
        failed(readRegion(op.getReplay(), names, variant.replay)) ||
        failed(readRegion(op.getBackward(), names, variant.backward)))
      return failure();
    kind.variants.push_back(std::move(variant));
  }
  return success();
}

FailureOr<rt::PlannedStep> ckpt::readTable(TableOp table) {
  auto module = cast<ModuleOp>(table->getParentOp());
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
