//===- HostBuilder.cpp - loops, loads and sizes ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "HostBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type HostBuilder::ptrType() {
  return LLVM::LLVMPointerType::get(b.getContext());
}

static Type withWidth(Type scalar, unsigned width) {
  return width == 1 ? scalar : VectorType::get({int64_t(width)}, scalar);
}

Type HostBuilder::floatType(unsigned width) {
  return withWidth(b.getF32Type(), width);
}

Type HostBuilder::intType(unsigned width) {
  return withWidth(b.getI32Type(), width);
}

unsigned HostBuilder::widthOf(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value HostBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}
Value HostBuilder::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value HostBuilder::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}
Value HostBuilder::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}
Value HostBuilder::div(Value x, Value y) {
  return b.createOrFold<arith::DivUIOp>(loc, x, y);
}
Value HostBuilder::rem(Value x, Value y) {
  return b.createOrFold<arith::RemUIOp>(loc, x, y);
}
Value HostBuilder::min(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(loc, x, y);
}
Value HostBuilder::roundDown(Value x, int64_t unit) {
  return b.createOrFold<arith::AndIOp>(loc, x, i64(-unit));
}
Value HostBuilder::roundUp(Value x, int64_t unit) {
  return roundDown(add(x, i64(unit - 1)), unit);
}
Value HostBuilder::less(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}

Value HostBuilder::size(const rt::Size &size) {
  if (std::optional<int64_t> constant = size.asConstant())
    return i64(*constant);
  Value sum;
  for (const auto &[names, coefficient] : size.getTerms()) {
    Value product = i64(coefficient);
    for (const std::string &name : names) {
      // Names without a value are refused before any code is made.
      Value value = sizes.lookup(name);
      assert(value && "size without a value");
      product = mul(value, product);
    }
    sum = sum ? add(sum, product) : product;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

Value HostBuilder::f32(double value, unsigned width) {
  TypedAttr attr = b.getF32FloatAttr(float(value));
  if (width > 1)
    attr = DenseElementsAttr::get(cast<ShapedType>(floatType(width)), attr);
  return arith::ConstantOp::create(b, loc, attr);
}
Value HostBuilder::i32(int32_t value, unsigned width) {
  TypedAttr attr = b.getI32IntegerAttr(value);
  if (width > 1)
    attr = DenseElementsAttr::get(cast<ShapedType>(intType(width)), attr);
  return arith::ConstantOp::create(b, loc, attr);
}
Value HostBuilder::splat(Value scalar, unsigned width) {
  if (widthOf(scalar) == width)
    return scalar;
  return vector::BroadcastOp::create(b, loc, floatType(width), scalar);
}
Value HostBuilder::fadd(Value x, Value y) {
  return arith::AddFOp::create(b, loc, x, y);
}
Value HostBuilder::fsub(Value x, Value y) {
  return arith::SubFOp::create(b, loc, x, y);
}
Value HostBuilder::fmul(Value x, Value y) {
  return arith::MulFOp::create(b, loc, x, y);
}
Value HostBuilder::fdiv(Value x, Value y) {
  return arith::DivFOp::create(b, loc, x, y);
}
Value HostBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, loc, x, y, z);
}
Value HostBuilder::fmax(Value x, Value y) {
  Value greater =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, loc, greater, x, y);
}
Value HostBuilder::shuffle(Value x, Value y, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(b, loc, x, y, mask);
}

/// Halves the vector until one lane is left.
static Value reduceLanes(HostBuilder &hb, Value vector,
                         llvm::function_ref<Value(Value, Value)> combine) {
  for (unsigned width = HostBuilder::widthOf(vector); width > 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(i);
      high.push_back(i + width / 2);
    }
    vector = combine(hb.shuffle(vector, vector, low),
                     hb.shuffle(vector, vector, high));
    if (width == 2)
      return vector::ExtractOp::create(hb.b, hb.loc, vector, 0);
  }
  return vector;
}

Value HostBuilder::sumLanes(Value vector) {
  return reduceLanes(*this, vector,
                     [&](Value x, Value y) { return fadd(x, y); });
}
Value HostBuilder::maxLanes(Value vector) {
  return reduceLanes(*this, vector,
                     [&](Value x, Value y) { return fmax(x, y); });
}

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

