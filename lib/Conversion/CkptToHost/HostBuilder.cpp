//===- HostBuilder.cpp - code for the host --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "HostBuilder.h"
#include "VectorMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

Type HostBuilder::ptrType() {
  return LLVM::LLVMPointerType::get(b.getContext());
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value HostBuilder::i64(int64_t value) { return index(value); }
Value HostBuilder::roundDown(Value x, int64_t unit) {
  return b.createOrFold<arith::AndIOp>(loc, x, i64(-unit));
}
Value HostBuilder::roundUp(Value x, int64_t unit) {
  return roundDown(add(x, i64(unit - 1)), unit);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

/// The bits of the bf16 next to `value`, in the upper half.
static Value bf16Bits(HostBuilder &hb, Value value) {
  OpBuilder &b = hb.b;
  unsigned width = HostBuilder::widthOf(value);
  Value bits = arith::BitcastOp::create(b, hb.loc, hb.intType(width), value);
  Value lowest = arith::AndIOp::create(
      b, hb.loc, arith::ShRUIOp::create(b, hb.loc, bits, hb.i32(16, width)),
      hb.i32(1, width));
  Value rounded = arith::AddIOp::create(
      b, hb.loc, bits,
      arith::AddIOp::create(b, hb.loc, lowest, hb.i32(0x7fff, width)));
  // Rounding could carry a NaN over to infinity or zero.
  Value quiet = arith::OrIOp::create(b, hb.loc, bits, hb.i32(0x400000, width));
  Value isNaN =
      arith::CmpFOp::create(b, hb.loc, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(b, hb.loc, isNaN, quiet, rounded);
}

Value HostBuilder::roundTo(Value value, Type element) {
  if (element.isF32())
    return value;
  unsigned width = widthOf(value);
  if (element.isF16()) {
    Value half =
        arith::TruncFOp::create(b, loc, withWidth(element, width), value);
    return arith::ExtFOp::create(b, loc, value.getType(), half);
  }
  Value bits = arith::AndIOp::create(b, loc, bf16Bits(*this, value),
                                     i32(int32_t(0xffff0000), width));
  return arith::BitcastOp::create(b, loc, floatType(width), bits);
}

Value HostBuilder::exp(Value x, Precision) { return emitExp(*this, x); }
Value HostBuilder::reciprocal(Value x) { return fdiv(f32(1, widthOf(x)), x); }
Value HostBuilder::reciprocalSqrt(Value x) {
  return reciprocal(math::SqrtOp::create(b, loc, x));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value HostBuilder::advance(Value ptr, Value offset) {
  return LLVM::GEPOp::create(b, loc, ptrType(), b.getF32Type(), ptr,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value HostBuilder::load(Value ptr, Value offset, unsigned width, Type element,
                        bool) {
  if (element.isF32()) {
    Value at = advance(ptr, offset);
    return LLVM::LoadOp::create(b, loc, floatType(width), at, /*alignment=*/4);
  }
  Value at = LLVM::GEPOp::create(b, loc, ptrType(), b.getI16Type(), ptr,
                                 ArrayRef<LLVM::GEPArg>{offset});
  Value half = LLVM::LoadOp::create(b, loc, withWidth(b.getI16Type(), width),
                                    at, /*alignment=*/2);
  if (element.isF16()) {
    Value value =
        arith::BitcastOp::create(b, loc, withWidth(element, width), half);
    return arith::ExtFOp::create(b, loc, floatType(width), value);
  }
  Value wide = arith::ExtUIOp::create(b, loc, intType(width), half);
  Value bits = arith::ShLIOp::create(b, loc, wide, i32(16, width));
  return arith::BitcastOp::create(b, loc, floatType(width), bits);
}

void HostBuilder::store(Value value, Value ptr, Value offset, Type element,
                        bool) {
  if (element.isF32()) {
    LLVM::StoreOp::create(b, loc, value, advance(ptr, offset),
                          /*alignment=*/4);
    return;
  }
  unsigned width = widthOf(value);
  Type bitsType = withWidth(b.getI16Type(), width);
  Value half;
  if (element.isF16()) {
    half = arith::TruncFOp::create(b, loc, withWidth(element, width), value);
    half = arith::BitcastOp::create(b, loc, bitsType, half);
  } else {
    half =
        arith::ShRUIOp::create(b, loc, bf16Bits(*this, value), i32(16, width));
    half = arith::TruncIOp::create(b, loc, bitsType, half);
  }
  Value at = LLVM::GEPOp::create(b, loc, ptrType(), b.getI16Type(), ptr,
                                 ArrayRef<LLVM::GEPArg>{offset});
  LLVM::StoreOp::create(b, loc, half, at, /*alignment=*/2);
}

Value HostBuilder::load(Value ptr, Value offset, unsigned width) {
  return load(ptr, offset, width, b.getF32Type(), /*aligned=*/false);
}
void HostBuilder::store(Value value, Value ptr, Value offset) {
  store(value, ptr, offset, b.getF32Type(), /*aligned=*/false);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Value HostBuilder::gather(unsigned width,
                          llvm::function_ref<Value(Value)> element) {
  return loop(i64(0), i64(width), 1, f32(0, width),
              [&](Value lane, ValueRange vectors) -> SmallVector<Value> {
                Value value = element(lane);
                Value position =
                    arith::IndexCastOp::create(b, loc, b.getIndexType(), lane);
                return {vector::InsertOp::create(b, loc, value, vectors[0],
                                                 OpFoldResult(position))};
              })[0];
}

void HostBuilder::columns(Value extent,
                          llvm::function_ref<void(Value, unsigned)> body) {
  std::optional<int64_t> constant = getConstantIntValue(extent);
  Value whole =
      constant ? i64(*constant / lanes * lanes) : roundDown(extent, lanes);
  if (!constant || *constant >= lanes)
    loop(i64(0), whole, lanes, [&](Value at) { body(at, lanes); });
  if (!constant || *constant % lanes)
    loop(whole, extent, 1, [&](Value at) { body(at, 1); });
}

SmallVector<Value> HostBuilder::reduceColumns(
    Value extent, ArrayRef<double> inits,
    llvm::function_ref<SmallVector<Value>(Value, unsigned, ValueRange)> body,
    llvm::function_ref<Value(Value)> joinLanes) {
  std::optional<int64_t> constant = getConstantIntValue(extent);
  Value whole =
      constant ? i64(*constant / lanes * lanes) : roundDown(extent, lanes);
  SmallVector<Value> results;
  for (double init : inits)
    results.push_back(f32(init));
  if (!constant || *constant >= lanes) {
    SmallVector<Value> vectors;
    for (double init : inits)
      vectors.push_back(f32(init, lanes));
    vectors =
        loop(i64(0), whole, lanes, vectors, [&](Value at, ValueRange carried) {
          return body(at, lanes, carried);
        });
    for (auto [result, vector] : llvm::zip(results, vectors))
      result = joinLanes(vector);
  }
  if (!constant || *constant % lanes)
    results =
        loop(whole, extent, 1, results, [&](Value at, ValueRange carried) {
          return body(at, 1, carried);
        });
  return results;
}

void HostBuilder::nest(ArrayRef<Value> extents,
                       llvm::function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<Value> at;
  std::function<void()> inner = [&] {
    if (at.size() == extents.size())
      return body(at);
    if (isConstantIntValue(extents[at.size()], 1)) {
      at.push_back(i64(0));
      inner();
      at.pop_back();
      return;
    }
    loop(i64(0), extents[at.size()], 1, [&](Value index) {
      at.push_back(index);
      inner();
      at.pop_back();
    });
  };
  inner();
}
