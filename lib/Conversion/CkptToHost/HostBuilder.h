//===- HostBuilder.h - loops, loads and sizes -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What every generator is written in. Integers are i64 and count elements,
/// floating-point values are f32 or vectors of f32; bf16 exists in memory only.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_HOSTBUILDER_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_HOSTBUILDER_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace ckpt::host {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

/// Lanes of a vector: 256 bits.
constexpr unsigned lanes = 8;

class HostBuilder {
public:
  HostBuilder(mlir::OpBuilder builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  mlir::OpBuilder b;
  mlir::Location loc;
  /// The values of the named sizes.
  llvm::StringMap<Value> sizes;

  //===--- Types ----------------------------------------------------------===//
  mlir::Type ptrType();
  /// f32 for a width of 1, else a vector.
  mlir::Type floatType(unsigned width);
  mlir::Type intType(unsigned width);
  static unsigned widthOf(Value value);

  //===--- Integers -------------------------------------------------------===//
  Value i64(int64_t value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// Of numbers that are not negative.
  Value div(Value x, Value y);
  Value rem(Value x, Value y);
  Value min(Value x, Value y);
  /// The largest multiple of `unit`, a power of two, that is at most / the
  /// smallest that is at least `x`.
  Value roundDown(Value x, int64_t unit);
  Value roundUp(Value x, int64_t unit);
  Value less(Value x, Value y);
  Value size(const rt::Size &size);

  //===--- Floating point -------------------------------------------------===//
  Value f32(double value, unsigned width = 1);
  Value i32(int32_t value, unsigned width = 1);
  Value splat(Value scalar, unsigned width);
  Value fadd(Value x, Value y);
  Value fsub(Value x, Value y);
  Value fmul(Value x, Value y);
  Value fdiv(Value x, Value y);
  /// x y + z with one rounding.
  Value fma(Value x, Value y, Value z);
  /// `y` where one is not a number.
  Value fmax(Value x, Value y);
  Value shuffle(Value x, Value y, ArrayRef<int64_t> mask);
  /// The lanes of a vector together, in a fixed order.
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);
  /// Rounds to bf16, to nearest, ties to even; a NaN stays one.
  Value roundToBF16(Value value);

  //===--- Memory ---------------------------------------------------------===//
  /// `offset` f32 after `ptr`.
  Value advance(Value ptr, Value offset);
  Value load(Value ptr, Value offset, unsigned width, mlir::Type element);
  void store(Value value, Value ptr, Value offset, mlir::Type element);
  /// The same for f32.
  Value load(Value ptr, Value offset, unsigned width = 1);
  void store(Value value, Value ptr, Value offset);
  Value isNotNull(Value ptr);

  //===--- Control --------------------------------------------------------===//
  void loop(Value begin, Value end, int64_t step,
            llvm::function_ref<void(Value)> body);
  SmallVector<Value>
  loop(Value begin, Value end, int64_t step, ArrayRef<Value> inits,
       llvm::function_ref<SmallVector<Value>(Value, mlir::ValueRange)> body);
  void ifThen(Value condition, llvm::function_ref<void()> then);
  Value select(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);
  /// Covers [0, extent): `body(at, lanes)` as often as it fits, then
  /// `body(at, 1)`. What a constant extent excludes is not built.
  void columns(Value extent, llvm::function_ref<void(Value, unsigned)> body);
  /// The same, with values carried from one step to the next: `body` gets and
  /// gives as many as there are `inits`, of the width that it is told. The
  /// lanes are joined by `joinLanes` before the last elements.
  SmallVector<Value> reduceColumns(
      Value extent, ArrayRef<double> inits,
      llvm::function_ref<SmallVector<Value>(Value, unsigned, mlir::ValueRange)>
          body,
      llvm::function_ref<Value(Value)> joinLanes);
  /// Nested loops over all indices below `extents`.
  void nest(ArrayRef<Value> extents,
            llvm::function_ref<void(ArrayRef<Value>)> body);
};

inline mlir::Type elementOf(Value tensor) {
  return llvm::cast<TensorType>(tensor.getType()).getElementType();
}
inline TensorType tensorOf(Value tensor) {
  return llvm::cast<TensorType>(tensor.getType());
}

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_HOSTBUILDER_H
