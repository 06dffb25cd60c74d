//===- StridedView.h - where an operand lies in memory ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Slices, reshapes and transposes in a kernel's body move nothing: what they
/// give is a part of an argument, read in place. Reshapes and concats behind
/// the op that computes are parts of a result, written in place.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_STRIDEDVIEW_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_STRIDEDVIEW_H

#include "Program/Program.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include <vector>

namespace ckpt::nvptx {

/// Element (i, j, ...) lies at element `offset` + i strides[0] + j strides[1] +
/// ... of the argument.
struct StridedView {
  /// Position in the kernel's reads and writes; -1: nowhere (a result that the
  /// kernel does not yield).
  int argument = -1;
  rt::Size offset;
  std::vector<rt::Size> extents, strides;

  /// A row-major tensor of this shape.
  static StridedView dense(int argument, llvm::ArrayRef<rt::Size> shape);

  StridedView slice(unsigned dim, const rt::Size &begin,
                    const rt::Size &extent) const;
  /// The same elements in the same order under `shape`; nothing when they are
  /// not evenly spaced.
  std::optional<StridedView> reshape(llvm::ArrayRef<rt::Size> shape) const;
  bool isDense() const;
};

/// Where `value` of a kernel's body can be read; nothing when it is computed or
/// not evenly spaced.
std::optional<StridedView> viewOf(mlir::Value value);

/// Where the kernel puts `value`: looks through the reshapes and concats behind
/// it. `argument` is -1 when it is not yielded; nothing when it goes to several
/// places or not evenly spaced.
std::optional<StridedView> resultViewOf(KernelOp kernel, mlir::Value value);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_STRIDEDVIEW_H
