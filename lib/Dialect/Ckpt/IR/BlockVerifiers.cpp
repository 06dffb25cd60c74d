//===- BlockVerifiers.cpp - what block IR must hold to --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "SizeText.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ckpt;

/// A letter or `_`, then letters, digits and `_`.
static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

//===----------------------------------------------------------------------===//
// SizeOp
//===----------------------------------------------------------------------===//

LogicalResult SizeOp::verify() {
  // size_c1
  StringRef name = getSymName();
  if (!isIdentifier(name) ||
      llvm::is_contained({"x", "f32", "bf16", "f16"}, name))
    return emitOpError("expected a name of letters, digits and '_' that is not "
                       "x, f32, bf16 or f16, got '")
           << name << "'";
  // size_c2
  if (std::optional<int64_t> value = getDefaultValue(); value && *value <= 0)
    return emitOpError("expected a positive default, got ") << *value;
  return success();
}

//===----------------------------------------------------------------------===//
// BlockOp
//===----------------------------------------------------------------------===//

/// The attributes describe the arguments; everything else relies on it.
static LogicalResult verifyPorts(BlockOp block) {
  // block_c1
  int64_t numPorts = block.getBody().getNumArguments();
  int64_t numStates = block.getNumStates(), numInputs = block.getNumInputs();
  if (numStates < 0 || numInputs < 0 || numStates > numPorts ||
      numInputs > numPorts - numStates)
    return block.emitOpError("expected num_states and num_inputs of together "
                             "at most the ")
           << numPorts << " arguments, got " << numStates << " and "
           << numInputs;
  if (int64_t(block.getPortNames().size()) != numPorts ||
      int64_t(block.getNeedsGradient().size()) != numPorts)
    return block.emitOpError("expected one port name and one gradient flag for "
                             "each of the ")
           << numPorts << " arguments, got " << block.getPortNames().size()
           << " and " << block.getNeedsGradient().size();
  // block_c2
  if (numStates == 0)
    return block.emitOpError("expected at least one state");
  // block_c3
  for (BlockArgument argument : block.getBody().getArguments())
    if (!isa<ckpt::TensorType>(argument.getType()))
      return block.emitOpError("expected argument '")
             << block.getPortName(argument.getArgNumber())
             << "' to be a !ckpt.tensor, got " << argument.getType();
  return success();
}

static LogicalResult verifyPortNames(BlockOp block) {
  // block_c4
  int64_t numValues = block.getNumStates() + block.getNumInputs();
  for (int64_t i = 0; i < numValues; ++i)
    if (!isIdentifier(block.getPortName(i)))
      return block.emitOpError("expected the name of a state or input to be "
                               "letters, digits and '_', no digit first, got '")
             << block.getPortName(i) << "'";
  // block_c5
  for (BlockArgument param : block.getParams()) {
    StringRef name = block.getPortName(param.getArgNumber());
    std::string rest = name.str();
    for (size_t at; (at = rest.find("{i}")) != std::string::npos;)
      rest.erase(at, 3);
    if (name.empty() || rest.find_first_of("{}") != std::string::npos)
      return block.emitOpError("expected the name of a parameter to hold no "
                               "braces but '{i}', got '")
             << name << "'";
  }
  // block_c6
  llvm::StringSet<> names;
  auto add = [&](const Twine &name) -> LogicalResult {
    if (names.insert(name.str()).second)
      return success();
    return block.emitOpError(
               "expected one tensor of each name, got two named '")
           << name << "'";
  };
  for (int64_t i = 0, e = block.getPortNames().size(); i < e; ++i)
    if (failed(add(block.getPortName(i))) ||
        (block.needsGradient(i) && failed(add("grad." + block.getPortName(i)))))
      return failure();
  for (BlockArgument state : block.getStates()) {
    StringRef name = block.getPortName(state.getArgNumber());
    if (failed(add("out." + name)) || failed(add("grad.out." + name)))
      return failure();
  }
  return success();
}

/// `values` are made in `body` by ops, each once; `what` says what they are.
static LogicalResult verifyMade(Operation *op, Region &body, StringRef what,
                                OperandRange values) {
  llvm::SmallPtrSet<void *, 4> seen;
  for (auto [index, value] : llvm::enumerate(values)) {
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getParentRegion() != &body)
      return op->emitOpError("expected an op of the region to make ")
             << what << " #" << index;
    if (!seen.insert(value.getAsOpaquePointer()).second)
      return op->emitOpError("expected different ")
             << what << "s, got one twice as #" << index;
  }
  return success();
}

