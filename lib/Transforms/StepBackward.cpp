//===- StepBackward.cpp - the backward of a step --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Reverse mode over the forward's ops. A gradient is added up as contributions
// arrive, so that one running value is alive per forward value and the
// addition can fuse into what makes the contribution.
//
//===----------------------------------------------------------------------===//

#include "StepBackward.h"
#include "ckpt/Dialect/Ckpt/IR/CkptStepAttributes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ckpt;

static ckpt::TensorType typeOf(Value value) {
  return cast<ckpt::TensorType>(value.getType());
}

static ckpt::TensorType wide(ckpt::TensorType type) {
  return type.withElementType(Float32Type::get(type.getContext()));
}

StepBackward::StepBackward(BlockOp block, StepOp step,
                           const StepForward &forward)
    : ports(block), block(block), step(step), forward(forward),
      builder(step.getContext()) {}

LogicalResult StepBackward::build() {
  addArguments();
  countUses();
  for (DifferentiableOpInterface op :
       llvm::reverse(forward.getDifferentiated()))
    if (failed(differentiate(op)))
      return failure();
  return finish();
}

void StepBackward::addArguments() {
  body = &step.getBackward().emplaceBlock();
  builder.setInsertionPointToEnd(body);
  Block &from = step.getForward().front();
  for (Value result : from.getTerminator()->getOperands())
    gradients[result].sum =
        body->addArgument(result.getType(), result.getLoc());
  for (bool isParam : {false, true})
    for (unsigned i = 0; i < ports.size(); ++i)
      if (ports.isSummed(i) && ports.isParam(i) == isParam)
        gradients[from.getArgument(i)].sum = body->addArgument(
            wide(ports.type(i)), from.getArgument(i).getLoc());
  portArguments.resize(ports.size());
  for (unsigned i = ports.firstInput(); i < ports.size(); ++i)
    portArguments[i] =
        body->addArgument(ports.type(i), from.getArgument(i).getLoc());
}

void StepBackward::countUses() {
  for (DifferentiableOpInterface op : forward.getDifferentiated())
    for (auto [operand, needed] :
         llvm::zip_equal(op->getOperands(), forward.neededOf(op)))
      if (needed) {
        ++gradients[operand].pending;
        ++gradients[operand].uses;
      }
}

LogicalResult StepBackward::differentiate(DifferentiableOpInterface op) {
  Value gradient = gradients[op->getResult(0)].sum;
  SmallVector<bool> needed = forward.neededOf(op);
  scope = op->getAttr(scopeAttrName);
  Operation *last = body->empty() ? nullptr : &body->back();

  if (auto slice = dyn_cast<SliceOp>(op.getOperation())) {
    // Joined with its siblings when the last of them is there.
    gradients[slice.getX()].slices.push_back(
        {int64_t(slice.getDim()), *rt::Size::parse(slice.getOffset().str()),
         *rt::Size::parse(slice.getExtent().str()), gradient, op.getLoc()});
    useDone(slice.getX(), op.getLoc());
  } else {
    SmallVector<Value> results(op->getNumResults());
    results[0] = gradient;
    SmallVector<Value> contributions = op.buildBackward(
        builder, results, [&](Value value) { return read(value); }, needed);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!needed[i])
        continue;
      if (!contributions[i])
        return op.emitOpError()
               << "has no gradient for operand #" << i
               << ", expected a value that needs none; it comes from a state, "
                  "a differentiable input or a trainable parameter";
      contribute(operand, contributions[i], gradients[operand].uses == 1,
                 op.getLoc());
      useDone(operand, op.getLoc());
    }
  }

  if (scope)
    for (Operation &made :
         llvm::make_range(last ? std::next(last->getIterator()) : body->begin(),
                          body->end()))
      if (!isa<LoadOp>(made))
        made.setAttr(scopeAttrName, scope);
  return success();
}

Value StepBackward::read(Value value) {
  if (Value known = loaded.lookup(value))
    return known;
  Value base = StepForward::baseOf(value);
  Value result;
  if (base != value) {
    // Views and widening casts are made again, from the bottom.
    Operation *view = value.getDefiningOp();
    IRMapping mapping;
    mapping.map(view->getOperand(0), read(view->getOperand(0)));
    result = builder.clone(*view, mapping)->getResult(0);
  } else if (auto argument = dyn_cast<BlockArgument>(value);
             argument && !ports.isState(argument.getArgNumber())) {
    result = portArguments[argument.getArgNumber()];
  } else {
    StringRef name = forward.nameOf(value);
    assert(!name.empty() && "an op reads what getBackwardReads does not name");
    result = LoadOp::create(builder, value.getLoc(), value.getType(),
                            builder.getStringAttr(name));
  }
  return loaded[value] = result;
}

