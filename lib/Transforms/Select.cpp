//===- Select.cpp - from tensor ops to launches of kernels ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Cost.h"
#include "Phases.h"
#include "Ports.h"
#include "ckpt/Conversion/TargetInfo.h"
#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.h"
#include "ckpt/Dialect/Ckpt/IR/CkptStepAttributes.h"
#include "ckpt/Dialect/Ckpt/IR/LowRank.h"
#include "ckpt/Transforms/Passes.h"
#include "ckpt/Transforms/Problem.h"
#include "ckpt/Transforms/SelectGroups.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace ckpt {
#define GEN_PASS_DEF_SELECTPASS
#include "ckpt/Transforms/Passes.h.inc"
} // namespace ckpt

using namespace mlir;
using namespace ckpt;

namespace {

/// The kernels of a module, each once.
class KernelTable {
public:
  KernelTable(ModuleOp module, Operation *before, const TargetInfo &target)
      : symbols(module), builder(before), target(target) {}

  /// The kernel that computes `results` from `arguments` by `ops`, made if
  /// there is no equal one.
  KernelOp get(KernelClass kernelClass, Location loc, ArrayRef<Value> arguments,
               ArrayRef<Operation *> ops, ArrayRef<Value> results);
  /// The kernel that rounds the f32 sum of a gradient to `type`.
  KernelOp getCast(ckpt::TensorType type, Location loc);

  /// The pairs (argument, result) that may share memory.
  SmallVector<int64_t> inPlacePairs(KernelOp kernel);

private:
  KernelOp insert(KernelOp kernel);

  SymbolTable symbols;
  OpBuilder builder;
  const TargetInfo &target;
  /// Text of a kernel without its name -> the kernel.
  llvm::StringMap<KernelOp> known;
};

struct SelectPass : public ckpt::impl::SelectPassBase<SelectPass> {
  using SelectPassBase::SelectPassBase;
  void runOnOperation() override;
};

} // namespace

/// `linear_gelu`: what a kernel does, views left out.
static std::string nameOf(Block &body) {
  std::string name;
  for (Operation &op : body.without_terminator())
    if (!isView(&op) && name.size() < 40)
      name += (name.empty() ? "" : "_") + op.getName().stripDialect().str();
  return name.empty() ? "copy" : name;
}

static KernelOp makeKernel(KernelClass kernelClass, Location loc,
                           ArrayRef<Value> arguments, ArrayRef<Operation *> ops,
                           ArrayRef<Value> results) {
  OpBuilder builder(loc.getContext());
  StringAttr none = builder.getStringAttr("0");
  auto kernel = KernelOp::create(
      builder, loc, builder.getStringAttr("kernel"),
      KernelClassAttr::get(loc.getContext(), kernelClass), none, none, none);
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value argument : arguments)
    mapping.map(argument, body.addArgument(argument.getType(), loc));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : ops)
    builder.clone(*op, mapping)->removeAttr(scopeAttrName);
  SmallVector<Value> yielded = llvm::map_to_vector(
      results, [&](Value result) { return mapping.lookup(result); });
  YieldOp::create(builder, loc, yielded);
  return kernel;
}

KernelOp KernelTable::get(KernelClass kernelClass, Location loc,
                          ArrayRef<Value> arguments, ArrayRef<Operation *> ops,
                          ArrayRef<Value> results) {
  return insert(makeKernel(kernelClass, loc, arguments, ops, results));
}

KernelOp KernelTable::getCast(ckpt::TensorType type, Location loc) {
  OpBuilder local(loc.getContext());
  Block scratch;
  Value sum =
      scratch.addArgument(type.withElementType(local.getF32Type()), loc);
  local.setInsertionPointToEnd(&scratch);
  // f32 stays as it is; the op only copies.
  Operation *op =
      type.getElementType().isF32()
          ? ScaleOp::create(local, loc, sum, local.getF64FloatAttr(1.0),
                            local.getF64FloatAttr(0.0))
                .getOperation()
          : CastOp::create(local, loc, sum,
                           TypeAttr::get(type.getElementType()))
                .getOperation();
  return get(KernelClass::RowWise, loc, sum, op, op->getResult(0));
}

