//===- SizeText.h - sizes in attributes and types ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_DIALECT_CKPT_IR_SIZETEXT_H
#define CKPT_LIB_DIALECT_CKPT_IR_SIZETEXT_H

#include "Program/Size.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace ckpt {

/// The size that an attribute holds as text; nothing when it is absent or not
/// a size.
std::optional<rt::Size> sizeOf(mlir::StringAttr text);

/// Types hold fewer elements than this (2^56), so that byte and cost formulas
/// stay within 63 bits.
constexpr double maxElements = 72057594037927936.0;

/// The largest value that the coefficients alone can make of the size: the sum
/// of their magnitudes. Bounded in types, so that counting elements does not
/// overflow.
double magnitudeOf(const rt::Size &size);

/// Whether the size is positive for all positive values of its names; nothing
/// when that depends on the values.
std::optional<bool> isPositive(const rt::Size &size);

} // namespace ckpt

#endif // CKPT_LIB_DIALECT_CKPT_IR_SIZETEXT_H
