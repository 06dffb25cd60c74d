//===- Generators.h - one generator per kernel class ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each class has a generator, the workspace that its code uses, and the
/// arguments in whose place it may write.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_GENERATORS_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_GENERATORS_H

#include "KernelFrame.h"

namespace ckpt::host {

llvm::LogicalResult emitGemm(KernelFrame &frame);
llvm::LogicalResult emitAttentionForward(KernelFrame &frame);
llvm::LogicalResult emitAttentionBackward(KernelFrame &frame);
llvm::LogicalResult emitRowWise(KernelFrame &frame);

/// f32 elements.
rt::Size gemmWorkspace(KernelOp kernel);
rt::Size attentionForwardWorkspace(KernelOp kernel);
rt::Size attentionBackwardWorkspace(KernelOp kernel);
rt::Size rowWiseWorkspace(KernelOp kernel);

/// The first op of one of these types.
template <typename... Ops>
mlir::Operation *findOp(KernelOp kernel) {
  for (mlir::Operation &op : kernel.getBody().front())
    if (llvm::isa<Ops...>(op))
      return &op;
  return nullptr;
}

/// Gives pieces of the workspace away, one after the other.
class Workspace {
public:
  Workspace(HostBuilder &hb, Value base) : hb(hb), base(base) {}
  /// `elements` f32.
  Value take(const rt::Size &elements) {
    Value piece = hb.advance(base, hb.size(used));
    used += elements;
    return piece;
  }

private:
  HostBuilder &hb;
  Value base;
  rt::Size used;
};

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_GENERATORS_H