KernelOp KernelTable::insert(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  KernelOp &entry = known[text];
  if (entry) {
    kernel->erase();
    return entry;
  }
  Block &body = kernel.getBody().front();
  kernel.setSymName(::nameOf(body));
  builder.insert(kernel);
  symbols.insert(kernel, builder.getInsertionPoint());
  kernel.setFlops(flopsOf(body).str());
  kernel.setTraffic(trafficOf(body).str());
  kernel.setWorkspace(target.workspaceBytes(kernel).str());
  return entry = kernel;
}

SmallVector<int64_t> KernelTable::inPlacePairs(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<int64_t> pairs;
  auto addPair = [&](BlockArgument argument, int64_t result) {
    llvm::append_values(pairs, int64_t(argument.getArgNumber()), result);
  };
  for (auto [result, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    // A running sum stays where it is, and nothing else may.
    if (auto sum = value.getDefiningOp<AccumulateOp>()) {
      addPair(cast<BlockArgument>(sum.getSum()), result);
      continue;
    }
    for (BlockArgument argument : body.getArguments())
      if (argument.getType() == value.getType() &&
          target.mayAlias(kernel, argument.getArgNumber(), result))
        addPair(argument, result);
  }
  return pairs;
}

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

/// Values from outside that the group reads, in the order of the operands that
/// they stand behind.
static SetVector<Value> argumentsOf(const Group &group) {
  SetVector<Value> arguments;
  DenseSet<Operation *> waiting(llvm::from_range, group.ops);
  DenseSet<Operation *> members = waiting;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    if (!waiting.erase(op))
      return;
    for (Value operand : op->getOperands()) {
      if (members.contains(operand.getDefiningOp()))
        visit(operand.getDefiningOp());
      else
        arguments.insert(operand);
    }
  };
  for (Operation *op : group.ops)
    if (!isView(op) && !isWideningCast(op))
      visit(op);
  for (Operation *op : group.ops)
    visit(op);
  return arguments;
}

/// Values that others read, what is made last first.
static SmallVector<Value> resultsOf(const Group &group) {
  SmallVector<Value> results;
  DenseSet<Operation *> members(llvm::from_range, group.ops);
  for (Operation *op : llvm::reverse(group.ops))
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        results.push_back(result);
  return results;
}

/// Moves a factor from the operands of contractions to their results: it then
/// costs nothing there, and the scaled operand, often far larger (the gradient
/// that an adapter's backward starts from), is never stored.
static void sinkFactors(Block &block) {
  for (ScaleOp scale : llvm::make_early_inc_range(block.getOps<ScaleOp>())) {
    auto commutes = [&](OpOperand &use) {
      auto linear = dyn_cast<LinearOp>(use.getOwner());
      return isContraction(use.getOwner()) && !(linear && linear.getBias()) &&
             llvm::count(use.getOwner()->getOperands(), scale.getY()) == 1;
    };
    if (!scale.getOffset().isZero() || scale.use_empty() ||
        !llvm::all_of(scale->getUses(), commutes))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(scale->getUses())) {
      Operation *reader = use.getOwner();
      use.set(scale.getX());
      OpBuilder builder(reader->getContext());
      builder.setInsertionPointAfter(reader);
      Operation *after = builder.clone(*scale);
      after->setLoc(reader->getLoc());
      Value result = reader->getResult(0);
      after->getResult(0).setType(result.getType());
      result.replaceAllUsesWith(after->getResult(0));
      after->setOperand(0, result);
      if (Attribute scope = reader->getAttr(scopeAttrName))
        after->setAttr(scopeAttrName, scope);
    }
    scale.erase();
  }
}

/// Moves the factor of an adapter to its narrow operand, so that the product
/// can be added up beside its base.
static void hoistFactors(Block &block) {
  for (ScaleOp scale : llvm::make_early_inc_range(block.getOps<ScaleOp>())) {
    Operation *low = scale.getX().getDefiningOp();
    if (!scale.getOffset().isZero() || !isa_and_nonnull<LinearOp>(low) ||
        !low->hasOneUse() || scale.getY().getType() != scale.getX().getType())
      continue;
    Value wide = low->getResult(0), narrow = low->getOperand(0);
    scale.getY().replaceAllUsesWith(wide);
    scale->setOperand(0, narrow);
    if (productBeside(low)) {
      scale->moveBefore(low);
      scale.getY().setType(cast<ckpt::TensorType>(narrow.getType()));
      low->setOperand(0, scale.getY());
    } else {
      scale->setOperand(0, wide);
      wide.replaceAllUsesExcept(scale.getY(), scale);
    }
  }
}

