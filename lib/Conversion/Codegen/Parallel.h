//===- Parallel.h - jobs on all processors ----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_PARALLEL_H
#define CKPT_LIB_CONVERSION_CODEGEN_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ckpt::codegen {

/// Calls `job` for 0 .. `count` - 1, each in one of as many threads as there
/// are processors, and waits for all. `progress`, which may be null, is told
/// after each how many are done and of how many, by one thread at a time.
void runInParallel(unsigned count, llvm::function_ref<void(unsigned)> job,
                   llvm::function_ref<void(unsigned, unsigned)> progress);

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_PARALLEL_H
