//===- SeedsTest.cpp - tensors from a seed --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Tensors/Seeds.h"
#include "Tensors/Convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace ckpt::rt;

static std::vector<float> fillF32(ExternalKind kind, const std::string &name,
                                  std::vector<int64_t> shape, uint64_t seed) {
  int64_t count = 1;
  External external{name, {}, kind};
  for (int64_t extent : shape) {
    count *= extent;
    external.type.dims.push_back(extent);
  }
  std::vector<float> values(count);
  fillTensor(external, shape, seed, values.data());
  return values;
}

static double meanOf(const std::vector<float> &values) {
  double sum = 0;
  for (float value : values)
    sum += value;
  return sum / values.size();
}

static double deviationOf(const std::vector<float> &values) {
  double mean = meanOf(values), sum = 0;
  for (float value : values)
    sum += (value - mean) * (value - mean);
  return std::sqrt(sum / values.size());
}

// With 2^16 draws the mean's own deviation is 1/256 and the deviation's
// 1/sqrt(2^17) = 0.0028; five of each are allowed.
TEST(Seeds, StatesAreStandardNormal) {
  auto values = fillF32(ExternalKind::State, "x", {65536}, 0);
  EXPECT_NEAR(meanOf(values), 0, 5.0 / 256);
  EXPECT_NEAR(deviationOf(values), 1, 0.014);
  // Four fields at their ends: 131070 sqrt(3)/65536 = 3.4641.
  for (float value : values)
    EXPECT_LE(std::abs(value), 3.4642f);
}

TEST(Seeds, RulesFollowKindRankAndName) {
  auto deviation = [](ExternalKind kind, const char *name,
                      std::vector<int64_t> shape) {
    return deviationOf(fillF32(kind, name, shape, 7));
  };
  using K = ExternalKind;
  // 1/sqrt(64) = 0.125, then 1/10, each within 1.4 % as above.
  EXPECT_NEAR(deviation(K::Param, "w", {1024, 64}), 0.125, 0.0018);
  EXPECT_NEAR(deviation(K::Param, "w.bias", {65536}), 0.1, 0.0014);
  EXPECT_NEAR(deviation(K::OutputGradient, "grad.out.x", {1024, 64}), 1, 0.014);
  auto means = [](const char *name) {
    return meanOf(fillF32(K::Param, name, {65536}, 7));
  };
  // The mean of 65536 values of deviation 0.1: within 5 x 0.1/256.
  EXPECT_NEAR(means("blocks.0.norm1.weight"), 1, 0.002);
  EXPECT_NEAR(means("encoder.layer.0.output.LayerNorm.weight"), 1, 0.002);
  EXPECT_NEAR(means("encoder.layer.0.output.LayerNorm.bias"), 0, 0.002);
  EXPECT_NEAR(means("blocks.0.fc1.weight"), 0, 0.002);
  EXPECT_NEAR(meanOf(fillF32(K::Param, "norm.weight", {1024, 64}, 7)), 0, 0.01);
}

TEST(Seeds, AnyPartCanBeMadeAlone) {
  SeedRule rule = seedRuleOf(ExternalKind::Input, "x", {100});
  std::vector<float> whole(100), part(10);
  fillSeeded(3, "x", rule, DType::F32, 0, 100, whole.data());
  fillSeeded(3, "x", rule, DType::F32, 42, 10, part.data());
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(part[i], whole[42 + i]);
}

TEST(Seeds, SeedAndNameBothMatter) {
  auto base = fillF32(ExternalKind::State, "x", {64}, 0);
  EXPECT_EQ(base, fillF32(ExternalKind::State, "x", {64}, 0));
  EXPECT_NE(base, fillF32(ExternalKind::State, "x", {64}, 1));
  EXPECT_NE(base, fillF32(ExternalKind::State, "y", {64}, 0));
}

TEST(Seeds, Bf16IsTheRoundedF32) {
  SeedRule rule = seedRuleOf(ExternalKind::Input, "x", {1000});
  std::vector<float> wide(1000);
  std::vector<uint16_t> narrow(1000);
  fillSeeded(3, "x", rule, DType::F32, 0, 1000, wide.data());
  fillSeeded(3, "x", rule, DType::BF16, 0, 1000, narrow.data());
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(narrow[i], toBf16(wide[i]));
}

TEST(Convert, Bf16RoundsToNearestTiesToEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3f80);
  EXPECT_EQ(toBf16(floatOf(0x3f808000)), 0x3f80); // tie, down to even
  EXPECT_EQ(toBf16(floatOf(0x3f818000)), 0x3f82); // tie, up to even
  EXPECT_EQ(toBf16(floatOf(0x3f808001)), 0x3f81);
  EXPECT_EQ(toBf16(floatOf(0x7f7fffff)), 0x7f80); // largest float: infinity
  EXPECT_EQ(toBf16(floatOf(0x7f800001)), 0x7fc0); // NaN stays NaN
  EXPECT_EQ(toBf16(-0.0f), 0x8000);
}

TEST(Convert, F16IsExact) {
  EXPECT_EQ(fromF16(0x3c00), 1.0f);
  EXPECT_EQ(fromF16(0xc000), -2.0f);
  EXPECT_EQ(fromF16(0x7bff), 65504.0f);
  EXPECT_EQ(fromF16(0x0001), 0x1p-24f); // the smallest subnormal
  EXPECT_EQ(fromF16(0x83ff), -1023 * 0x1p-24f);
  EXPECT_EQ(fromF16(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(fromF16(0x7e00)));
}

/// The hash of the bytes, as seeds.txt has it.
static uint64_t fnv1a64(const std::string &bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

// scripts/ckpt_seeds.py --check reads the same file: both make its bytes.
TEST(Seeds, BytesAreTheOnesOnRecord) {
  std::ifstream file(CKPT_SEEDS_FILE);
  std::string line;
  int tensors = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    uint64_t seed;
    std::string kindName, name, dtype, extents, expected;
    ASSERT_TRUE(fields >> seed >> kindName >> name >> dtype >> extents >>
                expected);
    ExternalKind kind = kindName == "param"   ? ExternalKind::Param
                        : kindName == "state" ? ExternalKind::State
                        : kindName == "input" ? ExternalKind::Input
                                              : ExternalKind::OutputGradient;
    External external{name,
                      {{},
                       dtype == "bf16"  ? DType::BF16
                       : dtype == "f16" ? DType::F16
                                        : DType::F32},
                      kind};
    std::vector<int64_t> shape;
    size_t count = 1;
    std::istringstream list(extents);
    for (std::string extent; std::getline(list, extent, ',');) {
      shape.push_back(std::stoll(extent));
      count *= shape.back();
    }
    std::string bytes(count * bytesOf(external.type.dtype), 0);
    fillTensor(external, shape, seed, bytes.data());
    char found[17];
    snprintf(found, sizeof found, "%016lx",
             static_cast<unsigned long>(fnv1a64(bytes)));
    EXPECT_EQ(found, expected) << line;
    ++tensors;
  }
  EXPECT_EQ(tensors, 9);
}
