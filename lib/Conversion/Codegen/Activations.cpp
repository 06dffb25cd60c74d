//===- Activations.cpp - SiLU, GELU and their gradients -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::codegen;

using Precision = CodeBuilder::Precision;

Value codegen::polynomial(CodeBuilder &cb, Value x,
                          ArrayRef<double> coefficients) {
  unsigned width = CodeBuilder::widthOf(x);
  Value sum = cb.f32(coefficients.front(), width);
  for (double coefficient : coefficients.drop_front())
    sum = cb.fma(sum, x, cb.f32(coefficient, width));
  return sum;
}

Value codegen::clamp(CodeBuilder &cb, Value value, double low, double high) {
  unsigned width = CodeBuilder::widthOf(value);
  auto choose = [&](arith::CmpFPredicate predicate, double bound) {
    Value limit = cb.f32(bound, width);
    Value beyond = arith::CmpFOp::create(cb.b, cb.loc, predicate, value, limit);
    value = arith::SelectOp::create(cb.b, cb.loc, beyond, limit, value);
  };
  choose(arith::CmpFPredicate::OLT, low);
  choose(arith::CmpFPredicate::OGT, high);
  return value;
}

static CodeBuilder::Sigmoid sigmoid(CodeBuilder &cb, Value x,
                                    Precision precision) {
  Value half = cb.f32(0.5, CodeBuilder::widthOf(x));
  return cb.sigmoidOfTwice(cb.fmul(x, half), precision);
}

Value codegen::emitSilu(CodeBuilder &cb, Value x, Precision precision) {
  return cb.fmul(x, sigmoid(cb, x, precision).value);
}

Value codegen::emitSiluDx(CodeBuilder &cb, Value dy, Value x,
                          Precision precision) {
  // s + x s (1 - s)
  CodeBuilder::Sigmoid s = sigmoid(cb, x, precision);
  Value slope = cb.fma(cb.fmul(x, s.value), s.complement, s.value);
  return cb.fmul(dy, slope);
}

/// sqrt(2 / pi)
static constexpr double root = 0.79788456080286535588;

/// (1 + tanh(u)) / 2 of the tanh form's argument u. That is sigmoid(2 u), which
/// keeps small values exact.
static CodeBuilder::Sigmoid tanhHalfSum(CodeBuilder &cb, Value x,
                                        Precision precision) {
  unsigned width = CodeBuilder::widthOf(x);
  Value square = cb.fmul(x, x);
  Value u = cb.fmul(
      x, cb.fma(square, cb.f32(root * 0.044715, width), cb.f32(root, width)));
  return cb.sigmoidOfTwice(u, precision);
}

/// The normal distribution's integral up to x, and exp(-x^2 / 2).
static std::pair<Value, Value> emitPhi(CodeBuilder &cb, Value x,
                                       Precision precision) {
  unsigned width = CodeBuilder::widthOf(x);
  Value half = cb.f32(0.5, width), one = cb.f32(1, width);
  Value exponent = cb.fmul(cb.fmul(x, x), cb.f32(-0.5, width));
  // erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z / 2), z = |x| / sqrt(2) >= 0:
  // a Chebyshev fit of relative error 1.2e-7 (Numerical Recipes, 6.2).
  Value magnitude = math::AbsFOp::create(cb.b, cb.loc, x);
  Value z = cb.fmul(magnitude, cb.f32(0.70710678118654752440, width));
  Value t = cb.reciprocal(cb.fma(z, half, one));
  Value p = polynomial(cb, t,
                       {0.17087277, -0.82215223, 1.48851587, -1.13520398,
                        0.27886807, -0.18628806, 0.09678418, 0.37409196,
                        1.00002368, -1.26551223});
  Value gauss = cb.exp(exponent, precision);
  Value tail = cb.fmul(cb.fmul(half, t), cb.fmul(gauss, cb.exp(p, precision)));
  Value negative = arith::CmpFOp::create(
      cb.b, cb.loc, arith::CmpFPredicate::OLT, x, cb.f32(0, width));
  Value phi =
      arith::SelectOp::create(cb.b, cb.loc, negative, tail, cb.fsub(one, tail));
  return {phi, gauss};
}

Value codegen::emitGelu(CodeBuilder &cb, Value x, GeluKind kind,
                        Precision precision) {
  if (kind == GeluKind::Erf)
    return cb.fmul(x, emitPhi(cb, x, precision).first);
  return cb.fmul(x, tanhHalfSum(cb, x, precision).value);
}

Value codegen::emitGeluDx(CodeBuilder &cb, Value dy, Value x, GeluKind kind,
                          Precision precision) {
  unsigned width = CodeBuilder::widthOf(x);
  if (kind == GeluKind::Erf) {
    auto [phi, gauss] = emitPhi(cb, x, precision);
    Value density = cb.fmul(gauss, cb.f32(0.39894228040143267794, width));
    return cb.fmul(dy, cb.fma(x, density, phi));
  }
  // s + x s (1 - s) (2u)'
  CodeBuilder::Sigmoid s = tanhHalfSum(cb, x, precision);
  // Beyond 16, s (1 - s) is 0 and the other factors could overflow.
  Value near = clamp(cb, x, -16, 16);
  Value slope = cb.fma(cb.fmul(near, near), cb.f32(6 * root * 0.044715, width),
                       cb.f32(2 * root, width));
  Value both = cb.fmul(s.value, s.complement);
  return cb.fmul(dy, cb.fma(cb.fmul(both, near), slope, s.value));
}
