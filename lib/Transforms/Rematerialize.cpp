//===- Rematerialize.cpp - fill the regions of the variants ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Rematerialize.h"
#include "Phases.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallString.h"

namespace ckpt {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

namespace {

/// Writes the three regions of one variant. What runs was decided by
/// `ckpt::rt::makeVariant`; which outputs are left out follows from uses.
class VariantWriter {
public:
  VariantWriter(VariantOp variant, StepOp step, const rt::BlockKind &kind,
                const rt::Variant &decision)
      : variant(variant), step(step), kind(kind), decision(decision),
        builder(variant.getContext()) {
    for (Region *region : {&step.getForward(), &step.getBackward()})
      for (LaunchOp launch : region->getOps<LaunchOp>())
        launches.push_back(launch);
    for (SaveOp save : step.getForward().getOps<SaveOp>())
      saves.push_back(save);
  }

  void write() {
    // The backward first: the replay saves what it loads.
    writeBackward();
    writeReplay();
    writeForward();
  }

private:
  /// Begins a region with the arguments of the step's.
  void begin(Region &region, Block &like);
  void cloneLaunches(const std::vector<rt::VariantStep> &steps);
  void yield(ArrayRef<Value> results, Location loc);
  void save(unsigned index);
  /// The value in the current region, loaded where it crosses into it.
  Value lookup(Value value);

  void writeForward();
  void writeReplay();
  void writeBackward();
  rt::Fate fateOf(unsigned saved) const { return decision.demand.fates[saved]; }
  /// Index into `saves` of a forward value, or -1.
  int savedIndexOf(Value value) const {
    for (auto [i, save] : llvm::enumerate(saves))
      if (SaveOp(save).getValue() == value)
        return int(i);
    return -1;
  }

  VariantOp variant;
  StepOp step;
  const rt::BlockKind &kind;
  const rt::Variant &decision;
  OpBuilder builder;
  /// By index of BlockKind::ops and BlockKind::saved.
  SmallVector<LaunchOp> launches;
  SmallVector<SaveOp> saves;
  /// Names that the backward loads.
  llvm::StringMap<bool> loadedByBackward;
  IRMapping mapping;
};

} // namespace

void VariantWriter::begin(Region &region, Block &like) {
  Block &block = region.emplaceBlock();
  mapping.clear();
  for (BlockArgument argument : like.getArguments())
    mapping.map(argument,
                block.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&block);
}

Value VariantWriter::lookup(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  StringRef name;
  if (auto load = value.getDefiningOp<LoadOp>())
    name = load.getName();
  else
    name = saves[savedIndexOf(value)].getName();
  auto load = LoadOp::create(builder, value.getLoc(), value.getType(),
                             builder.getStringAttr(name));
  mapping.map(value, load.getValue());
  return load;
}

void VariantWriter::cloneLaunches(const std::vector<rt::VariantStep> &steps) {
  for (const rt::VariantStep &planned : steps) {
    if (planned.kind != rt::VariantStep::Kind::Launch)
      continue;
    LaunchOp launch = launches[planned.index];
    for (Value read : launch.getReads())
      lookup(read);
    builder.clone(*launch, mapping);
  }
}

void VariantWriter::save(unsigned index) {
  SaveOp save = saves[index];
  Value value = mapping.lookup(save.getValue());
  OpBuilder::InsertionGuard guard(builder);
  // Right after its producer, behind what is saved there already.
  Block *block = builder.getInsertionBlock();
  Operation *producer = value.getDefiningOp();
  auto at = producer ? std::next(producer->getIterator()) : block->begin();
  while (at != block->end() && isa<SaveOp>(*at))
    ++at;
  builder.setInsertionPoint(block, at);
  SaveOp::create(builder, save.getLoc(), value, save.getNameAttr());
}

void VariantWriter::yield(ArrayRef<Value> results, Location loc) {
  YieldOp::create(builder, loc, results);
}

void VariantWriter::writeForward() {
  Block &from = step.getForward().front();
  begin(variant.getForward(), from);
  cloneLaunches(decision.forward);
  for (unsigned i = 0; i < saves.size(); ++i)
    if (fateOf(i) == rt::Fate::Keep || fateOf(i) == rt::Fate::Offload)
      save(i);
  SmallVector<Value> results;
  for (Value result : from.getTerminator()->getOperands())
    results.push_back(lookup(result));
  yield(results, from.getTerminator()->getLoc());
}

void VariantWriter::writeReplay() {
  Block &from = step.getForward().front();
  begin(variant.getReplay(), from);
  // A state that is kept or offloaded crosses by name; one that the previous
  // block's replay made is the argument.
  for (unsigned i = 0; i < saves.size(); ++i)
    if (isa<BlockArgument>(saves[i].getValue()) &&
        fateOf(i) != rt::Fate::Recompute)
      mapping.erase(saves[i].getValue());
  cloneLaunches(decision.replay);
  for (unsigned i = 0; i < saves.size(); ++i)
    if (fateOf(i) == rt::Fate::Recompute &&
        loadedByBackward.count(saves[i].getName()))
      save(i);
  SmallVector<Value> results;
  for (auto [i, result] : llvm::enumerate(from.getTerminator()->getOperands()))
    if (decision.demand.replayResults[i])
      results.push_back(lookup(result));
  yield(results, from.getTerminator()->getLoc());
}

void VariantWriter::writeBackward() {
  Block &from = step.getBackward().front();
  begin(variant.getBackward(), from);
  cloneLaunches(decision.backward);
  for (LoadOp load : variant.getBackward().getOps<LoadOp>())
    loadedByBackward[load.getName()] = true;
  SmallVector<Value> results;
  unsigned numStates = kind.states.size();
  for (auto [i, result] : llvm::enumerate(from.getTerminator()->getOperands()))
    if (i >= numStates || decision.demand.stateGradients[i])
      results.push_back(lookup(result));
  yield(results, from.getTerminator()->getLoc());
}

namespace {

struct RematerializePass
    : public ckpt::impl::RematerializePassBase<RematerializePass> {
  using RematerializePassBase::RematerializePassBase;

  void runOnOperation() override {
    if (failed(rematerialize(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult rematerialize(ModuleOp module) {
    if (failed(verifyVariantsExist(module)))
      return failure();
    FailureOr<rt::Program> program = buildProblem(module);
    if (failed(program))
      return failure();
    for (VariantOp variant : module.getOps<VariantOp>()) {
      const rt::BlockKind &kind =
          program->kinds[kindOf(variant, module, *program)];
      if (!variant.getForward().empty())
        return variant.emitOpError()
               << "expected empty regions, as ckpt-plan writes them";
      rt::Result<rt::Variant> decision =
          rt::makeVariant(kind, demandOf(variant));
      if (!decision.ok())
        return variant.emitOpError() << decision.message();
      auto step = cast<StepOp>(module.lookupSymbol(variant.getStep()));
      VariantWriter(variant, step, kind, *decision).write();
    }
    return success();
  }
};

} // namespace