static LogicalResult verifyReturn(BlockOp block) {
  // block_c7
  Block &body = block.getBody().front();
  auto returnOp = body.empty() ? ReturnOp() : dyn_cast<ReturnOp>(body.back());
  if (!returnOp)
    return block.emitOpError("expected the body to end in ckpt.return");
  if (int64_t(returnOp->getNumOperands()) != int64_t(block.getNumStates()))
    return returnOp.emitOpError("expected ")
           << int64_t(block.getNumStates())
           << " values, one for each state, got " << returnOp->getNumOperands();
  // block_c8
  return verifyMade(returnOp, block.getBody(), "result",
                    returnOp->getOperands());
}

static LogicalResult verifyBody(BlockOp block) {
  // block_c9
  for (auto [name, count] :
       {std::pair(AttentionOp::getOperationName(),
                  llvm::range_size(block.getBody().getOps<AttentionOp>())),
        std::pair(FfnOp::getOperationName(),
                  llvm::range_size(block.getBody().getOps<FfnOp>()))})
    if (count > 1)
      return block.emitOpError("expected at most one ")
             << name << ", got " << count;
  // block_c10
  WalkResult walk = block.getBody().walk([&](Operation *op) -> WalkResult {
    if (isa<DifferentiableOpInterface, AttentionOp, FfnOp, ReturnOp, YieldOp>(
            op))
      return WalkResult::advance();
    return op->emitOpError("cannot stand in a ckpt.block; expected a "
                           "differentiable op or a boundary region");
  });
  return failure(walk.wasInterrupted());
}

LogicalResult BlockOp::verify() {
  if (failed(verifyPorts(*this)) || failed(verifyPortNames(*this)) ||
      failed(verifyReturn(*this)))
    return failure();
  return verifyBody(*this);
}

