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

#include "Program/Program.h"

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

/// Beyond the largest f16 is infinity; NaN stays NaN (quiet).
inline uint16_t toF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  // From half above the largest f16 on.
  if (magnitude >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude >= 0x38800000u) {
    // Normal: the exponent's bias differs by 112, the mantissa by 13 bits.
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
    return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
  }
  // Subnormal, in units of 2^-24; up to half a unit is zero.
  uint32_t shift = 126 - (magnitude >> 23);
  if (shift > 24)
    return static_cast<uint16_t>(sign);
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t kept = mantissa >> shift;
  uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  return static_cast<uint16_t>(sign | kept);
}

/// Writes `value` as element `i` of an array of `dtype`.
inline void store(void *array, int64_t i, DType dtype, float value) {
  switch (dtype) {
  case DType::F32:
    static_cast<float *>(array)[i] = value;
    return;
  case DType::BF16:
    static_cast<uint16_t *>(array)[i] = toBf16(value);
    return;
  case DType::F16:
    static_cast<uint16_t *>(array)[i] = toF16(value);
    return;
  }
}

} // namespace ckpt::rt

#endif // CKPT_RT_TENSORS_CONVERT_H
