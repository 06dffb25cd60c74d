//===- TargetInfo.cpp - what selection asks of the host -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Conversion/TargetInfo.h"
#include "Generators.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

rt::Size HostTargetInfo::workspaceBytes(KernelOp kernel) const {
  auto elements = [&]() -> rt::Size {
    switch (kernel.getKernelClass()) {
    case KernelClass::Gemm:
      return gemmWorkspace(kernel);
    case KernelClass::AttentionForward:
      return attentionForwardWorkspace(kernel);
    case KernelClass::AttentionBackward:
      return attentionBackwardWorkspace(kernel);
    case KernelClass::RowWise:
      return rowWiseWorkspace(kernel);
    }
    return 0;
  };
  return elements() * rt::Size(4);
}
