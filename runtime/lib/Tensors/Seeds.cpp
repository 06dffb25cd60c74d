//===- Seeds.cpp - tensors from a seed ------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Tensors/Seeds.h"

#include "Tensors/Convert.h"

#include <cmath>

using namespace ckpt::rt;

/// The finalizer of splitmix64.
static uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

static uint64_t fnv1a64(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : text)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

static bool isNormWeight(const std::string &name) {
  std::string lower;
  for (char c : name)
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  static constexpr char suffix[] = "weight";
  size_t length = sizeof suffix - 1;
  return lower.find("norm") != std::string::npos && lower.size() >= length &&
         lower.compare(lower.size() - length, length, suffix) == 0;
}

SeedRule ckpt::rt::seedRuleOf(ExternalKind kind, const std::string &name,
                              const std::vector<int64_t> &shape) {
  // sqrt(3) / 65536: makes the variance of a count 1.
  const double unit = 1.7320508075688772 / 65536;
  if (kind != ExternalKind::Param)
    return {static_cast<float>(unit), 0};
  if (shape.size() >= 2)
    return {
        static_cast<float>(unit / std::sqrt(static_cast<double>(shape.back()))),
        0};
  return {static_cast<float>(unit / 10), isNormWeight(name) ? 1.0 : 0.0};
}

void ckpt::rt::fillSeeded(uint64_t seed, const std::string &name, SeedRule rule,
                          DType dtype, int64_t first, int64_t count,
                          void *dst) {
  uint64_t key = mix(seed ^ fnv1a64(name));
  double scale = rule.scale;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word =
        mix(key + static_cast<uint64_t>(first + i + 1) * 0x9e3779b97f4a7c15u);
    int64_t sum = static_cast<int64_t>((word & 0xffff) + (word >> 16 & 0xffff) +
                                       (word >> 32 & 0xffff) + (word >> 48));
    float value = static_cast<float>(rule.offset +
                                     static_cast<double>(sum - 131070) * scale);
    store(dst, i, dtype, value);
  }
}

void ckpt::rt::fillTensor(const External &external,
                          const std::vector<int64_t> &shape, uint64_t seed,
                          void *dst) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  fillSeeded(seed, external.name,
             seedRuleOf(external.kind, external.name, shape),
             external.type.dtype, 0, count, dst);
}
