//===- Thread.h - what a function sees of its thread ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_UNITTESTS_GPUKERNELS_THREAD_H
#define CKPT_UNITTESTS_GPUKERNELS_THREAD_H

#include "mlir/IR/BuiltinOps.h"

#include <cstddef>
#include <cstdint>

namespace ckpt::test {

/// Read by the rewritten code at these offsets.
struct Thread {
  int32_t threadX, blockX, blockY;
  void *shared;
  float (*shuffle)(Thread *, float value, int32_t mask);
  void (*barrier)(Thread *);
  float (*ex2)(Thread *, float);
  float (*rcp)(Thread *, float);
  float (*rsqrt)(Thread *, float);
  float (*tanh)(Thread *, float);
};

/// Gives the functions of `module` their thread as first argument, and replaces
/// what only a GPU has by it.
void rewriteForThisProcessor(mlir::ModuleOp module);

} // namespace ckpt::test

#endif // CKPT_UNITTESTS_GPUKERNELS_THREAD_H
