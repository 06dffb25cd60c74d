//===- RowNorms.cpp - norms and their gradients ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "RowNorms.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::codegen;

RowNorms::~RowNorms() = default;

void RowNorms::emit(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case<LayerNormOp, RmsNormOp>([&](auto norm) { emitNorm(norm); })
      .Case<LayerNormDxOp, RmsNormDxOp>([&](auto norm) { emitNormDx(norm); });
}

Index RowNorms::at(Value column, unsigned width) const {
  Index index;
  index.at.assign(row.begin(), row.end());
  index.at.push_back(column);
  index.width = width;
  return index;
}

/// Elements of another row than this one have no statistics here.
bool RowNorms::isThisRow(const Index &index) const {
  return ArrayRef<Value>(index.at).drop_back() == ArrayRef<Value>(row);
}

/// (x - mean) r; `mean` may be null.
Value RowNorms::normalized(Value x, Value mean, Value r) {
  unsigned width = CodeBuilder::widthOf(x);
  if (mean)
    x = cb.fsub(x, cb.splat(mean, width));
  return cb.fmul(x, cb.splat(r, width));
}

/// An operand that broadcasts to the norm's result.
Value RowNorms::parameter(Value operand, Value result, const Index &index) {
  Index mapped = values.broadcast(tensorOf(operand), tensorOf(result), index);
  return cb.splat(values.emit(operand, mapped), index.width);
}

/// Statistics are written before the elements, which may take x's place.
void RowNorms::writeStats(Value tensor, ArrayRef<Value> stats) {
  SmallVector<const Sink *> group;
  for (const Sink &sink : results.sinks)
    if (sink.root == tensor)
      group.push_back(&sink);
  if (group.empty())
    return;
  once([&] {
    for (auto [i, value] : llvm::enumerate(stats)) {
      Index index = at(cb.index(i), 1);
      bindElements(values, tensor, index, value);
      results.write(group, index);
    }
  });
}

template <typename NormOp>
void RowNorms::emitNorm(NormOp op) {
  constexpr bool centered = std::is_same_v<NormOp, LayerNormOp>;
  Value x = op.getX(), mean;
  if (centered)
    mean = means(1, [&](const Index &index) -> SmallVector<Value> {
      return {values.emit(x, index)};
    })[0];
  Value square = means(1, [&](const Index &index) -> SmallVector<Value> {
    Value element = values.emit(x, index);
    if (mean)
      element = cb.fsub(element, cb.splat(mean, index.width));
    return {cb.fmul(element, element)};
  })[0];
  Value r =
      cb.reciprocalSqrt(cb.fadd(square, cb.f32(op.getEps().convertToDouble())));

  Value result = op.getY(), weight = op.getWeight(), bias;
  if constexpr (centered)
    bias = op.getBias();
  values.bind(result, [=](const Index &index) -> Value {
    if (!isThisRow(index))
      return values.reject(op, index.width);
    Value y = normalized(values.emit(x, index), mean, r);
    if (weight)
      y = cb.fmul(y, parameter(weight, result, index));
    if (bias)
      y = cb.fadd(y, parameter(bias, result, index));
    return y;
  });
  if (!op.getStats())
    return;
  SmallVector<Value> stats = {r};
  if (mean)
    stats.insert(stats.begin(), mean);
  writeStats(op.getStats(), stats);
}

template <typename NormDxOp>
void RowNorms::emitNormDx(NormDxOp op) {
  constexpr bool centered = std::is_same_v<NormDxOp, LayerNormDxOp>;
  Value dy = op.getDy(), x = op.getX(), weight = op.getWeight(),
        result = op.getDx(), mean;
  if (centered)
    mean = values.emit(op.getStats(), at(cb.index(0), 1));
  Value r = values.emit(op.getStats(), at(cb.index(centered ? 1 : 0), 1));
  auto gradient = [=](const Index &index) -> Value {
    Value g = values.emit(dy, index);
    if (weight)
      g = cb.fmul(g, parameter(weight, result, index));
    return g;
  };
  auto xhat = [=](const Index &index) -> Value {
    return normalized(values.emit(x, index), mean, r);
  };
  SmallVector<Value> projections =
      means(centered ? 2 : 1, [&](const Index &index) -> SmallVector<Value> {
        Value g = gradient(index);
        SmallVector<Value> terms = {cb.fmul(g, xhat(index))};
        if (centered)
          terms.push_back(g);
        return terms;
      });
  values.bind(result, [=](const Index &index) -> Value {
    if (!isThisRow(index))
      return values.reject(op, index.width);
    unsigned width = index.width;
    Value dx = gradient(index);
    if (centered)
      dx = cb.fsub(dx, cb.splat(projections[1], width));
    dx = cb.fsub(dx, cb.fmul(xhat(index), cb.splat(projections[0], width)));
    return cb.fmul(dx, cb.splat(r, width));
  });
}
