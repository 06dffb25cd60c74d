//===- Problem.cpp - the IR as the runtime's plain data -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Transforms/Problem.h"
#include "BlockGraph.h"
#include "Ports.h"
#include "ckpt/Dialect/Ckpt/IR/CkptStepAttributes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace ckpt;

static rt::Scope scopeOf(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  if (!text)
    return rt::Scope::None;
  return text.getValue() == "attention" ? rt::Scope::Attention
         : text.getValue() == "ffn"     ? rt::Scope::Ffn
                                        : rt::Scope::None;
}

namespace {

using KernelIndex = llvm::StringMap<int>;

/// Reads the selected step of one block kind.
class KindReader {
public:
  KindReader(BlockOp block, StepOp step, const rt::Program &program,
             const KernelIndex &kernels)
      : ports(block), block(block), step(step), program(program),
        kernels(kernels) {}

  FailureOr<rt::BlockKind> read();

private:
  void readPorts();
  void addForwardArguments();
  LogicalResult addBackwardArguments();
  LogicalResult readForward();
  LogicalResult readBackward();
  LogicalResult addLaunch(LaunchOp launch);
  void addSave(SaveOp save);
  /// Follows a running sum from where it is yielded to its argument: all its
  /// SSA values are one value that ops update in place.
  LogicalResult traceSum(Value yielded, BlockArgument argument, int value);
  LogicalResult nameResult(Value result, rt::ValueKind valueKind, int index,
                           std::string name);
  int addValue(Value value, std::string name, rt::ValueKind valueKind,
               int index);

  Ports ports;
  BlockOp block;
  StepOp step;
  const rt::Program &program;
  const KernelIndex &kernels;
  rt::BlockKind kind;
  DenseMap<Value, int> valueOf;
  llvm::StringMap<int> savedValue;
};

} // namespace

int KindReader::addValue(Value value, std::string name, rt::ValueKind valueKind,
                         int index) {
  kind.values.push_back({std::move(name),
                         toRuntime(cast<ckpt::TensorType>(value.getType())),
                         valueKind, index});
  return valueOf[value] = int(kind.values.size()) - 1;
}

FailureOr<rt::BlockKind> KindReader::read() {
  kind.name = block.getSymName().str();
  readPorts();
  kind.graph = readGraph(block);
  addForwardArguments();
  if (failed(readForward()) || failed(addBackwardArguments()) ||
      failed(readBackward()))
    return failure();
  return std::move(kind);
}

void KindReader::readPorts() {
  for (unsigned i = 0; i < ports.size(); ++i) {
    rt::Port port{ports.name(i).str(), toRuntime(ports.type(i)),
                  ports.needsGradient(i), "dense"};
    (ports.isState(i)   ? kind.states
     : ports.isInput(i) ? kind.inputs
                        : kind.params)
        .push_back(std::move(port));
  }
  Block *body = &block.getBody().front();
  for (Type type : body->getTerminator()->getOperandTypes())
    kind.results.push_back(toRuntime(cast<ckpt::TensorType>(type)));
  kind.hasAttention = !body->getOps<AttentionOp>().empty();
  kind.hasFfn = !body->getOps<FfnOp>().empty();
}

void KindReader::addForwardArguments() {
  for (auto [i, argument] :
       llvm::enumerate(step.getForward().front().getArguments())) {
    rt::ValueKind valueKind = ports.isState(i)   ? rt::ValueKind::StateIn
                              : ports.isInput(i) ? rt::ValueKind::Input
                                                 : rt::ValueKind::Param;
    unsigned first = ports.isState(i)   ? 0
                     : ports.isInput(i) ? ports.firstInput()
                                        : ports.firstParam();
    addValue(argument, ports.name(i).str(), valueKind, int(i - first));
  }
}

LogicalResult KindReader::addLaunch(LaunchOp launch) {
  auto found = kernels.find(launch.getKernel());
  if (found == kernels.end())
    return launch.emitOpError()
           << "expected a ckpt.kernel, found no symbol @" << launch.getKernel();
  const rt::Kernel &kernel = program.kernels[found->second];
  if (int(launch.getReads().size()) != kernel.numReads ||
      int(launch.getWrites().size()) != kernel.numWrites)
    return launch.emitOpError()
           << "expected " << kernel.numReads << " operands and "
           << kernel.numWrites << " results as @" << launch.getKernel()
           << " has, got " << launch.getReads().size() << " and "
           << launch.getWrites().size();
  rt::SelectedOp op;
  op.id = launch.getId().str();
  op.kernel = found->second;
  op.scope = scopeOf(launch.getScopeAttr());
  for (Value read : launch.getReads())
    op.reads.push_back(valueOf.lookup(read));
  for (OpResult write : launch->getResults()) {
    std::string name = op.id;
    if (launch.getNumResults() > 1)
      name += "." + std::to_string(write.getResultNumber());
    op.writes.push_back(
        valueOf.count(write)
            ? valueOf.lookup(write)
            : addValue(write, name, rt::ValueKind::Temporary, -1));
  }
  ArrayRef<int64_t> pairs = launch.getInPlace().value_or(ArrayRef<int64_t>());
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    op.inPlace.emplace_back(int(pairs[i]), int(pairs[i + 1]));
  kind.ops.push_back(std::move(op));
  return success();
}