Value HostBuilder::roundToBF16(Value value) {
  unsigned width = widthOf(value);
  Value bits = arith::AndIOp::create(b, loc, bf16Bits(*this, value),
                                     i32(int32_t(0xffff0000), width));
  return arith::BitcastOp::create(b, loc, floatType(width), bits);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value HostBuilder::advance(Value ptr, Value offset) {
  return LLVM::GEPOp::create(b, loc, ptrType(), b.getF32Type(), ptr,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value HostBuilder::load(Value ptr, Value offset, unsigned width, Type element) {
  if (element.isF32()) {
    Value at = advance(ptr, offset);
    return LLVM::LoadOp::create(b, loc, floatType(width), at, /*alignment=*/4);
  }
  Value at = LLVM::GEPOp::create(b, loc, ptrType(), b.getI16Type(), ptr,
                                 ArrayRef<LLVM::GEPArg>{offset});
  Value half = LLVM::LoadOp::create(b, loc, withWidth(b.getI16Type(), width),
                                    at, /*alignment=*/2);
  Value wide = arith::ExtUIOp::create(b, loc, intType(width), half);
  Value bits = arith::ShLIOp::create(b, loc, wide, i32(16, width));
  return arith::BitcastOp::create(b, loc, floatType(width), bits);
}

void HostBuilder::store(Value value, Value ptr, Value offset, Type element) {
  if (element.isF32()) {
    LLVM::StoreOp::create(b, loc, value, advance(ptr, offset),
                          /*alignment=*/4);
    return;
  }
  unsigned width = widthOf(value);
  Value bits =
      arith::ShRUIOp::create(b, loc, bf16Bits(*this, value), i32(16, width));
  Value half =
      arith::TruncIOp::create(b, loc, withWidth(b.getI16Type(), width), bits);
  Value at = LLVM::GEPOp::create(b, loc, ptrType(), b.getI16Type(), ptr,
                                 ArrayRef<LLVM::GEPArg>{offset});
  LLVM::StoreOp::create(b, loc, half, at, /*alignment=*/2);
}

Value HostBuilder::load(Value ptr, Value offset, unsigned width) {
  return load(ptr, offset, width, b.getF32Type());
}
void HostBuilder::store(Value value, Value ptr, Value offset) {
  store(value, ptr, offset, b.getF32Type());
}

Value HostBuilder::isNotNull(Value ptr) {
  Value null = LLVM::ZeroOp::create(b, loc, ptrType());
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, ptr, null);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

SmallVector<Value> HostBuilder::loop(
    Value begin, Value end, int64_t step, ArrayRef<Value> inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto forOp = scf::ForOp::create(b, loc, begin, end, i64(step), inits);
  OpBuilder::InsertionGuard guard(b);
  Block *block = forOp.getBody();
  // The builder makes the terminator itself when nothing is carried.
  bool terminated = !block->empty();
  b.setInsertionPointToStart(block);
  SmallVector<Value> next =
      body(forOp.getInductionVar(), forOp.getRegionIterArgs());
  if (!terminated)
    scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(forOp.getResults());
}

void HostBuilder::loop(Value begin, Value end, int64_t step,
                       llvm::function_ref<void(Value)> body) {
  loop(begin, end, step, ArrayRef<Value>(),
       [&](Value at, ValueRange) -> SmallVector<Value> {
         body(at);
         return {};
       });
}

void HostBuilder::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  then();
}

Value HostBuilder::select(Value condition, llvm::function_ref<Value()> then,
                          llvm::function_ref<Value()> otherwise) {
  auto ifOp = scf::IfOp::create(
      b, loc, condition,
      [&](OpBuilder &nested, Location) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(nested.getInsertionBlock());
        scf::YieldOp::create(b, loc, then());
      },
      [&](OpBuilder &nested, Location) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(nested.getInsertionBlock());
        scf::YieldOp::create(b, loc, otherwise());
      });
  return ifOp.getResult(0);
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
