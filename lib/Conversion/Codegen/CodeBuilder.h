//===- CodeBuilder.h - loops, loads and sizes -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What code for values of a kernel's body is written in, on every target.
/// Floating-point values are f32 or vectors of f32; narrower types exist in
/// memory only. A target says what its integers and pointers are and how it
/// loads, stores, rounds and computes what no instruction of all targets does.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_CODEBUILDER_H
#define CKPT_LIB_CONVERSION_CODEGEN_CODEBUILDER_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace ckpt::codegen {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

class CodeBuilder {
public:
  /// `indexType`: of coordinates and extents, i64 or i32.
  CodeBuilder(mlir::OpBuilder builder, mlir::Location loc, mlir::Type indexType)
      : b(builder), loc(loc), indexType(indexType) {}
  virtual ~CodeBuilder();

  /// Of the operations below that add and multiply.
  mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;

  mlir::OpBuilder b;
  mlir::Location loc;
  const mlir::Type indexType;
  /// The values of the named sizes, of the index type.
  llvm::StringMap<Value> sizes;

  //===--- Types ----------------------------------------------------------===//
  virtual mlir::Type ptrType() = 0;
  /// f32 for a width of 1, else a vector.
  mlir::Type floatType(unsigned width);
  mlir::Type intType(unsigned width);
  static mlir::Type withWidth(mlir::Type scalar, unsigned width);
  static unsigned widthOf(Value value);

  //===--- Integers -------------------------------------------------------===//
  /// A constant of the index type.
  Value index(int64_t value);
  /// `value` as the i64 that counts elements of memory.
  Value offset(Value value);
  /// The other way: a number that the index type holds.
  Value coordinate(Value value);
  /// Of two integers of one type, as all that follow.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// Of numbers that are not negative.
  Value div(Value x, Value y);
  Value rem(Value x, Value y);
  Value min(Value x, Value y);
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
  /// Rounds to `element`, to nearest, ties to even; a NaN stays one.
  virtual Value roundTo(Value value, mlir::Type element) = 0;
  /// `value` in the form that `store` leaves in memory, if the target has
  /// registers for that; takes less of them until then.
  virtual Value narrow(Value value, mlir::Type element) { return value; }

  /// How exact the functions below must be: as f32, or as what is rounded to
  /// 16 bits afterwards.
  enum class Precision { Full, Half };
  /// No finite or infinite argument gives a NaN or an infinity: what leaves the
  /// range of f32 is replaced by its ends.
  virtual Value exp(Value x, Precision precision) = 0;
  virtual Value reciprocal(Value x) = 0;
  virtual Value reciprocalSqrt(Value x) = 0;
  /// 1 / (1 + exp(-x)) and 1 minus that.
  struct Sigmoid {
    Value value, complement;
  };
  /// Of twice x; where the precision is full, each without cancellation.
  virtual Sigmoid sigmoidOfTwice(Value x, Precision precision);

  //===--- Memory ---------------------------------------------------------===//
  /// `offset` counts elements, as an i64. `aligned`: `offset` is a multiple of
  /// the width. What is stored may be narrow already.
  virtual Value load(Value ptr, Value offset, unsigned width,
                     mlir::Type element, bool aligned) = 0;
  virtual void store(Value value, Value ptr, Value offset, mlir::Type element,
                     bool aligned) = 0;
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
  /// A vector of what `element` gives for each lane (an index).
  virtual Value gather(unsigned width,
                       llvm::function_ref<Value(Value)> element) = 0;
};

inline mlir::Type elementOf(Value tensor) {
  return llvm::cast<TensorType>(tensor.getType()).getElementType();
}
inline TensorType tensorOf(Value tensor) {
  return llvm::cast<TensorType>(tensor.getType());
}

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_CODEBUILDER_H