LogicalResult BlockOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  llvm::StringSet<> known;
  auto verifySize = [&](Operation *op,
                        std::optional<rt::Size> size) -> LogicalResult {
    std::set<std::string> names;
    if (size)
      size->collectNames(names);
    for (const std::string &name : names) {
      if (known.contains(name))
        continue;
      // block_c11
      if (!symbolTable.lookupNearestSymbolFrom<SizeOp>(
              *this, StringAttr::get(getContext(), name)))
        return op->emitOpError("uses the size '")
               << name << "', which no ckpt.size declares";
      known.insert(name);
    }
    return success();
  };
  auto verifyType = [&](Operation *op, Type type) -> LogicalResult {
    auto tensor = dyn_cast<ckpt::TensorType>(type);
    for (unsigned i = 0; tensor && i < tensor.getRank(); ++i)
      if (failed(verifySize(op, tensor.getDim(i))))
        return failure();
    return success();
  };
  for (Type type : getBody().getArgumentTypes())
    if (failed(verifyType(*this, type)))
      return failure();
  WalkResult walk = getBody().walk([&](Operation *op) -> WalkResult {
    // An offset is in no type.
    if (auto slice = dyn_cast<SliceOp>(op))
      if (failed(verifySize(op, sizeOf(slice.getOffsetAttr()))))
        return WalkResult::interrupt();
    for (Type type : op->getResultTypes())
      if (failed(verifyType(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Boundary regions
//===----------------------------------------------------------------------===//

static LogicalResult verifyBoundary(Operation *op, Region &body) {
  // attention_c1, ffn_c1
  Block &block = body.front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError("expected the body to end in ckpt.yield");
  if (block.getNumArguments() != 0)
    return op->emitOpError("expected a body without arguments, got ")
           << block.getNumArguments();
  if (yield->getOperandTypes() != op->getResultTypes())
    return op->emitOpError("expected to yield the result types ")
           << op->getResultTypes() << ", got " << yield->getOperandTypes();
  // attention_c2, ffn_c2
  if (op->getNumResults() == 0 || llvm::hasSingleElement(block))
    return op->emitOpError("expected a result and an op that makes it");
  // attention_c3, ffn_c3
  return verifyMade(yield, body, "result", yield->getOperands());
}

LogicalResult AttentionOp::verify() { return verifyBoundary(*this, getBody()); }

LogicalResult FfnOp::verify() { return verifyBoundary(*this, getBody()); }

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

LogicalResult RepeatOp::verify() {
  // repeat_c2
  constexpr int64_t maxCount = 1 << 20;
  int64_t count = getCount();
  if (count < 1 || count > maxCount)
    return emitOpError("expected a count between 1 and ")
           << maxCount << ", got " << count;
  return success();
}

LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // repeat_c1
  if (!symbolTable.lookupNearestSymbolFrom<BlockOp>(*this, getBlockAttr()))
    return emitOpError("expected the name of a ckpt.block, got ")
           << getBlockAttr();
  return success();
}

LogicalResult StackOp::verify() {
  // stack_c1
  Block &body = getBody().front();
  if (body.getNumArguments() != 0)
    return emitOpError("expected a body without arguments, got ")
           << body.getNumArguments();
  for (Operation &op : body)
    if (!isa<RepeatOp>(op))
      return op.emitOpError(
          "cannot stand in a ckpt.stack; expected ckpt.repeat");
  if (body.empty())
    return emitOpError("expected at least one ckpt.repeat");
  return success();
}

/// What the caller passes for a name.
namespace {
struct Port {
  BlockOp block;
  Type type;
  StringRef role;
};
} // namespace

/// `first`'s results are `second`'s states.
static LogicalResult verifyChain(RepeatOp at, BlockOp first, BlockOp second) {
  TypeRange results = first.getResults().getTypes();
  auto states = llvm::map_range(
      second.getStates(), [](BlockArgument state) { return state.getType(); });
  if (llvm::equal(results, states))
    return success();
  // stack_c2
  return at.emitOpError("expected the states of @")
         << second.getSymName() << " to have the types that @"
         << first.getSymName() << " returns: " << results << ", got "
         << llvm::to_vector(states);
}

LogicalResult StackOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // Everything up to this stack; an earlier one has been verified, or will be.
  llvm::StringMap<Port> ports;
  llvm::StringMap<StackOp> stackOfParam;
  BlockOp last;
  for (StackOp stack : (*this)->getBlock()->getOps<StackOp>()) {
    for (RepeatOp repeat : stack.getBody().getOps<RepeatOp>()) {
      auto block = symbolTable.lookupNearestSymbolFrom<BlockOp>(
          repeat, repeat.getBlockAttr());
      if (!block)
        return success(); // repeat_c1 says so
      bool isHere = stack == *this;
      if (isHere && last && failed(verifyChain(repeat, last, block)))
        return failure();
      if (isHere && repeat.getCount() > 1 &&
          failed(verifyChain(repeat, block, block)))
        return failure();
      last = block;
      for (BlockArgument argument : block.getBody().getArguments()) {
        unsigned index = argument.getArgNumber();
        if (index < block.getNumStates())
          continue;
        StringRef name = block.getPortName(index);
        bool isParam = block.isParam(argument);
        if (isParam && name.contains("{i}")) {
          // stack_c4
          StackOp owner = stackOfParam.try_emplace(name, stack).first->second;
          if (isHere && block.needsGradient(index) && owner != stack)
            return repeat.emitOpError("expected the trainable parameter '")
                   << name << "' in one stack, got @" << owner.getSymName()
                   << " and @" << stack.getSymName();
          continue;
        }
        StringRef role =
            isParam ? (block.needsGradient(index) ? "trainable parameter"
                                                  : "frozen parameter")
                    : (block.needsGradient(index) ? "differentiable input"
                                                  : "input");
        Port port{block, argument.getType(), role};
        auto [found, isNew] = ports.try_emplace(name, port);
        Port &known = found->second;
        // stack_c3
        if (isHere && !isNew &&
            (known.type != port.type || known.role != port.role))
          return repeat.emitOpError("expected '")
                 << name << "' to be the " << known.role << " of type "
                 << known.type << " that it is in @" << known.block.getSymName()
                 << ", got the " << port.role << " of type " << port.type
                 << " in @" << block.getSymName();
      }
    }
    if (stack == *this)
      break;
  }
  return success();
}
