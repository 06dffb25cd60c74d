//===- Seeds.h - tensors from a seed ----------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Weights and inputs from a seed, by a counter: element `index` of the tensor
/// `name` depends on (seed, name, index) alone, so any part of any tensor can
/// be made anywhere, in any order. scripts/ckpt_seeds.py gives the same bytes.
///
///   key   = mix(seed ^ fnv1a64(name))
///   word  = mix(key + (index + 1) * 0x9e3779b97f4a7c15)      splitmix64
///   count = sum of the word's four 16-bit fields - 131070    18 bits, signed
///   value = round_f32(offset + count * scale)
///
/// `count * sqrt(3)/65536` has mean 0, variance 1 and at most 3.47 magnitude.
/// `count` (18 bits) times `scale` (an f32) is exact in a double, and so is
/// the sum for every rule below: one rounding, fused or not. bf16 and f16 are
/// rounded from the f32 value.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TENSORS_SEEDS_H
#define CKPT_RT_TENSORS_SEEDS_H

#include "Program/Externals.h"

namespace ckpt::rt {

/// value = round_f32(offset + count * scale).
struct SeedRule {
  float scale = 0;
  double offset = 0;
};

/// How the values of a tensor are spread; n is normal (0, 1):
///   states, inputs, incoming gradients  n (cos and sin tables too: nothing
///                                       here needs true rotations)
///   parameters of rank 2 and more       n / sqrt(last extent)
///   norm weights                        1 + n / 10: rank 1, "norm" in the
///                                       name in any case, "weight" at its end
///   other parameters                    n / 10
SeedRule seedRuleOf(ExternalKind kind, const std::string &name,
                    const std::vector<int64_t> &shape);

/// Elements [first, first + count) of the tensor `name`, written densely.
void fillSeeded(uint64_t seed, const std::string &name, SeedRule rule,
                DType dtype, int64_t first, int64_t count, void *dst);

/// A whole external of the given extents.
void fillTensor(const External &external, const std::vector<int64_t> &shape,
                uint64_t seed, void *dst);

} // namespace ckpt::rt

#endif // CKPT_RT_TENSORS_SEEDS_H