void KindReader::addSave(SaveOp save) {
  rt::SavedValue saved;
  saved.name = save.getName().str();
  saved.value = valueOf.lookup(save.getValue());
  if (auto state = save->getAttrOfType<IntegerAttr>(stateAttrName))
    saved.state = int(state.getInt());
  saved.producer = scopeOf(save->getAttr(producerAttrName));
  saved.scopeResult = save->hasAttr(scopeResultAttrName);
  saved.attentionOperand = save->hasAttr(attentionOperandAttrName);
  saved.ffnOperand = save->hasAttr(ffnOperandAttrName);
  saved.attentionCore = save->hasAttr(attentionCoreAttrName);
  kind.values[saved.value].name = saved.name;
  savedValue[saved.name] = saved.value;
  kind.saved.push_back(std::move(saved));
}

LogicalResult KindReader::nameResult(Value result, rt::ValueKind valueKind,
                                     int index, std::string name) {
  rt::Value &value = kind.values[valueOf.lookup(result)];
  if (value.kind != rt::ValueKind::Temporary)
    return step.emitOpError()
           << "expected a value of its own for '" << name << "', found '"
           << value.name << "' yielded in its place";
  value.kind = valueKind;
  value.index = index;
  value.name = std::move(name);
  return success();
}

LogicalResult KindReader::readForward() {
  Block &body = step.getForward().front();
  for (Operation &op : body) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(addLaunch(launch)))
        return failure();
    } else if (auto save = dyn_cast<SaveOp>(op)) {
      addSave(save);
    } else if (!isa<YieldOp>(op)) {
      return op.emitOpError() << "expected ckpt.launch or ckpt.save in the "
                                 "forward of a selected step; run ckpt-select";
    }
  }
  kind.numForwardOps = int(kind.ops.size());
  for (auto [i, result] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (failed(nameResult(result, rt::ValueKind::StateOut, int(i),
                          ("out." + ports.name(i)).str())))
      return failure();
  return success();
}

LogicalResult KindReader::traceSum(Value yielded, BlockArgument argument,
                                   int value) {
  while (true) {
    valueOf[yielded] = value;
    if (yielded == argument)
      return success();
    auto launch = yielded.getDefiningOp<LaunchOp>();
    Value before;
    if (launch)
      for (ArrayRef<int64_t> pairs =
               launch.getInPlace().value_or(ArrayRef<int64_t>());
           pairs.size() >= 2; pairs = pairs.drop_front(2))
        if (launch.getWrites()[pairs[1]] == yielded &&
            launch.getReads()[pairs[0]].getType() == yielded.getType())
          before = launch.getReads()[pairs[0]];
    if (!before)
      return step.emitOpError()
             << "expected the running sum '" << kind.values[value].name
             << "' to be updated in place by every op that adds to it";
    yielded = before;
  }
}

LogicalResult KindReader::addBackwardArguments() {
  Block &body = step.getBackward().front();
  Operation *yield = body.getTerminator();
  unsigned next = 0;
  for (unsigned i = 0; i < kind.results.size(); ++i)
    addValue(body.getArgument(next++), ("grad.out." + ports.name(i)).str(),
             rt::ValueKind::GradStateOut, int(i));
  unsigned sum = ports.numStates();
  for (bool isParam : {false, true})
    for (unsigned i = 0; i < ports.size(); ++i) {
      if (!ports.isSummed(i) || ports.isParam(i) != isParam)
        continue;
      int value = addValue(
          body.getArgument(next), ("grad." + ports.name(i)).str(),
          isParam ? rt::ValueKind::GradParamShared : rt::ValueKind::GradInput,
          int(i - (isParam ? ports.firstParam() : ports.firstInput())));
      if (failed(traceSum(yield->getOperand(sum++), body.getArgument(next++),
                          value)))
        return failure();
    }
  Block &forward = step.getForward().front();
  for (unsigned i = ports.firstInput(); i < ports.size(); ++i)
    valueOf[body.getArgument(next++)] = valueOf.lookup(forward.getArgument(i));
  return success();
}