Value StepBackward::fit(Value value, ckpt::TensorType type, Location loc) {
  ckpt::TensorType from = typeOf(value);
  if (from == type)
    return value;
  if (from.getDims() == type.getDims())
    return CastOp::create(builder, loc, value,
                          TypeAttr::get(type.getElementType()));
  return ReduceSumOp::create(builder, loc, type, value);
}

void StepBackward::contribute(Value target, Value contribution, bool only,
                              Location loc) {
  Value &sum = gradients[target].sum;
  auto argument = dyn_cast<BlockArgument>(target);
  if (argument && ports.isSummed(argument.getArgNumber())) {
    sum = AccumulateOp::create(builder, loc, sum, contribution);
    return;
  }
  ckpt::TensorType type = typeOf(target);
  // Several contributions to a parameter are rounded once, in `useDone`.
  if (argument && ports.isParam(argument.getArgNumber()) && !only)
    type = wide(type);
  Value fitted = fit(contribution, type, loc);
  sum = sum ? AddOp::create(builder, loc, fitted, sum) : fitted;
}

void StepBackward::useDone(Value target, Location loc) {
  Gradient &gradient = gradients[target];
  if (--gradient.pending)
    return;
  SmallVector<SliceGradient> slices = std::move(gradient.slices);
  SmallVector<Value> joined = joinSlices(typeOf(target), slices);
  bool only = slices.size() == gradient.uses && joined.size() == 1;
  for (Value value : joined)
    contribute(target, value, only, loc);
  auto argument = dyn_cast<BlockArgument>(target);
  if (argument && ports.isOwnParam(argument.getArgNumber()))
    gradient.sum = fit(gradient.sum, typeOf(target), loc);
}

SmallVector<Value> StepBackward::joinSlices(ckpt::TensorType type,
                                            ArrayRef<SliceGradient> slices) {
  if (slices.empty())
    return {};
  int64_t dim = slices.front().dim;
  rt::Size end = type.getDim(dim);
  SmallVector<Value> parts;
  rt::Size offset = 0;
  while (offset != end) {
    const auto *next = llvm::find_if(slices, [&](const SliceGradient &slice) {
      return slice.dim == dim && slice.offset == offset;
    });
    if (next == slices.end() || parts.size() == slices.size())
      break;
    parts.push_back(next->gradient);
    offset += next->extent;
  }
  Location loc = slices.back().loc;
  if (offset == end && parts.size() == slices.size()) {
    if (parts.size() == 1)
      return parts;
    return {
        ConcatOp::create(builder, loc, parts, builder.getI64IntegerAttr(dim))};
  }
  SmallVector<Value> padded;
  for (const SliceGradient &slice : slices)
    padded.push_back(
        PadOp::create(builder, slice.loc, slice.gradient,
                      builder.getI64IntegerAttr(slice.dim),
                      builder.getStringAttr(slice.offset.str()),
                      builder.getStringAttr(type.getDim(slice.dim).str())));
  return padded;
}

LogicalResult StepBackward::finish() {
  scope = nullptr;
  Block &from = step.getForward().front();
  SmallVector<Value> results;
  DenseSet<Value> seen;
  auto yield = [&](unsigned port, bool isOwnBuffer) -> LogicalResult {
    Value sum = gradients.lookup(from.getArgument(port)).sum;
    if (!sum)
      return block.emitOpError()
             << (ports.isState(port) ? "state '" : "trainable parameter '")
             << ports.name(port)
             << "' reaches no result, so it has no gradient; expected it used";
    // A running sum stays where it is; any other gradient is a value of its
    // own that nothing else is, an incoming gradient least of all.
    bool isShared = isa<BlockArgument>(sum) || !seen.insert(sum).second;
    if (isOwnBuffer && isShared)
      sum = ScaleOp::create(builder, sum.getLoc(), sum,
                            builder.getF64FloatAttr(1.0),
                            builder.getF64FloatAttr(0.0));
    results.push_back(sum);
    return success();
  };
  for (unsigned i = 0; i < ports.numStates(); ++i)
    if (failed(yield(i, true)))
      return failure();
  for (bool isParam : {false, true})
    for (unsigned i = 0; i < ports.size(); ++i)
      if (ports.isSummed(i) && ports.isParam(i) == isParam &&
          failed(yield(i, false)))
        return failure();
  for (unsigned i = ports.firstParam(); i < ports.size(); ++i)
    if (ports.isOwnParam(i) && failed(yield(i, true)))
      return failure();
  YieldOp::create(builder, block.getLoc(), results);
  return success();
}
