//===- PrintSchedule.cpp - the schedule of a planned step as text ---------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CountOption.h"
#include "Phases.h"
#include "Program/Artifact.h"
#include "Schedule/Schedule.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"

#include "llvm/Support/raw_ostream.h"

#include <sstream>

namespace ckpt {
#define GEN_PASS_DEF_PRINTSCHEDULEPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

/// Says of each entry of the table which block of which stack it is: ckpt-plan
/// takes the first so many of each stack.
static LogicalResult findBlocks(TableOp table, const rt::Program &program,
                                rt::PlannedStep &plan) {
  auto module = cast<ModuleOp>(table->getParentOp());
  size_t limit = 0, most = 0, count = 0;
  for (const rt::Stack &stack : program.stacks)
    most = std::max(most, stack.blocks.size());
  while (limit < most && count < plan.blocks.size()) {
    ++limit;
    count = 0;
    for (const rt::Stack &stack : program.stacks)
      count += std::min(stack.blocks.size(), limit);
  }
  rt::Result<std::vector<rt::BlockRef>> refs =
      rt::blocksOf(program, int64_t(std::max<size_t>(limit, 1)));
  if (!refs.ok())
    return table.emitOpError() << refs.message();
  if (refs->size() != plan.blocks.size())
    return table.emitOpError()
           << "expected a variant for each of the " << refs->size()
           << " blocks of the stacks, found " << plan.blocks.size();
  auto names = table.getVariants().getAsRange<FlatSymbolRefAttr>();
  for (auto [block, ref, name] : llvm::zip_equal(plan.blocks, *refs, names)) {
    auto variant = module.lookupSymbol<VariantOp>(name.getAttr());
    if (kindOf(variant, module, program) != ref.kind)
      return table.emitOpError()
             << "expected a variant of @" << program.kinds[ref.kind].name
             << " for block " << ref.index << " of stack @"
             << program.stacks[ref.stack].name << ", found " << name;
    block.ref = ref;
  }
  return success();
}

/// The schedule goes by the order that is the runtime's; another one in the IR
/// is not what would be printed.
static LogicalResult checkOrder(TableOp table, const rt::PlannedStep &plan) {
  SmallVector<int64_t> order;
  for (const rt::TableEntry &entry : rt::scheduleSegments(plan))
    order.append({int64_t(entry.phase), entry.block});
  if (*table.getOrder() == ArrayRef<int64_t>(order))
    return success();
  return table.emitOpError() << "expected the order that ckpt-segment-schedule "
                                "writes, found another one; run it again";
}

namespace {

struct PrintSchedulePass
    : public ckpt::impl::PrintSchedulePassBase<PrintSchedulePass> {
  using PrintSchedulePassBase::PrintSchedulePassBase;

  void runOnOperation() override {
    if (failed(print(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult print(ModuleOp module);
  FailureOr<rt::SizeValues> parseSizes(ModuleOp module,
                                       const rt::Program &program);
};

} // namespace

FailureOr<rt::SizeValues>
PrintSchedulePass::parseSizes(ModuleOp module, const rt::Program &program) {
  rt::SizeValues given;
  for (StringRef text : sizes) {
    auto [name, number] = text.split('=');
    int64_t value;
    if (name.empty() || number.getAsInteger(10, value))
      return emitError(module.getLoc())
             << "sizes: expected name=value, found '" << text << "'";
    if (!given.insert({name.str(), value}).second)
      return emitError(module.getLoc())
             << "sizes=" << name << ": expected one value, found a second one";
  }
  rt::Result<rt::SizeValues> bound = rt::bindSizes(program, given, "sizes=");
  if (!bound.ok())
    return emitError(module.getLoc(), bound.message());
  return *bound;
}

LogicalResult PrintSchedulePass::print(ModuleOp module) {
  if (failed(verifyPlanned(module)))
    return failure();
  rt::Controls controls;
  FailureOr<std::optional<int64_t>> buckets = parseCountOption(
      module, "pin-memory-max-buckets", pinMemoryMaxBuckets, 0);
  if (failed(buckets))
    return failure();
  controls.pinMemoryMaxBuckets = *buckets;
  rt::Result<rt::Profile> rates = rt::profileNamed(profile);
  if (!rates.ok())
    return emitError(module.getLoc(), rates.message());

  FailureOr<rt::Program> program = buildProblem(module);
  if (failed(program) || failed(readVariants(module, *program)))
    return failure();
  // No kernel is made of it, so that it is for either.
  program->target = "host";
  if (rt::Status status = rt::validate(*program); !status.ok())
    return emitError(module.getLoc(), status.message());
  TableOp table = *module.getOps<TableOp>().begin();
  FailureOr<rt::PlannedStep> plan = readTable(table);
  if (failed(plan) || failed(findBlocks(table, *program, *plan)) ||
      failed(checkOrder(table, *plan)))
    return failure();
  FailureOr<rt::SizeValues> values = parseSizes(module, *program);
  if (failed(values))
    return failure();
  rt::Result<rt::Schedule> schedule =
      rt::instantiate(*program, *plan, *values, controls, *rates);
  if (!schedule.ok())
    return emitError(module.getLoc(), schedule.message());
  if (rt::Status status = rt::verify(*schedule); !status.ok())
    return emitError(module.getLoc(), status.message());
  std::ostringstream text;
  rt::print(*program, *schedule, text);
  llvm::outs() << text.str();
  llvm::outs().flush();
  return success();
}
