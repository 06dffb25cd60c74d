//===- Folders.cpp - what tensor ops fold to, and checks of numbers -------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "SizeText.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ckpt;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

LogicalResult SdpaOp::verify() {
  // sdpa_c5
  if (std::optional<APFloat> scale = getScale(); scale && !scale->isFinite())
    return emitOpError("expected a finite scale, got ") << getScaleAttr();
  return success();
}

static LogicalResult verifyEps(Operation *op, FloatAttr eps) {
  APFloat value = eps.getValue();
  if (!value.isFinite() || (value.isNegative() && !value.isZero()))
    return op->emitOpError("expected eps to be finite and not negative, got ")
           << eps;
  return success();
}

LogicalResult LayerNormOp::verify() {
  // layer_norm_c3
  if (failed(verifyEps(*this, getEpsAttr())))
    return failure();
  // layer_norm_c4
  if (getBias() && !getWeight())
    return emitOpError("expected a weight beside the bias");
  return success();
}

LogicalResult RmsNormOp::verify() {
  // rms_norm_c3
  return verifyEps(*this, getEpsAttr());
}

LogicalResult ScaleOp::verify() {
  // scale_c1
  if (!getFactor().isFinite() || !getOffset().isFinite())
    return emitOpError("expected a finite factor and offset, got ")
           << getFactorAttr() << " and " << getOffsetAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// A block or a boundary region returns what an op in it makes, so a result
/// that is returned stays.
static bool mayBecomeOperand(Value result) {
  return llvm::none_of(result.getUsers(), [](Operation *user) {
    return isa<ReturnOp, YieldOp>(user);
  });
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (!mayBecomeOperand(getY()))
    return {};
  if (getX().getType() == getY().getType())
    return getX();
  // To f32 nothing is lost.
  auto inner = getX().getDefiningOp<CastOp>();
  if (inner && inner.getX().getType() == getY().getType() &&
      getX().getType().getElementType().isF32())
    return inner.getX();
  return {};
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  if (mayBecomeOperand(getY()) && getFactor().isExactlyValue(1.0) &&
      getOffset().isZero())
    return getX();
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (mayBecomeOperand(getY()) && getInputs().size() == 1)
    return getInputs().front();
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // Of the same extent: then the offset is 0, or the slice is out of bounds.
  std::optional<rt::Size> offset = sizeOf(getOffsetAttr());
  if (mayBecomeOperand(getY()) && getX().getType() == getY().getType() &&
      offset && offset->isConstant(0))
    return getX();
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (mayBecomeOperand(getY()) && getX().getType() == getY().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getY();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> outer = getPermutation();
  if (mayBecomeOperand(getY()) &&
      llvm::equal(outer, llvm::seq<int64_t>(0, outer.size())))
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> both;
    for (int64_t dim : outer)
      both.push_back(inner.getPermutation()[dim]);
    setPermutation(both);
    getXMutable().assign(inner.getX());
    return getY();
  }
  return {};
}
