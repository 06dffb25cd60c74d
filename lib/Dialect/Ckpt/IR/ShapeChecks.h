//===- ShapeChecks.h - what shape rules share -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_DIALECT_CKPT_IR_SHAPECHECKS_H
#define CKPT_LIB_DIALECT_CKPT_IR_SHAPECHECKS_H

#include "SizeText.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt {

using Shape = llvm::SmallVector<rt::Size>;

/// The type of an operand; `runShapeRule` has looked at it.
inline TensorType tensorOf(mlir::Value value) {
  return llvm::cast<TensorType>(value.getType());
}

/// Appends a tensor type when it is a legal one.
llvm::LogicalResult addTensor(const ShapeReport &report,
                              llvm::ArrayRef<rt::Size> shape,
                              mlir::Type elementType,
                              llvm::SmallVectorImpl<mlir::Type> &types);

/// `1 x 8` for messages.
std::string shapeText(llvm::ArrayRef<rt::Size> shape);

/// The shape that both broadcast to: aligned at the last dimension, an extent
/// of 1 or a missing one repeats. Nothing when there is none.
std::optional<Shape> broadcast(llvm::ArrayRef<rt::Size> a,
                               llvm::ArrayRef<rt::Size> b);

/// All operands have the element type of the first one.
llvm::LogicalResult checkSameElementType(const ShapeReport &report,
                                         mlir::ValueRange operands);

/// `0 <= dim < rank`.
llvm::LogicalResult checkDim(const ShapeReport &report, mlir::IntegerAttr dim,
                             unsigned rank);

/// A size in an attribute that is not negative for all values of its names,
/// or whose sign depends on them; `positive`: nor zero.
mlir::FailureOr<rt::Size> checkSize(const ShapeReport &report,
                                    llvm::StringRef name, mlir::StringAttr text,
                                    bool positive);

/// A weight or bias of a norm: one extent, x's last, of x's element type or
/// f32.
llvm::LogicalResult checkNormParameter(const ShapeReport &report,
                                       llvm::StringRef name, TensorType x,
                                       TensorType parameter);

} // namespace ckpt

#endif // CKPT_LIB_DIALECT_CKPT_IR_SHAPECHECKS_H
