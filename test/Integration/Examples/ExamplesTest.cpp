//===- ExamplesTest.cpp - every example under every policy ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// The twins of the examples, 8 blocks, f32 and bf16, under every combination of
// backend x {no interval, 2, 2 with stride 4} x attention flags: combinations
// that design section 3 calls errors are refused, the others have the bits of
// `none`, counts by closed formulas, and a peak that is exact. `none` is held
// against the oracle.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "ExampleCosts.h"
#include "Plan/Policy.h"
#include "Policies.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

using namespace ckpt;
using namespace ckpt::test;

namespace {

constexpr int64_t numBlocks = 8;

std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every combination, legal or not.
std::vector<rt::Controls> allControls() {
  using Count = std::optional<int64_t>;
  std::vector<rt::Controls> all;
  for (rt::Backend backend :
       {rt::Backend::None, rt::Backend::Torch, rt::Backend::TorchFfn,
        rt::Backend::Unsloth, rt::Backend::UnslothFfn})
    for (auto [interval, stride] :
         {std::pair<Count, Count>{std::nullopt, std::nullopt},
          {2, std::nullopt},
          {2, 4}})
      for (int attention = 0; attention < 4; ++attention) {
        rt::Controls controls;
        controls.backend = backend;
        controls.interval = interval;
        controls.segmentStride = stride;
        controls.attentionOnce = attention & 1;
        controls.offloadAttention = attention & 2;
        all.push_back(controls);
      }
  return all;
}

bool isWholeBlock(const rt::Controls &c) {
  return c.backend == rt::Backend::Torch || c.backend == rt::Backend::Unsloth;
}

/// Design section 3: what is an error, written down apart from the product.
bool isLegal(const rt::Controls &c) {
  if (c.backend == rt::Backend::None && (c.interval || c.segmentStride))
    return false;
  // offload-attention implies attention-once, so naming both is no error where
  // a whole block is recomputed.
  return !c.attentionOnce || isWholeBlock(c);
}

/// Of 8 blocks: how many are checkpointed, and in how many segments.
struct Chosen {
  int64_t blocks, segments;
};
Chosen chosen(const rt::Controls &c) {
  if (c.backend == rt::Backend::None)
    return {0, 0};
  if (!c.interval)
    return {8, 8};
  if (isWholeBlock(c)) // [0,2) [2,4) [4,6) [6,8), or [0,2) [4,6)
    return c.segmentStride ? Chosen{4, 2} : Chosen{8, 4};
  // i mod 2 = 0: 0 2 4 6; i mod 4 < 2: 0 1 4 5; each on its own.
  return {4, 4};
}

int64_t replayedOps(const rt::Controls &c, const ExampleCosts &costs) {
  Chosen n = chosen(c);
  if (c.backend == rt::Backend::None)
    return 0;
  if (!isWholeBlock(c))
    return n.blocks * costs.ffnReplay;
  // All but the last block of a segment also make the next one's state.
  bool once = c.attentionOnce || c.offloadAttention;
  return n.blocks * (once ? costs.wholeReplayOnce : costs.wholeReplay) +
         (n.blocks - n.segments) * costs.resultOps;
}

int64_t copiedBytes(const rt::Controls &c, const ExampleCosts &costs) {
  Chosen n = chosen(c);
  bool offloads =
      c.backend == rt::Backend::Unsloth || c.backend == rt::Backend::UnslothFfn;
  int64_t bytes = 0;
  if (isWholeBlock(c)) {
    // The first segment's state is the caller's.
    if (offloads)
      bytes += (n.segments - 1) * costs.state;
    if (c.offloadAttention || (offloads && c.attentionOnce))
      bytes += n.blocks * costs.core;
    if (c.offloadAttention)
      bytes += (numBlocks - n.blocks) * costs.attentionInside;
    return bytes;
  }
  if (offloads)
    bytes += n.blocks * costs.ffnOperands;
  if (c.offloadAttention)
    bytes += numBlocks * costs.attentionInside - costs.firstBlockLess;
  return bytes;
}

struct Case {
  std::string name, file, dtype;
  rt::SizeValues sizes;
};

class Examples : public testing::TestWithParam<Case> {};

TEST_P(Examples, EveryPolicy) {
  const Case &param = GetParam();
  std::string text =
      readText(std::string(CKPT_EXAMPLES "/twins/") + param.file);
  ASSERT_FALSE(text.empty());
  // The file's own dtype, or the other one. In Wan, f32 islands stay f32, so
  // that in the f32 twin its casts convert nothing.
  text = std::regex_replace(
      text, std::regex(param.dtype == "f32" ? "bf16" : "x f32>"),
      param.dtype == "f32" ? "f32" : "x bf16>");
  if (param.file == "wan-1.3b.mlir" && param.dtype == "bf16")
    text = readText(std::string(CKPT_EXAMPLES "/twins/") + param.file);
  run::Options options;
  options.sizes = param.sizes;
  options.seed = 7;
  // MiniLM has 6 blocks, the matrix wants 8 everywhere.
  text = std::regex_replace(text, std::regex("(ckpt.repeat @\\w+, )\\d+"),
                            "$01" + std::to_string(numBlocks));
  rt::Result<run::Loaded> loaded = compileText(text, param.name, options);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  ExampleCosts costs = costsOf(param.file, param.dtype, param.sizes);

  std::string expected;
  int ran = 0;
  for (const rt::Controls &controls : allControls()) {
    SCOPED_TRACE(describe(controls));
    EXPECT_EQ(rt::checkControls(controls).ok(), isLegal(controls));
    if (!isLegal(controls))
      continue;
    rt::Result<PolicyRun> result = runPolicy(*loaded, options, controls);
    ASSERT_TRUE(result.ok()) << result.message();
    ++ran;
    const PolicyRun &step = *result;
    const rt::Simulation &simulation = step.simulation;
    EXPECT_EQ(simulation.replayedOps, replayedOps(controls, costs));
    EXPECT_EQ(step.statistics.replayedOps, simulation.replayedOps);
    EXPECT_EQ(simulation.copiedToHost, copiedBytes(controls, costs));
    EXPECT_EQ(simulation.copiedToDevice, simulation.copiedToHost);
    EXPECT_EQ(step.statistics.copiedToHost, simulation.copiedToHost);
    EXPECT_EQ(step.statistics.copiedToDevice, simulation.copiedToDevice);
    // Predicted = arena = touched; at most 2 % over the live bytes.
    EXPECT_EQ(simulation.peakBytes, step.schedule->arenaBytes);
    EXPECT_EQ(step.statistics.touched, step.schedule->arenaBytes);
    EXPECT_LE(double(step.schedule->arenaBytes),
              1.02 * double(simulation.liveBytes));
    if (!expected.empty()) {
      EXPECT_EQ(step.digest, expected);
      continue;
    }
    expected = step.digest;
    auto checked =
        run::checkResults(*loaded, options, *step.schedule, step.tensors);
    ASSERT_TRUE(checked.ok()) << checked.message();
    for (const rt::CheckedTensor &tensor : *checked)
      EXPECT_TRUE(tensor.passed)
          << tensor.name << ": error " << tensor.error << ", bound "
          << tensor.bound << ", PyTorch's own " << tensor.pytorchError;
  }
  // none: 1 x 2; torch and unsloth: 3 x 4 each; *-ffn: 3 x 2 each.
  EXPECT_EQ(ran, 2 + 2 * 12 + 2 * 6);
}

INSTANTIATE_TEST_SUITE_P(
    Twins, Examples,
    testing::Values(
        Case{"dit_f32", "dit-3072.mlir", "f32", {{"batch", 2}, {"image", 37}}},
        Case{
            "dit_bf16", "dit-3072.mlir", "bf16", {{"batch", 1}, {"image", 65}}},
        Case{"lora_f32", "dit-lora.mlir", "f32", {{"batch", 1}, {"image", 33}}},
        Case{"lora_bf16",
             "dit-lora.mlir",
             "bf16",
             {{"batch", 2}, {"image", 31}}},
        Case{"wan_f32",
             "wan-1.3b.mlir",
             "f32",
             {{"batch", 1}, {"image", 45}, {"text", 11}}},
        Case{"wan_bf16",
             "wan-1.3b.mlir",
             "bf16",
             {{"batch", 2}, {"image", 29}, {"text", 7}}},
        Case{
            "minilm_f32", "minilm.mlir", "f32", {{"batch", 3}, {"tokens", 19}}},
        Case{"minilm_bf16",
             "minilm.mlir",
             "bf16",
             {{"batch", 1}, {"tokens", 64}}}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Full width: one run an example, at most 4 blocks
//===----------------------------------------------------------------------===//

class FullWidth : public testing::TestWithParam<Case> {};

TEST_P(FullWidth, MatchesTheOracle) {
  const Case &param = GetParam();
  run::Options options;
  options.sizes = param.sizes;
  options.blocks = 2;
  options.file = std::string(CKPT_EXAMPLES "/") + param.file;
  rt::Result<run::Loaded> loaded = run::load(options);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  rt::Controls controls;
  controls.backend = rt::Backend::UnslothFfn;
  controls.interval = 2;
  rt::Result<PolicyRun> step = runPolicy(*loaded, options, controls);
  ASSERT_TRUE(step.ok()) << step.message();
  auto checked =
      run::checkResults(*loaded, options, *step->schedule, step->tensors);
  ASSERT_TRUE(checked.ok()) << checked.message();
  for (const rt::CheckedTensor &tensor : *checked)
    EXPECT_TRUE(tensor.passed) << tensor.name << ": error " << tensor.error
                               << ", bound " << tensor.bound;
}

INSTANTIATE_TEST_SUITE_P(
    All, FullWidth,
    testing::Values(
        Case{"dit", "dit-3072.mlir", "bf16", {{"image", 17}}},
        Case{"lora", "dit-lora.mlir", "bf16", {{"image", 17}}},
        Case{"wan", "wan-1.3b.mlir", "bf16", {{"image", 40}, {"text", 9}}},
        Case{"minilm", "minilm.mlir", "f32", {{"tokens", 40}}}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

} // namespace
