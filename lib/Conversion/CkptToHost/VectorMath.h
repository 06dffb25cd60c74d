//===- VectorMath.h - exp and log -------------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elementary functions on f32 and vectors of it, the same operations whatever
/// the width, so the same bits. No call to a library, which would give other
/// bits on other machines. Relative errors are a few units of 2^-24; no
/// finite argument gives a NaN.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_VECTORMATH_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_VECTORMATH_H

#include "HostBuilder.h"

namespace ckpt::host {

/// Saturates: 2^-126 below, 2^127 above.
Value emitExp(HostBuilder &hb, Value x);
/// Natural logarithm of a normal positive number.
Value emitLog(HostBuilder &hb, Value x);

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_VECTORMATH_H
