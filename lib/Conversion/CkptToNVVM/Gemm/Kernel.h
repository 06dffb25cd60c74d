//===- Kernel.h - a product as a persistent kernel --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_KERNEL_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_KERNEL_H

#include "../Generators.h"
#include "Signature.h"

namespace ckpt::nvptx::gemm {

/// Tiles of `shape`, one block a multiprocessor.
llvm::FailureOr<Function> makeKernel(const Problem &problem,
                                     const TileShape &shape,
                                     const Signature &signature,
                                     const std::string &symbol);

constexpr int reductionThreads = 256;
/// Elements that a thread of the reduction makes.
int reductionWidthOf(const Problem &problem);
/// Adds the parts up in order, then the element-wise ops.
llvm::FailureOr<Function> makeReduction(const Problem &problem,
                                        const Signature &signature,
                                        const std::string &symbol);

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_KERNEL_H
