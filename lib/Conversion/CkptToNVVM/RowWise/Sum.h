//===- Sum.h - sums over rows -----------------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a reduce_sum or an accumulate is shared out. The dimensions that are
/// summed, but for the last, form one range of rows, which is cut into parts.
/// Each part's sum is a tensor of the result's shape in the workspace, f32;
/// who reads the result adds the parts in order. So the bits depend on sizes
/// alone.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_SUM_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_SUM_H

#include "Program/Program.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include <vector>

namespace ckpt::nvptx::rowwise {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

struct Sum {
  explicit Sum(mlir::Operation *op);

  mlir::Operation *op;
  /// What is summed.
  Value x;
  /// Dimensions of x but the last.
  SmallVector<unsigned> summed, kept;
  /// The last dimension is summed too.
  bool sumsColumns = false;
  rt::Size summedRows = 1, keptRows = 1;
  /// Of summed rows; the last part may have fewer.
  rt::Formula parts = 1, rowsPerPart = 1;
  int64_t mostParts = 1;
  /// Of the parts in the workspace, f32 elements.
  rt::Size offset;

  Value result() const { return op->getResult(0); }
  rt::Size resultElements() const;
  /// Each sum is of one element, at its own place: nothing to do before.
  bool isDirect() const;
  rt::Size workspaceElements() const;
};

/// The sums of a kernel, in the order of its body.
std::vector<Sum> sumsOf(KernelOp kernel);

} // namespace ckpt::nvptx::rowwise

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_SUM_H
