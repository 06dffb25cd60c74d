//===- VectorMath.cpp - exp and log
//-------------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"
#include "../Codegen/Activations.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

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
