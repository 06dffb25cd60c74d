//===- Passes.h - from kernels to code --------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_CONVERSION_PASSES_H
#define CKPT_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ckpt {

#define GEN_PASS_DECL
#include "ckpt/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ckpt/Conversion/Passes.h.inc"

} // namespace ckpt

#endif // CKPT_CONVERSION_PASSES_H
