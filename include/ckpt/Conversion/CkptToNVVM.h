//===- CkptToNVVM.h - kernels as code for NVIDIA GPUs -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_CONVERSION_CKPTTONVVM_H
#define CKPT_CONVERSION_CKPTTONVVM_H

#include "Program/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ckpt {

struct NvptxOptions {
  std::string chip = "sm_90a";
  /// The same bits from run to run and under every schedule. Off, only the
  /// order of additions in the attention backward is free.
  bool deterministic = false;
  enum class Cubin {
    No,         ///< PTX only; the driver compiles it when a step is made
    IfPossible, ///< where there is a ptxas
    Yes         ///< fail without one, and on code that it says will be slow
  } cubin = Cubin::No;
};

/// Gives the kernels of `program`, one per `ckpt.kernel` of `module` in order,
/// their launches, and the program its functions. Functions that read alike are
/// compiled once, in parallel, and kept in a cache on disk; `progress` is
/// called once per function that is done, never from two threads at once.
/// Emits a diagnostic on failure.
llvm::LogicalResult compileNvptxKernels(
    mlir::ModuleOp module, const NvptxOptions &options, rt::Program &program,
    llvm::function_ref<void(unsigned done, unsigned total)> progress = nullptr);

} // namespace ckpt

#endif // CKPT_CONVERSION_CKPTTONVVM_H
