//===- KernelFrame.h - what all generators start from -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel's function with its arguments bound, and where its results go.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_KERNELFRAME_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_KERNELFRAME_H

#include "../Codegen/Results.h"
#include "HostBuilder.h"

namespace ckpt::host {

class KernelFrame : public Results {
public:
  KernelFrame(KernelOp kernel, HostBuilder &hb, Evaluator &values,
              Value workspace, SmallVector<Value> results)
      : Results(kernel, hb, values, std::move(results)), hb(hb),
        workspace(workspace) {}

  HostBuilder &hb;
  Value workspace;
};

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_KERNELFRAME_H