LogicalResult KindReader::readBackward() {
  Block &body = step.getBackward().front();
  for (Operation &op : body) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(addLaunch(launch)))
        return failure();
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      auto saved = savedValue.find(load.getName());
      if (saved == savedValue.end())
        return load.emitOpError() << "expected a saved value, found no "
                                     "ckpt.save of that name in the forward";
      valueOf[load] = saved->second;
    } else if (!isa<YieldOp>(op)) {
      return op.emitOpError() << "expected ckpt.launch or ckpt.load in the "
                                 "backward of a selected step; run ckpt-select";
    }
  }
  Operation *yield = body.getTerminator();
  unsigned next = 0;
  for (; next < ports.numStates(); ++next)
    if (failed(nameResult(yield->getOperand(next), rt::ValueKind::GradStateIn,
                          int(next), ("grad." + ports.name(next)).str())))
      return failure();
  for (unsigned i = 0; i < ports.size(); ++i)
    next += ports.isSummed(i);
  for (unsigned i = ports.firstParam(); i < ports.size(); ++i)
    if (ports.isOwnParam(i) &&
        failed(nameResult(yield->getOperand(next++), rt::ValueKind::GradParam,
                          int(i - ports.firstParam()),
                          ("grad." + ports.name(i)).str())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static FailureOr<rt::Kernel> readKernel(KernelOp op) {
  rt::Kernel kernel;
  kernel.symbol = op.getSymName().str();
  static_assert(int(rt::KernelClass::RowWise) == int(KernelClass::RowWise));
  kernel.cls = static_cast<rt::KernelClass>(op.getKernelClass());
  Block &body = op.getBody().front();
  kernel.numReads = int(body.getNumArguments());
  kernel.numWrites = int(body.getTerminator()->getNumOperands());
  std::tuple<StringRef, StringRef, rt::Size *> costs[] = {
      {"workspace", op.getWorkspace(), &kernel.workspaceBytes},
      {"flops", op.getFlops(), &kernel.flops},
      {"traffic", op.getTraffic(), &kernel.trafficBytes}};
  for (auto [name, text, size] : costs) {
    std::optional<rt::Size> parsed = rt::Size::parse(text.str());
    if (!parsed)
      return op.emitOpError()
             << "expected " << name << " to be a size, got '" << text << "'";
    *size = *parsed;
  }
  return kernel;
}

static LogicalResult readStacks(ModuleOp module, rt::Program &program,
                                const llvm::StringMap<int> &kinds) {
  for (StackOp op : module.getOps<StackOp>()) {
    rt::Stack stack{op.getSymName().str(), {}};
    for (RepeatOp repeat : op.getBody().getOps<RepeatOp>()) {
      auto found = kinds.find(repeat.getBlock());
      if (found == kinds.end())
        return repeat.emitOpError()
               << "expected a ckpt.block, found no symbol @"
               << repeat.getBlock();
      stack.blocks.insert(stack.blocks.end(), repeat.getCount(), found->second);
    }
    program.stacks.push_back(std::move(stack));
  }
  return success();
}

FailureOr<rt::Program> ckpt::buildProblem(ModuleOp module) {
  rt::Program program;
  for (SizeOp size : module.getOps<SizeOp>()) {
    rt::NamedSize named{size.getSymName().str(), std::nullopt};
    if (std::optional<uint64_t> value = size.getDefaultValue())
      named.defaultValue = int64_t(*value);
    program.sizes.push_back(named);
  }

  KernelIndex kernels;
  for (KernelOp op : module.getOps<KernelOp>()) {
    FailureOr<rt::Kernel> kernel = readKernel(op);
    if (failed(kernel))
      return failure();
    int index = int(program.kernels.size());
    kernels[op.getSymName()] = index;
    program.kernels.push_back(*kernel);
    if (auto casts = op->getAttrOfType<ArrayAttr>(gradientCastsAttrName))
      for (Attribute gradient : casts)
        program.casts.push_back(
            {cast<StringAttr>(gradient).getValue().str(), index});
  }

  llvm::StringMap<StepOp> steps;
  for (StepOp step : module.getOps<StepOp>())
    steps[step.getBlock()] = step;
  llvm::StringMap<int> kinds;
  for (BlockOp block : module.getOps<BlockOp>()) {
    StepOp step = steps.lookup(block.getSymName());
    if (!step)
      return block.emitOpError()
             << "expected a step of this block, found none; run "
                "ckpt-differentiate and ckpt-select";
    FailureOr<rt::BlockKind> kind =
        KindReader(block, step, program, kernels).read();
    if (failed(kind))
      return failure();
    kinds[block.getSymName()] = int(program.kinds.size());
    program.kinds.push_back(std::move(*kind));
  }
  if (failed(readStacks(module, program, kinds)))
    return failure();
  return program;
}
