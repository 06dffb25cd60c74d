//===- SelectGroups.h - which ops share a kernel ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The decision of `ckpt-select`, apart from its rewriting. It depends on op
/// structure alone: never on a target, a size's value, a fate or a position.
///
/// What the body of a `ckpt.kernel` may be, and so what a target must be able
/// to generate. S is the shape of the anchor's first result, "element-wise"
/// means gelu, gelu_dx, silu, silu_dx, scale, cast, add, sub and mul.
///
///   gemm          one linear, linear_dx or linear_dw, and perhaps a product
///                 of low rank that is added to it (LowRank.h). Operands are
///                 arguments or dense views of arguments (reshapes, slices that
///                 leave the elements contiguous). Then element-wise ops with
///                 result shape S, each reading the value before it at its own
///                 element; their other operands are arguments, strided views
///                 (and widening casts) of arguments, or earlier results of the
///                 group, and broadcast to S.
///   attention_*   one sdpa or sdpa_dx. Operands are arguments or strided views
///                 of arguments. sdpa_dx: perhaps a concat of reshapes of all
///                 of dq, dk and dv.
///   row_wise, one of:
///     a row group   element-wise ops, rope, normalize and at most one of
///                   layer_norm, rms_norm and their _dx, all with result shape
///                   S; operands as above.
///     a sum         one reduce_sum or accumulate; before it element-wise ops,
///                   rope and normalize whose results have the shape of its
///                   operand.
///     a copy        one concat or pad of strided views of arguments, or one
///                   strided view of an argument.
///
/// In every class a result may be a reshape of a value made in the body.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_TRANSFORMS_SELECTGROUPS_H
#define CKPT_TRANSFORMS_SELECTGROUPS_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt {

/// Ops that become one kernel.
struct Group {
  KernelClass kernelClass = KernelClass::RowWise;
  /// The contraction, attention, norm, sum or copy; the first op where there
  /// is none of these.
  mlir::Operation *anchor = nullptr;
  /// Every op, in program order.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// slice, reshape, transpose: other strides over the same memory.
bool isView(mlir::Operation *op);
/// A cast to f32 from less. Exact, so that each reader may do its own.
bool isWideningCast(mlir::Operation *op);
/// gelu, gelu_dx, silu, silu_dx, scale, cast, add, sub, mul.
bool isElementwise(mlir::Operation *op);
/// layer_norm, rms_norm and their backwards.
bool isRowReduction(mlir::Operation *op);
/// reduce_sum, accumulate.
bool isSum(mlir::Operation *op);
/// linear, linear_dx, linear_dw.
bool isContraction(mlir::Operation *op);

/// Every op that can be in a kernel.
bool isFusible(mlir::Operation *op);

/// Gives every reader that can read through a view or a widening cast its own
/// copy of it, removes ops without readers, and so prepares `groupOps`.
void separateViews(mlir::Block &block);

/// The groups of a region of a step after `separateViews`: every tensor op is
/// in one of them, and they stand in an order in which they can run: that of
/// their last ops, wherever that is possible. With `keepScopes`, ops of
/// different boundary regions stay apart, so that a scope can be run again
/// without what lies outside it.
llvm::SmallVector<Group> groupOps(mlir::Block &block, bool keepScopes);

} // namespace ckpt

#endif // CKPT_TRANSFORMS_SELECTGROUPS_H
