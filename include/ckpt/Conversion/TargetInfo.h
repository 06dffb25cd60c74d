//===- TargetInfo.h - what selection asks of a target -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_CONVERSION_TARGETINFO_H
#define CKPT_CONVERSION_TARGETINFO_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt {

/// What planning must know about the code that a target makes of a kernel.
/// Which ops form a kernel is the same for every target.
class TargetInfo {
public:
  virtual ~TargetInfo();

  /// Scratch memory that the kernel needs while it runs, bytes.
  virtual rt::Size workspaceBytes(KernelOp kernel) const = 0;

  /// Whether the kernel still computes the same bits when its result number
  /// `result` is written over its argument number `operand` (same address,
  /// element for element). Conservative; speaks of one pair at a time, so no
  /// argument may be given away twice.
  ///
  /// It is about the body, not about a target, since all code keeps to this:
  ///   - elements of a result are stored by who has read the arguments at these
  ///     elements (or at their row, in a norm) before, and nobody reads them
  ///     later;
  ///   - what reads an argument elsewhere than at the element of the result
  ///     (sums, results of another shape) may run before, after or beside.
  bool mayAlias(KernelOp kernel, unsigned operand, unsigned result) const;
};

/// Code for x86-64-v3 processors, see lib/Conversion/CkptToHost.
class HostTargetInfo : public TargetInfo {
public:
  rt::Size workspaceBytes(KernelOp kernel) const override;
};

/// Code for NVIDIA GPUs, see lib/Conversion/CkptToNVVM.
class NvptxTargetInfo : public TargetInfo {
public:
  rt::Size workspaceBytes(KernelOp kernel) const override;
};

} // namespace ckpt

#endif // CKPT_CONVERSION_TARGETINFO_H
