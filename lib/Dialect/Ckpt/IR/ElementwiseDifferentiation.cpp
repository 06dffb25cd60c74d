//===- ElementwiseDifferentiation.cpp - backwards of the small ops --------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `DifferentiableOpInterface` of the elementwise and the shape ops. Where an
/// operand was broadcast the contribution keeps the result's shape: the driver
/// sums it down.
///
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

using namespace mlir;
using namespace ckpt;

using SavedFn = llvm::function_ref<Value(Value)>;

static ckpt::TensorType typeOf(Value value) {
  return cast<ckpt::TensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

SmallVector<Value> CastOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> CastOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                         SavedFn, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  return {CastOp::create(builder, getLoc(), grads[0],
                         TypeAttr::get(typeOf(getX()).getElementType()))};
}

SmallVector<Value> ScaleOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> ScaleOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                          SavedFn, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  if (getFactor().convertToDouble() == 1.0)
    return {grads[0]};
  return {ScaleOp::create(builder, getLoc(), grads[0], getFactorAttr(),
                          builder.getF64FloatAttr(0.0))};
}

SmallVector<Value> SiluOp::getBackwardReads(ArrayRef<bool> needed) {
  if (!needed[0])
    return {};
  return {getX()};
}

SmallVector<Value> SiluOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                         SavedFn saved, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  return {SiluDxOp::create(builder, getLoc(), grads[0], saved(getX()))};
}

SmallVector<Value> GeluOp::getBackwardReads(ArrayRef<bool> needed) {
  if (!needed[0])
    return {};
  return {getX()};
}

SmallVector<Value> GeluOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                         SavedFn saved, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  return {GeluDxOp::create(builder, getLoc(), grads[0], saved(getX()),
                           getApproximateAttr())};
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

SmallVector<Value> AddOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> AddOp::buildBackward(OpBuilder &, ValueRange grads, SavedFn,
                                        ArrayRef<bool> needed) {
  return {needed[0] ? grads[0] : Value(), needed[1] ? grads[0] : Value()};
}

SmallVector<Value> SubOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> SubOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                        SavedFn, ArrayRef<bool> needed) {
  SmallVector<Value> contributions(2);
  if (needed[0])
    contributions[0] = grads[0];
  if (needed[1])
    contributions[1] = ScaleOp::create(builder, getLoc(), grads[0],
                                       builder.getF64FloatAttr(-1.0),
                                       builder.getF64FloatAttr(0.0));
  return contributions;
}

SmallVector<Value> MulOp::getBackwardReads(ArrayRef<bool> needed) {
  SmallVector<Value> reads;
  if (needed[0])
    reads.push_back(getRhs());
  if (needed[1])
    reads.push_back(getLhs());
  return reads;
}

SmallVector<Value> MulOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                        SavedFn saved, ArrayRef<bool> needed) {
  SmallVector<Value> contributions(2);
  if (needed[0])
    contributions[0] =
        MulOp::create(builder, getLoc(), grads[0], saved(getRhs()));
  if (needed[1])
    contributions[1] =
        MulOp::create(builder, getLoc(), grads[0], saved(getLhs()));
  return contributions;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

SmallVector<Value> ConcatOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> ConcatOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                           SavedFn, ArrayRef<bool> needed) {
  SmallVector<Value> contributions(needed.size());
  rt::Size offset = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    rt::Size extent = typeOf(input).getDim(getDim());
    if (needed[i])
      contributions[i] =
          SliceOp::create(builder, getLoc(), grads[0], getDimAttr(),
                          builder.getStringAttr(offset.str()),
                          builder.getStringAttr(extent.str()));
    offset += extent;
  }
  return contributions;
}

SmallVector<Value> SliceOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> SliceOp::buildBackward(OpBuilder &builder, ValueRange grads,
                                          SavedFn, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  std::string extent = typeOf(getX()).getDim(getDim()).str();
  return {PadOp::create(builder, getLoc(), grads[0], getDimAttr(),
                        getOffsetAttr(), builder.getStringAttr(extent))};
}

SmallVector<Value> ReshapeOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> ReshapeOp::buildBackward(OpBuilder &builder,
                                            ValueRange grads, SavedFn,
                                            ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  ArrayRef<StringAttr> dims = typeOf(getX()).getDims();
  SmallVector<Attribute> shape(dims.begin(), dims.end());
  return {ReshapeOp::create(builder, getLoc(), grads[0],
                            builder.getArrayAttr(shape))};
}

SmallVector<Value> TransposeOp::getBackwardReads(ArrayRef<bool>) { return {}; }

SmallVector<Value> TransposeOp::buildBackward(OpBuilder &builder,
                                              ValueRange grads, SavedFn,
                                              ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, from] : llvm::enumerate(getPermutation()))
    inverse[from] = i;
  return {TransposeOp::create(builder, getLoc(), grads[0],
                              builder.getDenseI64ArrayAttr(inverse))};
}
