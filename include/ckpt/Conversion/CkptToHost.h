//===- CkptToHost.h - kernels as code for the host --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_CONVERSION_CKPTTOHOST_H
#define CKPT_CONVERSION_CKPTTOHOST_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ckpt {

/// Makes every `ckpt.kernel` of `module` into
///   void symbol(void *const *args, const int64_t *sizes, void *workspace)
/// and all of them into one shared object, whose bytes go to `object`.
/// `sizeNames` says in which order `sizes` holds the named sizes. The bits that
/// a kernel computes depend neither on the machine nor on which outputs are
/// asked for. Kernels compile in parallel; `progress` is called once per kernel
/// that is done, never from two threads at once. Emits a diagnostic on failure.
llvm::LogicalResult compileHostKernels(
    mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> sizeNames,
    llvm::SmallVectorImpl<uint8_t> &object,
    llvm::function_ref<void(unsigned done, unsigned total)> progress = nullptr);

/// Replaces `kernel` by an `llvm.func` of the ABI above whose body is made of
/// the llvm, scf, arith, math and vector dialects.
llvm::LogicalResult
convertKernelToHost(KernelOp kernel, llvm::ArrayRef<llvm::StringRef> sizeNames);

} // namespace ckpt

#endif // CKPT_CONVERSION_CKPTTOHOST_H
