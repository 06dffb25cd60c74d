//===- HostBuilder.h - code for the host ------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What every generator is written in. Integers are i64. Nothing depends on the
/// machine but what it is told; bf16 is converted by integer code, f16 by the
/// instructions that x86-64-v3 has for it.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_HOSTBUILDER_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_HOSTBUILDER_H

#include "../Codegen/CodeBuilder.h"

namespace ckpt::host {

using namespace codegen;

/// Lanes of a vector: 256 bits.
constexpr unsigned lanes = 8;

class HostBuilder final : public CodeBuilder {
public:
  HostBuilder(mlir::OpBuilder builder, mlir::Location loc)
      : CodeBuilder(builder, loc, builder.getI64Type()) {}

  mlir::Type ptrType() override;

  //===--- Integers -------------------------------------------------------===//
  Value i64(int64_t value);
  /// The largest multiple of `unit`, a power of two, that is at most / the
  /// smallest that is at least `x`.
  Value roundDown(Value x, int64_t unit);
  Value roundUp(Value x, int64_t unit);

  //===--- Floating point -------------------------------------------------===//
  Value roundTo(Value value, mlir::Type element) override;
  Value exp(Value x, Precision precision) override;
  Value reciprocal(Value x) override;
  Value reciprocalSqrt(Value x) override;

  //===--- Memory ---------------------------------------------------------===//
  /// `offset` f32 after `ptr`.
  Value advance(Value ptr, Value offset);
  Value load(Value ptr, Value offset, unsigned width, mlir::Type element,
             bool aligned) override;
  void store(Value value, Value ptr, Value offset, mlir::Type element,
             bool aligned) override;
  /// The same for f32.
  Value load(Value ptr, Value offset, unsigned width = 1);
  void store(Value value, Value ptr, Value offset);

  //===--- Control --------------------------------------------------------===//
  Value gather(unsigned width,
               llvm::function_ref<Value(Value)> element) override;
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

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_HOSTBUILDER_H
