//===- VectorMath.cpp - exp, log and the activations ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

/// Horner's rule with fused steps, highest power first.
static Value polynomial(HostBuilder &hb, Value x,
                        ArrayRef<double> coefficients) {
  unsigned width = HostBuilder::widthOf(x);
  Value sum = hb.f32(coefficients.front(), width);
  for (double coefficient : coefficients.drop_front())
    sum = hb.fma(sum, x, hb.f32(coefficient, width));
  return sum;
}

/// `value` within [low, high]; a NaN stays one.
static Value clamp(HostBuilder &hb, Value value, double low, double high) {
  unsigned width = HostBuilder::widthOf(value);
  auto choose = [&](arith::CmpFPredicate predicate, double bound) {
    Value limit = hb.f32(bound, width);
    Value beyond = arith::CmpFOp::create(hb.b, hb.loc, predicate, value, limit);
    value = arith::SelectOp::create(hb.b, hb.loc, beyond, limit, value);
  };
  choose(arith::CmpFPredicate::OLT, low);
  choose(arith::CmpFPredicate::OGT, high);
  return value;
}

static Value keepNaN(HostBuilder &hb, Value argument, Value result) {
  Value isNaN = arith::CmpFOp::create(hb.b, hb.loc, arith::CmpFPredicate::UNO,
                                      argument, argument);
  return arith::SelectOp::create(hb.b, hb.loc, isNaN, argument, result);
}

