//===- Activations.h - SiLU, GELU and their gradients -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elementary functions on f32 and vectors of it, the same operations whatever
/// the width. At full precision, relative errors are a few units of 2^-24.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_ACTIVATIONS_H
#define CKPT_LIB_CONVERSION_CODEGEN_ACTIVATIONS_H

#include "CodeBuilder.h"

namespace ckpt::codegen {

/// Horner's rule with fused steps, highest power first.
Value polynomial(CodeBuilder &cb, Value x, ArrayRef<double> coefficients);
/// `value` within [low, high]; a NaN stays one.
Value clamp(CodeBuilder &cb, Value value, double low, double high);

Value emitSilu(CodeBuilder &cb, Value x, CodeBuilder::Precision precision);
/// dy silu'(x).
Value emitSiluDx(CodeBuilder &cb, Value dy, Value x,
                 CodeBuilder::Precision precision);
Value emitGelu(CodeBuilder &cb, Value x, GeluKind kind,
               CodeBuilder::Precision precision);
/// dy gelu'(x).
Value emitGeluDx(CodeBuilder &cb, Value dy, Value x, GeluKind kind,
                 CodeBuilder::Precision precision);

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_ACTIVATIONS_H
