//===- CodeBuilder.cpp - loops, loads and sizes ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CodeBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::codegen;

CodeBuilder::~CodeBuilder() = default;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type CodeBuilder::withWidth(Type scalar, unsigned width) {
  return width == 1 ? scalar : VectorType::get({int64_t(width)}, scalar);
}

Type CodeBuilder::floatType(unsigned width) {
  return withWidth(b.getF32Type(), width);
}

Type CodeBuilder::intType(unsigned width) {
  return withWidth(b.getI32Type(), width);
}

unsigned CodeBuilder::widthOf(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value CodeBuilder::index(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(indexType, value));
}
Value CodeBuilder::offset(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return b.createOrFold<arith::ExtSIOp>(loc, b.getI64Type(), value);
}
Value CodeBuilder::coordinate(Value value) {
  if (value.getType() == indexType)
    return value;
  return b.createOrFold<arith::TruncIOp>(loc, indexType, value);
}
Value CodeBuilder::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value CodeBuilder::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}
Value CodeBuilder::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}
Value CodeBuilder::div(Value x, Value y) {
  return b.createOrFold<arith::DivUIOp>(loc, x, y);
}
Value CodeBuilder::rem(Value x, Value y) {
  return b.createOrFold<arith::RemUIOp>(loc, x, y);
}
Value CodeBuilder::min(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(loc, x, y);
}
Value CodeBuilder::less(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}

Value CodeBuilder::size(const rt::Size &size) {
  if (std::optional<int64_t> constant = size.asConstant())
    return index(*constant);
  Value sum;
  for (const auto &[names, coefficient] : size.getTerms()) {
    Value product = index(coefficient);
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

Value CodeBuilder::f32(double value, unsigned width) {
  TypedAttr attr = b.getF32FloatAttr(float(value));
  if (width > 1)
    attr = DenseElementsAttr::get(cast<ShapedType>(floatType(width)), attr);
  return arith::ConstantOp::create(b, loc, attr);
}
Value CodeBuilder::i32(int32_t value, unsigned width) {
  TypedAttr attr = b.getI32IntegerAttr(value);
  if (width > 1)
    attr = DenseElementsAttr::get(cast<ShapedType>(intType(width)), attr);
  return arith::ConstantOp::create(b, loc, attr);
}
Value CodeBuilder::splat(Value scalar, unsigned width) {
  if (widthOf(scalar) == width)
    return scalar;
  return vector::BroadcastOp::create(b, loc, floatType(width), scalar);
}
Value CodeBuilder::fadd(Value x, Value y) {
  return arith::AddFOp::create(b, loc, x, y, flags);
}
Value CodeBuilder::fsub(Value x, Value y) {
  return arith::SubFOp::create(b, loc, x, y, flags);
}
Value CodeBuilder::fmul(Value x, Value y) {
  return arith::MulFOp::create(b, loc, x, y, flags);
}
Value CodeBuilder::fdiv(Value x, Value y) {
  return arith::DivFOp::create(b, loc, x, y);
}
Value CodeBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, loc, x, y, z);
}
Value CodeBuilder::fmax(Value x, Value y) {
  Value greater =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, loc, greater, x, y);
}
Value CodeBuilder::shuffle(Value x, Value y, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(b, loc, x, y, mask);
}

/// Halves the vector until one lane is left.
static Value reduceLanes(CodeBuilder &cb, Value vector,
                         llvm::function_ref<Value(Value, Value)> combine) {
  for (unsigned width = CodeBuilder::widthOf(vector); width > 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(i);
      high.push_back(i + width / 2);
    }
    vector = combine(cb.shuffle(vector, vector, low),
                     cb.shuffle(vector, vector, high));
    if (width == 2)
      return vector::ExtractOp::create(cb.b, cb.loc, vector, 0);
  }
  return vector;
}

Value CodeBuilder::sumLanes(Value vector) {
  return reduceLanes(*this, vector,
                     [&](Value x, Value y) { return fadd(x, y); });
}
Value CodeBuilder::maxLanes(Value vector) {
  return reduceLanes(*this, vector,
                     [&](Value x, Value y) { return fmax(x, y); });
}

CodeBuilder::Sigmoid CodeBuilder::sigmoidOfTwice(Value x, Precision precision) {
  unsigned width = widthOf(x);
  Value e = exp(fmul(x, f32(-2, width)), precision);
  Value value = reciprocal(fadd(e, f32(1, width)));
  return {value, fmul(e, value)};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value CodeBuilder::isNotNull(Value ptr) {
  Value null = LLVM::ZeroOp::create(b, loc, ptrType());
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, ptr, null);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

SmallVector<Value> CodeBuilder::loop(
    Value begin, Value end, int64_t step, ArrayRef<Value> inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value stepValue = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(begin.getType(), step));
  auto forOp = scf::ForOp::create(b, loc, begin, end, stepValue, inits);
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

void CodeBuilder::loop(Value begin, Value end, int64_t step,
                       llvm::function_ref<void(Value)> body) {
  loop(begin, end, step, ArrayRef<Value>(),
       [&](Value at, ValueRange) -> SmallVector<Value> {
         body(at);
         return {};
       });
}

void CodeBuilder::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  then();
}

Value CodeBuilder::select(Value condition, llvm::function_ref<Value()> then,
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
