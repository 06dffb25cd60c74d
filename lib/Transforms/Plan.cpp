//===- Plan.cpp - fates for every block -----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CountOption.h"
#include "Plan/Policy.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace ckpt {
#define GEN_PASS_DEF_PLANPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

/// `blocks 0, 2`; ranges would hide which ones.
static std::string listOf(ArrayRef<int> blocks) {
  std::string list;
  for (int block : blocks)
    list += (list.empty() ? "" : ", ") + std::to_string(block);
  return list;
}

namespace {

struct PlanPass : public ckpt::impl::PlanPassBase<PlanPass> {
  using PlanPassBase::PlanPassBase;

  void runOnOperation() override {
    if (failed(plan(getOperation())))
      signalPassFailure();
  }

private:
  FailureOr<rt::Controls> parseControls(ModuleOp module);
  LogicalResult plan(ModuleOp module);
  /// The variants, in the order of `demands`.
  SmallVector<VariantOp> write(ModuleOp module, const rt::Program &program,
                               int kind, ArrayRef<rt::Demand> demands);
};

} // namespace

FailureOr<rt::Controls> PlanPass::parseControls(ModuleOp module) {
  rt::Controls controls;
  rt::Result<rt::Backend> parsed = rt::parseBackend(backend);
  if (!parsed.ok())
    return emitError(module.getLoc(), parsed.message());
  controls.backend = *parsed;
  auto count = [&](StringRef flag, StringRef text, int64_t least,
                   std::optional<int64_t> &value) {
    auto parsed = parseCountOption(module, flag, text, least);
    if (succeeded(parsed))
      value = *parsed;
    return LogicalResult(parsed);
  };
  if (failed(count("interval", interval, 1, controls.interval)) ||
      failed(
          count("segment-stride", segmentStride, 1, controls.segmentStride)) ||
      failed(count("pin-memory-max-buckets", pinMemoryMaxBuckets, 0,
                   controls.pinMemoryMaxBuckets)))
    return failure();
  controls.attentionOnce = attentionOnce;
  controls.offloadAttention = offloadAttention;
  if (rt::Status status = rt::checkControls(controls); !status.ok())
    return emitError(module.getLoc(), status.message());
  return controls;
}

SmallVector<VariantOp> PlanPass::write(ModuleOp module,
                                       const rt::Program &program, int kind,
                                       ArrayRef<rt::Demand> demands) {
  const std::string &name = program.kinds[kind].name;
  StepOp step;
  for (StepOp candidate : module.getOps<StepOp>())
    if (candidate.getBlock() == name)
      step = candidate;
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<VariantOp> variants;
  for (auto [i, demand] : llvm::enumerate(demands)) {
    SmallVector<Attribute> fates;
    for (rt::Fate fate : demand.fates)
      fates.push_back(
          FateAttr::get(module.getContext(), static_cast<Fate>(fate)));
    SmallVector<bool> results(demand.replayResults.begin(),
                              demand.replayResults.end());
    SmallVector<bool> gradients(demand.stateGradients.begin(),
                                demand.stateGradients.end());
    variants.push_back(VariantOp::create(
        builder, step.getLoc(), (name + "_v" + Twine(i)).str(),
        step.getSymName(), builder.getArrayAttr(fates), results, gradients));
  }
  return variants;
}

/// One remark per variant of the table: its blocks and the fates.
static void remarkOn(VariantOp variant, const rt::BlockKind &kind,
                     ArrayRef<int> blocks) {
  auto remark =
      remark::analysis(variant.getLoc(),
                       remark::RemarkOpts::name("fates").category("ckpt-plan"));
  if (!remark)
    return;
  rt::Demand demand = demandOf(variant);
  remark << remark::metric("variant", variant.getSymName())
         << remark::metric("blocks", listOf(blocks));
  for (auto [saved, fate] : llvm::zip_equal(kind.saved, demand.fates))
    remark << remark::metric(saved.name, rt::nameOf(fate));
}

LogicalResult PlanPass::plan(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (isa<VariantOp, TableOp>(op))
      return op.emitOpError() << "expected a module that is not planned yet";
  FailureOr<rt::Controls> controls = parseControls(module);
  if (failed(controls))
    return failure();
  FailureOr<std::optional<int64_t>> limit =
      parseCountOption(module, "blocks", blocks, 1);
  if (failed(limit))
    return failure();
  FailureOr<rt::Program> program = buildProblem(module);
  if (failed(program))
    return failure();
  if (program->stacks.empty())
    return emitError(module.getLoc(), "expected a ckpt.stack, found none");
  if (rt::Status status = rt::checkControls(*controls, *program); !status.ok())
    return emitError(module.getLoc(), status.message());
  rt::Result<rt::PlannedStep> planned =
      rt::applyPolicy(*program, *controls, *limit);
  if (!planned.ok())
    return emitError(module.getLoc(), planned.message());

  // Demands by kind: the menu, or what the table needs in order of use.
  std::vector<std::vector<rt::Demand>> demands(program->kinds.size());
  if (menu)
    for (size_t kind = 0; kind < demands.size(); ++kind)
      demands[kind] = rt::menuOf(*program, int(kind));
  for (const rt::BlockPlan &block : planned->blocks)
    if (auto &known = demands[block.ref.kind];
        !llvm::is_contained(known, block.demand))
      known.push_back(block.demand);

  std::vector<SmallVector<VariantOp>> variants;
  for (size_t kind = 0; kind < demands.size(); ++kind)
    variants.push_back(write(module, *program, int(kind), demands[kind]));

  auto builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Attribute> table;
  llvm::MapVector<VariantOp, SmallVector<int>> blocksOf;
  for (auto [i, block] : llvm::enumerate(planned->blocks)) {
    const auto &known = demands[block.ref.kind];
    size_t index = llvm::find(known, block.demand) - known.begin();
    VariantOp variant = variants[block.ref.kind][index];
    table.push_back(FlatSymbolRefAttr::get(variant));
    blocksOf[variant].push_back(int(i));
  }
  SmallVector<int64_t> segments;
  for (const rt::Segment &segment : planned->segments)
    segments.append({segment.first, segment.count, segment.checkpointed});
  TableOp::create(builder, module.getLoc(), builder.getArrayAttr(table),
                  builder.getDenseI64ArrayAttr(segments), DenseI64ArrayAttr());
  for (auto &[variant, of] : blocksOf)
    remarkOn(variant, program->kinds[kindOf(variant, module, *program)], of);
  return success();
}
