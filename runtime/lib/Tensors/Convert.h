//===- Convert.h - element types in integer code ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversions between the element types of files and of programs, to nearest,
/// ties to even, in integer code: the same bits on every machine.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TENSORS_CONVERT_H
#define CKPT_RT_TENSORS_CONVERT_H

#include <cstdint>
#include <cstring>

namespace ckpt::rt {

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// NaN stays NaN (quiet), whatever its payload.
inline uint16_t toBf16(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline float fromBf16(uint16_t bits) {
  return floatOf(static_cast<uint32_t>(bits) << 16);
}

/// Exact: every f16 value, subnormal ones too, is an f32 value.
inline float fromF16(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 0x1f;
  uint32_t mantissa = half & 0x3ff;
  if (exponent == 0x1f)
    return floatOf(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return floatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa x 2^-24, exact in f32.
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

} // namespace ckpt::rt

#endif // CKPT_RT_TENSORS_CONVERT_H
