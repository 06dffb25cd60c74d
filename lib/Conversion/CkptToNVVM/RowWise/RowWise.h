//===- RowWise.h - the generators of the family -----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A row-wise kernel is a function per sum over rows (its parts), then one per
/// shape of its results: by elements or, where there are norms of that shape,
/// by rows.
///
/// Threads take vectors of neighbours, 16 bytes of the narrowest type where
/// rows allow it; a warp's vectors are neighbours too. What one thread reads of
/// the tensors of the task's own shape is read at once, before anything is
/// stored: so loads overlap, and a result may stand in the place of an argument
/// that is read at the same elements. Positions beyond the end read the last
/// ones again and are not stored.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_ROWWISE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_ROWWISE_H

#include "RowFunction.h"

namespace ckpt::nvptx::rowwise {

/// Element-wise results of one shape.
llvm::LogicalResult generateElements(const Task &task, Code &code);
/// Results of the shape of `norms`, and these norms' statistics.
llvm::LogicalResult
generateNorms(const Task &task, ArrayRef<mlir::Operation *> norms, Code &code);
/// The parts of `task.parts`.
llvm::LogicalResult generateParts(const Task &task, Code &code);

/// Neighbours that a thread takes at a time of rows of `shape`; `values` are
/// the tensors at hand.
unsigned vectorWidth(ArrayRef<rt::Size> shape, ArrayRef<Value> values);
/// All extents but the last, multiplied.
rt::Size rowsOf(ArrayRef<rt::Size> shape);
/// Values of the body that a task's values reach and their results.
SmallVector<Value> valuesOf(const Task &task, const Signature &signature);

/// Sums over `threads` threads, a warp or a block, in a fixed order and known
/// to all of them. `sharedFloats` words of shared memory are taken; these and
/// as many more as there are warps times sums afterwards. A place is used once,
/// so there is one barrier and none before it.
SmallVector<Value> sumOverThreads(GpuBuilder &cb, Value thread, int threads,
                                  ArrayRef<Value> sums, int &sharedFloats);

} // namespace ckpt::nvptx::rowwise

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_ROWWISE_H
