//===- Problem.cpp - the IR as the runtime's plain data -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Transforms/Problem.h"
#include "BlockGraph.h"
#include "Ports.h"
#include "ckpt/Dialect/Ckpt/IR/CkptStepAttributes.h"

#include "mlir/IR/BuiltinTypes.h"

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
  KindReader(BlockOp block, StepOp step, const KernelIndex &kernels)
      : ports(block), block(block), step(step), kernels(kernels) {}

  FailureOr<rt::BlockKind> read();

private:
  /// The regions' arguments and results are those that the ports ask for.
  LogicalResult checkSignatures();
  void readPorts();
  void addForwardArguments();
  LogicalResult addBackwardArguments();
  LogicalResult readForward();
  LogicalResult readBackward();
  void addLaunch(LaunchOp launch);
  LogicalResult addSave(SaveOp save);
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
  if (failed(checkSignatures()))
    return failure();
  readPorts();
  kind.graph = readGraph(block);
  addForwardArguments();
  if (failed(readForward()) || failed(addBackwardArguments()) ||
      failed(readBackward()))
    return failure();
  return std::move(kind);
}

LogicalResult KindReader::checkSignatures() {
  Block &forward = step.getForward().front();
  Block &backward = step.getBackward().front();
  Type f32 = Float32Type::get(step.getContext());
  SmallVector<Type> results(
      block.getBody().front().getTerminator()->getOperandTypes());
  SmallVector<Type> arguments = results, gradients;
  for (unsigned i = 0; i < ports.numStates(); ++i)
    gradients.push_back(ports.type(i));
  for (bool isParam : {false, true})
    for (unsigned i = 0; i < ports.size(); ++i)
      if (ports.isSummed(i) && ports.isParam(i) == isParam) {
        arguments.push_back(ports.type(i).withElementType(f32));
        gradients.push_back(arguments.back());
      }
  for (unsigned i = ports.firstInput(); i < ports.size(); ++i)
    arguments.push_back(ports.type(i));
  for (unsigned i = ports.firstParam(); i < ports.size(); ++i)
    if (ports.isOwnParam(i))
      gradients.push_back(ports.type(i));

  auto check = [&](StringRef what, TypeRange expected,
                   TypeRange found) -> LogicalResult {
    if (expected == found)
      return success();
    return step.emitOpError() << "expected " << what << " of the types "
                              << expected << ", got " << found;
  };
  if (failed(check("forward results", results,
                   forward.getTerminator()->getOperandTypes())) ||
      failed(
          check("backward arguments", arguments, backward.getArgumentTypes())))
    return failure();
  return check("backward results", gradients,
               backward.getTerminator()->getOperandTypes());
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

void KindReader::addLaunch(LaunchOp launch) {
  rt::SelectedOp op;
  op.id = launch.getId().str();
  op.kernel = kernels.lookup(launch.getKernel());
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
}

LogicalResult KindReader::addSave(SaveOp save) {
  rt::SavedValue saved;
  saved.name = save.getName().str();
  saved.value = valueOf.lookup(save.getValue());
  for (const rt::SavedValue &other : kind.saved)
    if (other.value == saved.value)
      return save.emitOpError() << "expected a value that is not saved yet, "
                                   "found it saved as '"
                                << other.name << "'";
  rt::Value &value = kind.values[saved.value];
  if (value.kind == rt::ValueKind::StateIn)
    saved.state = value.index;
  saved.producer = scopeOf(save->getAttr(producerAttrName));
  saved.scopeResult = save->hasAttr(scopeResultAttrName);
  saved.attentionOperand = save->hasAttr(attentionOperandAttrName);
  saved.ffnOperand = save->hasAttr(ffnOperandAttrName);
  saved.attentionCore = save->hasAttr(attentionCoreAttrName);
  value.name = saved.name;
  savedValue[saved.name] = saved.value;
  kind.saved.push_back(std::move(saved));
  return success();
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
      addLaunch(launch);
    } else if (auto save = dyn_cast<SaveOp>(op)) {
      if (failed(addSave(save)))
        return failure();
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
      addLaunch(launch);
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      valueOf[load] = savedValue.lookup(load.getName());
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

static rt::Size sizeOf(StringRef text) {
  return rt::Size::parse(text.str()).value_or(rt::Size());
}

static rt::Kernel readKernel(KernelOp op) {
  rt::Kernel kernel;
  kernel.symbol = op.getSymName().str();
  static_assert(int(rt::KernelClass::RowWise) == int(KernelClass::RowWise));
  kernel.cls = static_cast<rt::KernelClass>(op.getKernelClass());
  Block &body = op.getBody().front();
  kernel.numReads = int(body.getNumArguments());
  kernel.numWrites = int(body.getTerminator()->getNumOperands());
  kernel.workspaceBytes = sizeOf(op.getWorkspace());
  kernel.flops = sizeOf(op.getFlops());
  kernel.trafficBytes = sizeOf(op.getTraffic());
  return kernel;
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
    int index = int(program.kernels.size());
    kernels[op.getSymName()] = index;
    program.kernels.push_back(readKernel(op));
    if (auto casts = op->getAttrOfType<ArrayAttr>(gradientCastsAttrName))
      for (Attribute gradient : casts)
        if (auto name = dyn_cast<StringAttr>(gradient))
          program.casts.push_back({name.getValue().str(), index});
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
    FailureOr<rt::BlockKind> kind = KindReader(block, step, kernels).read();
    if (failed(kind))
      return failure();
    kinds[block.getSymName()] = int(program.kinds.size());
    program.kinds.push_back(std::move(*kind));
  }
  for (StackOp op : module.getOps<StackOp>()) {
    rt::Stack stack{op.getSymName().str(), {}};
    for (RepeatOp repeat : op.getBody().getOps<RepeatOp>())
      stack.blocks.insert(stack.blocks.end(), repeat.getCount(),
                          kinds.lookup(repeat.getBlock()));
    program.stacks.push_back(std::move(stack));
  }
  return program;
}
