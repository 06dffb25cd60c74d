//===- Passes.h - from block IR to a planned step ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TRANSFORMS_PASSES_H
#define CKPT_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ckpt {

#define GEN_PASS_DECL
#include "ckpt/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ckpt/Transforms/Passes.h.inc"

} // namespace ckpt

#endif // CKPT_TRANSFORMS_PASSES_H