Value host::emitExp(HostBuilder &hb, Value x) {
  unsigned width = HostBuilder::widthOf(x);
  // exp(x) = 2^n exp(r), |r| <= ln 2 / 2. ln 2 in two parts, the first with
  // few bits, so that n times it is exact (Cephes).
  Value c = clamp(hb, x, -87.336, 88.37);
  Value n = math::RoundEvenOp::create(
      hb.b, hb.loc, hb.fmul(c, hb.f32(1.44269504088896341, width)));
  Value r = hb.fma(n, hb.f32(-0.693359375, width), c);
  r = hb.fma(n, hb.f32(2.12194440e-4, width), r);
  Value p = polynomial(hb, r,
                       {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                        4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  Value y = hb.fma(p, hb.fmul(r, r), r);
  y = hb.fadd(y, hb.f32(1, width));
  Value exponent = arith::FPToSIOp::create(hb.b, hb.loc, hb.intType(width), n);
  exponent = arith::ShLIOp::create(
      hb.b, hb.loc,
      arith::AddIOp::create(hb.b, hb.loc, exponent, hb.i32(127, width)),
      hb.i32(23, width));
  Value power =
      arith::BitcastOp::create(hb.b, hb.loc, hb.floatType(width), exponent);
  return keepNaN(hb, x, hb.fmul(y, power));
}

Value host::emitLog(HostBuilder &hb, Value x) {
  // x = 2^e m, m in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2)
  // makes the exponent step where m would leave that range (Cephes).
  unsigned width = HostBuilder::widthOf(x);
  constexpr int32_t rootHalf = 0x3f3504f3;
  Value bits = arith::BitcastOp::create(hb.b, hb.loc, hb.intType(width), x);
  Value shifted =
      arith::SubIOp::create(hb.b, hb.loc, bits, hb.i32(rootHalf, width));
  Value exponent =
      arith::ShRSIOp::create(hb.b, hb.loc, shifted, hb.i32(23, width));
  Value mantissaBits = arith::SubIOp::create(
      hb.b, hb.loc, bits,
      arith::ShLIOp::create(hb.b, hb.loc, exponent, hb.i32(23, width)));
  Value m =
      arith::BitcastOp::create(hb.b, hb.loc, hb.floatType(width), mantissaBits);
  Value e =
      arith::SIToFPOp::create(hb.b, hb.loc, hb.floatType(width), exponent);
  Value f = hb.fsub(m, hb.f32(1, width));
  Value square = hb.fmul(f, f);
  Value p = polynomial(hb, f,
                       {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                        -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value y = hb.fmul(hb.fmul(p, f), square);
  y = hb.fma(e, hb.f32(-2.12194440e-4, width), y);
  y = hb.fma(square, hb.f32(-0.5, width), y);
  y = hb.fadd(f, y);
  y = hb.fma(e, hb.f32(0.693359375, width), y);
  return keepNaN(hb, x, y);
}

Value host::emitSqrt(HostBuilder &hb, Value x) {
  return math::SqrtOp::create(hb.b, hb.loc, x);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {
/// 1 / (1 + exp(-x)) and 1 minus that, each without cancellation.
struct Sigmoid {
  Value value, complement;
};
} // namespace

static Sigmoid emitSigmoid(HostBuilder &hb, Value x) {
  unsigned width = HostBuilder::widthOf(x);
  Value e = emitExp(hb, hb.fmul(x, hb.f32(-1, width)));
  Value value = hb.fdiv(hb.f32(1, width), hb.fadd(e, hb.f32(1, width)));
  return {value, hb.fmul(e, value)};
}

Value host::emitSilu(HostBuilder &hb, Value x) {
  return hb.fmul(x, emitSigmoid(hb, x).value);
}

Value host::emitSiluDx(HostBuilder &hb, Value dy, Value x) {
  // s + x s (1 - s)
  Sigmoid s = emitSigmoid(hb, x);
  Value slope = hb.fma(hb.fmul(x, s.value), s.complement, s.value);
  return hb.fmul(dy, slope);
}

/// The argument u of the tanh form, doubled: tanh's half-sum is then a sigmoid,
/// (1 + tanh(u)) / 2 = sigmoid(2 u), which keeps small values exact.
static Value twiceTanhArgument(HostBuilder &hb, Value x) {
  unsigned width = HostBuilder::widthOf(x);
  constexpr double twiceRoot = 2 * 0.79788456080286535588;
  Value square = hb.fmul(x, x);
  return hb.fmul(x, hb.fma(square, hb.f32(twiceRoot * 0.044715, width),
                           hb.f32(twiceRoot, width)));
}

/// The normal distribution's integral up to x, and exp(-x^2 / 2).
static std::pair<Value, Value> emitPhi(HostBuilder &hb, Value x) {
  unsigned width = HostBuilder::widthOf(x);
  Value half = hb.f32(0.5, width), one = hb.f32(1, width);
  Value exponent = hb.fmul(hb.fmul(x, x), hb.f32(-0.5, width));
  // erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z / 2), z = |x| / sqrt(2) >= 0:
  // a Chebyshev fit of relative error 1.2e-7 (Numerical Recipes, 6.2).
  Value magnitude = math::AbsFOp::create(hb.b, hb.loc, x);
  Value z = hb.fmul(magnitude, hb.f32(0.70710678118654752440, width));
  Value t = hb.fdiv(one, hb.fma(z, half, one));
  Value p = polynomial(hb, t,
                       {0.17087277, -0.82215223, 1.48851587, -1.13520398,
                        0.27886807, -0.18628806, 0.09678418, 0.37409196,
                        1.00002368, -1.26551223});
  Value gauss = emitExp(hb, exponent);
  Value tail = hb.fmul(hb.fmul(half, t), hb.fmul(gauss, emitExp(hb, p)));
  Value negative = arith::CmpFOp::create(
      hb.b, hb.loc, arith::CmpFPredicate::OLT, x, hb.f32(0, width));
  Value phi =
      arith::SelectOp::create(hb.b, hb.loc, negative, tail, hb.fsub(one, tail));
  return {phi, gauss};
}

Value host::emitGelu(HostBuilder &hb, Value x, GeluKind kind) {
  if (kind == GeluKind::Erf)
    return hb.fmul(x, emitPhi(hb, x).first);
  return hb.fmul(x, emitSigmoid(hb, twiceTanhArgument(hb, x)).value);
}

Value host::emitGeluDx(HostBuilder &hb, Value dy, Value x, GeluKind kind) {
  unsigned width = HostBuilder::widthOf(x);
  if (kind == GeluKind::Erf) {
    auto [phi, gauss] = emitPhi(hb, x);
    Value density = hb.fmul(gauss, hb.f32(0.39894228040143267794, width));
    return hb.fmul(dy, hb.fma(x, density, phi));
  }
  // s + x s (1 - s) (2u)'
  constexpr double twiceRoot = 2 * 0.79788456080286535588;
  Sigmoid s = emitSigmoid(hb, twiceTanhArgument(hb, x));
  // Beyond 16, s (1 - s) is 0 and the other factors could overflow.
  Value near = clamp(hb, x, -16, 16);
  Value slope =
      hb.fma(hb.fmul(near, near), hb.f32(3 * twiceRoot * 0.044715, width),
             hb.f32(twiceRoot, width));
  Value both = hb.fmul(s.value, s.complement);
  return hb.fmul(dy, hb.fma(hb.fmul(both, near), slope, s.value));
}
