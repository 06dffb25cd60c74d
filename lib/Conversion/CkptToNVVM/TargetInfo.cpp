//===- TargetInfo.cpp - what selection asks of the GPU --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Conversion/TargetInfo.h"
#include "Generators.h"

using namespace ckpt;
using namespace ckpt::nvptx;

rt::Size NvptxTargetInfo::workspaceBytes(KernelOp kernel) const {
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
}
