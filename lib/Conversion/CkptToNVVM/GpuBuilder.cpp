//===- GpuBuilder.cpp - code for values on the GPU ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "GpuBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

Type GpuBuilder::ptrType() {
  return LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/1);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

Value GpuBuilder::map(Value vector, llvm::function_ref<Value(Value)> f) {
  if (widthOf(vector) == 1)
    return f(vector);
  SmallVector<Value> lanes;
  for (unsigned i = 0; i < widthOf(vector); ++i)
    lanes.push_back(f(vector::ExtractOp::create(b, loc, vector, i)));
  return vector::FromElementsOp::create(b, loc, vector.getType(), lanes);
}

Value GpuBuilder::narrow(Value value, Type element) {
  if (getElementTypeOrSelf(value.getType()) == element)
    return value;
  return arith::TruncFOp::create(b, loc, withWidth(element, widthOf(value)),
                                 value);
}

Value GpuBuilder::roundTo(Value value, Type element) {
  if (element.isF32())
    return value;
  return arith::ExtFOp::create(b, loc, value.getType(), narrow(value, element));
}

Value GpuBuilder::exp(Value x, Precision precision) {
  constexpr double log2e = 1.44269504088896340736;
  unsigned width = widthOf(x);
  // The bounds also keep 0 times what would be infinite away. A NaN stays one.
  Value bounded = LLVM::MaximumOp::create(
      b, loc, LLVM::MinimumOp::create(b, loc, x, f32(87.33, width)),
      f32(-87.33, width));
  Value high = fmul(bounded, f32(log2e, width));
  Value power = map(high, [&](Value lane) { return ptx().ex2(lane); });
  if (precision == Precision::Half)
    return power;
  // What the product lost: its rounding and that of log2 e.
  Value low = fma(bounded, f32(log2e, width), fmul(high, f32(-1, width)));
  low = fma(bounded, f32(log2e - double(float(log2e)), width), low);
  return fma(power, fmul(low, f32(0.69314718055994530942, width)), power);
}

Value GpuBuilder::reciprocal(Value x) {
  return map(x, [&](Value lane) { return ptx().rcp(lane); });
}

Value GpuBuilder::reciprocalSqrt(Value x) {
  return map(x, [&](Value lane) { return ptx().rsqrt(lane); });
}

codegen::CodeBuilder::Sigmoid GpuBuilder::sigmoidOfTwice(Value x,
                                                         Precision precision) {
  if (precision == Precision::Full)
    return CodeBuilder::sigmoidOfTwice(x, precision);
  unsigned width = widthOf(x);
  Value half = f32(0.5, width), minusHalf = f32(-0.5, width);
  Value t = map(x, [&](Value lane) { return ptx().tanh(lane); });
  return {fma(t, half, half), fma(t, minusHalf, half)};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value GpuBuilder::elementPointer(Value ptr, Value offset, Type element) {
  return LLVM::GEPOp::create(b, loc, ptr.getType(), element, ptr,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// No access is wider than 16 bytes.
static unsigned alignmentOf(unsigned width, Type element, bool aligned) {
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  return aligned ? std::min(16u, width * bytes) : bytes;
}

Value GpuBuilder::load(Value ptr, Value offset, unsigned width, Type element,
                       bool aligned) {
  Value at = elementPointer(ptr, offset, element);
  Value value = LLVM::LoadOp::create(b, loc, withWidth(element, width), at,
                                     alignmentOf(width, element, aligned));
  if (element.isF32())
    return value;
  return arith::ExtFOp::create(b, loc, floatType(width), value);
}

void GpuBuilder::store(Value value, Value ptr, Value offset, Type element,
                       bool aligned) {
  unsigned width = widthOf(value);
  value = narrow(value, element);
  LLVM::StoreOp::create(b, loc, value, elementPointer(ptr, offset, element),
                        alignmentOf(width, element, aligned));
}

Value GpuBuilder::gather(unsigned width,
                         llvm::function_ref<Value(Value)> element) {
  SmallVector<Value> lanes;
  for (unsigned i = 0; i < width; ++i)
    lanes.push_back(element(index(i)));
  return vector::FromElementsOp::create(b, loc, floatType(width), lanes);
}