/// Replaces the tensor ops of a region of a step by launches: loads first,
/// then the launches, then the saves.
static void selectRegion(Block &block, StringRef idPrefix, bool keepScopes,
                         KernelTable &kernels) {
  sinkFactors(block);
  hoistFactors(block);
  separateViews(block);
  SmallVector<Group> groups = groupOps(block, keepScopes);

  Operation *end = block.getTerminator();
  auto loads = llvm::to_vector(block.getOps<LoadOp>());
  auto saves = llvm::to_vector(block.getOps<SaveOp>());
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    if (!isa<LoadOp, SaveOp>(op))
      old.push_back(&op);

  OpBuilder builder(end);
  IRMapping mapping;
  for (auto [index, group] : llvm::enumerate(groups)) {
    SetVector<Value> arguments = argumentsOf(group);
    SmallVector<Value> results = resultsOf(group);
    Location loc = group.anchor->getLoc();
    KernelOp kernel = kernels.get(group.kernelClass, loc,
                                  arguments.getArrayRef(), group.ops, results);
    SmallVector<Value> reads =
        llvm::map_to_vector(arguments, [&](Value argument) {
          return mapping.lookupOrDefault(argument);
        });
    SmallVector<int64_t> pairs = kernels.inPlacePairs(kernel);
    auto launch = LaunchOp::create(
        builder, loc, TypeRange(ValueRange(results)), kernel.getSymName(),
        (idPrefix + Twine(index)).str(), reads,
        pairs.empty() ? nullptr : builder.getDenseI64ArrayAttr(pairs),
        group.anchor->getAttrOfType<StringAttr>(scopeAttrName));
    mapping.map(results, launch.getWrites());
  }
  for (SaveOp save : saves)
    save->moveBefore(end);
  for (auto [from, to] : mapping.getValueMap())
    from.replaceAllUsesWith(to);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  for (LoadOp load : llvm::reverse(loads))
    if (load != &block.front())
      load->moveBefore(&block.front());
}

/// Every op of a step can be part of a kernel, or crosses to the backward.
static LogicalResult checkOps(StepOp step) {
  for (Region *region : {&step.getForward(), &step.getBackward()})
    for (Operation &op : region->getOps())
      if (!isFusible(&op) && !isa<SaveOp, LoadOp, YieldOp>(op))
        return op.emitOpError() << "expected tensor ops, saves and loads in a "
                                   "step that is not selected yet";
  return success();
}

void SelectPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (target != "host" && target != "nvptx") {
    module.emitError() << "target: expected host or nvptx, found '" << target
                       << "'";
    return signalPassFailure();
  }
  auto steps = llvm::to_vector(module.getOps<StepOp>());
  for (StepOp step : steps)
    if (failed(checkOps(step)))
      return signalPassFailure();
  if (failed(verifyStepsExist(module)))
    return signalPassFailure();
  if (steps.empty())
    return;
  HostTargetInfo host;
  NvptxTargetInfo nvptx;
  KernelTable kernels(module, steps.front(),
                      target == "host" ? static_cast<TargetInfo &>(host)
                                       : nvptx);
  llvm::MapVector<KernelOp, SetVector<StringRef>> casts;
  for (StepOp step : steps) {
    selectRegion(step.getForward().front(), "f", /*keepScopes=*/true, kernels);
    selectRegion(step.getBackward().front(), "b", /*keepScopes=*/false,
                 kernels);
    auto block = module.lookupSymbol<BlockOp>(step.getBlock());
    Ports ports(block);
    for (unsigned i = 0; i < ports.size(); ++i)
      if (ports.isSummed(i))
        casts[kernels.getCast(ports.type(i), block.getLoc())].insert(
            ports.name(i));
  }
  Builder builder(&getContext());
  for (auto &[kernel, names] : casts) {
    SmallVector<Attribute> gradients;
    for (StringRef name : names)
      gradients.push_back(builder.getStringAttr("grad." + name));
    kernel->setAttr(gradientCastsAttrName, builder.getArrayAttr(gradients));
  }
}
