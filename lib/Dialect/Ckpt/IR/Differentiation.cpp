//===- Differentiation.cpp - backwards of contractions and norms ----------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `DifferentiableOpInterface` of linear, sdpa, the norms and rope; the rest
/// is in ElementwiseDifferentiation.cpp. `needed` has a flag per operand that
/// is there: an optional operand that is absent has none.
///
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

using namespace mlir;
using namespace ckpt;

using SavedFn = llvm::function_ref<Value(Value)>;

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (cast<ckpt::TensorType>(value.getType()).getElementType() == type)
    return value;
  return CastOp::create(builder, loc, value, TypeAttr::get(type));
}

//===----------------------------------------------------------------------===//
// linear
//===----------------------------------------------------------------------===//

SmallVector<Value> LinearOp::getBackwardReads(ArrayRef<bool> needed) {
  SmallVector<Value> reads;
  if (needed[0])
    reads.push_back(getWeight());
  if (needed[1])
    reads.push_back(getX());
  return reads;
}

SmallVector<Value> LinearOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                           SavedFn saved,
                                           ArrayRef<bool> needed) {
  Value dy = grads[0];
  SmallVector<Value> contributions(needed.size());
  if (needed[0])
    contributions[0] =
        LinearDxOp::create(builder, getLoc(), dy, saved(getWeight()));
  // A sum over all rows: f32 until the driver has added what else there is.
  if (needed[1])
    contributions[1] = LinearDwOp::create(builder, getLoc(), dy, saved(getX()),
                                          TypeAttr::get(builder.getF32Type()));
  if (getBias() && needed[2])
    contributions[2] = dy;
  return contributions;
}

//===----------------------------------------------------------------------===//
// sdpa
//===----------------------------------------------------------------------===//

SmallVector<Value> SdpaOp::getBackwardReads(ArrayRef<bool> needed) {
  if (!llvm::is_contained(needed, true))
    return {};
  return {getQ(), getK(), getV(), getO(), getLse()};
}

SmallVector<Value> SdpaOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                         SavedFn saved, ArrayRef<bool> needed) {
  SmallVector<Value> contributions(needed.size());
  if (!llvm::is_contained(needed, true))
    return contributions;
  auto dx = SdpaDxOp::create(builder, getLoc(), saved(getQ()), saved(getK()),
                             saved(getV()), saved(getO()), saved(getLse()),
                             grads[0], getScaleAttr());
  for (unsigned i = 0; i < 3; ++i)
    if (needed[i])
      contributions[i] = dx->getResult(i);
  return contributions;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Where an optional operand stands in `needed`: weight is 1 when there; a
/// bias follows it.
static bool needsWeight(Value weight, ArrayRef<bool> needed) {
  return weight && needed[1];
}

template <typename NormOp>
static SmallVector<Value> normReads(NormOp op, ArrayRef<bool> needed) {
  SmallVector<Value> reads;
  if (needed[0] || needsWeight(op.getWeight(), needed)) {
    reads.push_back(op.getX());
    reads.push_back(op.getStats());
  }
  if (needed[0] && op.getWeight())
    reads.push_back(op.getWeight());
  return reads;
}

/// Contributions to x and the weight; the rest stays null.
template <typename NormOp, typename NormDxOp>
static SmallVector<Value> normBackward(NormOp op, OpBuilder &builder, Value dy,
                                       SavedFn saved, ArrayRef<bool> needed) {
  Location loc = op.getLoc();
  SmallVector<Value> contributions(needed.size());
  if (needed[0])
    contributions[0] = NormDxOp::create(
        builder, loc, dy, saved(op.getX()), saved(op.getStats()),
        op.getWeight() ? saved(op.getWeight()) : Value());
  if (needsWeight(op.getWeight(), needed)) {
    Value xhat = NormalizeOp::create(builder, loc, saved(op.getX()),
                                     saved(op.getStats()));
    Value wide = castTo(builder, loc, dy, builder.getF32Type());
    contributions[1] = MulOp::create(builder, loc, wide, xhat);
  }
  return contributions;
}

SmallVector<Value> LayerNormOp::getBackwardReads(ArrayRef<bool> needed) {
  return normReads(*this, needed);
}

SmallVector<Value> LayerNormOp::buildBackward(OpBuilder &builder,
                                              ValueRange grads, SavedFn saved,
                                              ArrayRef<bool> needed) {
  SmallVector<Value> contributions = normBackward<LayerNormOp, LayerNormDxOp>(
      *this, builder, grads[0], saved, needed);
  if (getBias() && needed.back())
    contributions.back() = grads[0];
  return contributions;
}

SmallVector<Value> RmsNormOp::getBackwardReads(ArrayRef<bool> needed) {
  return normReads(*this, needed);
}

SmallVector<Value> RmsNormOp::buildBackward(OpBuilder &builder,
                                            ValueRange grads, SavedFn saved,
                                            ArrayRef<bool> needed) {
  return normBackward<RmsNormOp, RmsNormDxOp>(*this, builder, grads[0], saved,
                                              needed);
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

SmallVector<Value> RopeOp::getBackwardReads(ArrayRef<bool> needed) {
  if (!needed[0])
    return {};
  return {getCos(), getSin()};
}

SmallVector<Value> RopeOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                         SavedFn saved, ArrayRef<bool> needed) {
  // Tables have no gradient: the driver refuses one that needs it.
  SmallVector<Value> contributions(needed.size());
  if (needed[0])
    contributions[0] = RopeOp::create(
        builder, getLoc(), grads[0], saved(getCos()), saved(getSin()),
        getInverse() ? UnitAttr() : builder.getUnitAttr());
  return contributions;
}
