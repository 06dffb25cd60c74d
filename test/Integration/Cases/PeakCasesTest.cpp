//===- PeakCasesTest.cpp - what the sweep's block holds, to the byte ------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// examples/dit-3072.mlir at 16384 tokens, planned by the built ckpt-run as a
/// user would, against formulas in
///
///   u      16384 x 3072 x 2 bytes, a state
///   lse    24 heads x 16384 rows x 4 bytes
///   stats  16384 rows x (mean, 1 / deviation) x 4 bytes
///   gemm   the workspace of every matrix product: A 384 x 256, B 256 x 256
///          and C 384 x 256 floats
///
/// x of block 0, y of the last block and the gradients at both ends are the
/// caller's. All sizes are multiples of the arena's alignment, so sums are
/// exact. A block saves
///
///   x u   stats1   qkv 3u   o u   lse   x1 u   stats2   h 4u
///
/// that is 10 u, lse and 2 stats. runtime/test/PeakTest.cpp derives the same
/// for a block made by hand.
///
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

using namespace ckpt;
using namespace ckpt::test;
using nlohmann::json;

namespace {

constexpr int64_t tokens = 16384;
constexpr int64_t u = tokens * 3072 * 2;
constexpr int64_t lse = 24 * tokens * 4;
constexpr int64_t stats = tokens * 2 * 4;
constexpr int64_t gemm = (384 * 256 + 256 * 256 + 384 * 256) * 4;

const std::string example = CKPT_EXAMPLES "/dit-3072.mlir";

json planned(const std::string &file, const std::string &flags,
             ProgramRun *program = nullptr) {
  ProgramRun run =
      runProgram(std::string(CKPT_RUN) + " " + file +
                 " --dim image=16384 --plan-only --report=json " + flags);
  EXPECT_EQ(run.code, 0) << run.err;
  if (program)
    *program = run;
  return json::parse(run.out, nullptr, false);
}

struct PeakCase {
  const char *backend;
  /// Held at the end of the forward, and the peak, of L blocks.
  int64_t (*held)(int64_t L), (*peak)(int64_t L);
};

const PeakCase cases[] = {
    // All of every block but block 0's x. The peak is f5 of the last block,
    // n2 -> a h: x qkv o x1 are there, h (4 u, held) is being made; n2 (1 u), a
    // (4 u) and the workspace come on top.
    {"none", [](int64_t L) { return (10 * L - 1) * u + L * (lse + 2 * stats); },
     [](int64_t L) {
       return (10 * L - 1) * u + L * (lse + 2 * stats) + 5 * u + gemm;
     }},
    // x stats1 qkv o lse x1. The peak is the replay's f5 in the last block,
    // n2 -> h: n2 (1 u), h (4 u) and stats2.
    {"torch-ffn", [](int64_t L) { return (6 * L - 1) * u + L * (lse + stats); },
     [](int64_t L) {
       return (6 * L - 1) * u + L * (lse + stats) + 5 * u + stats + gemm;
     }},
    // The same with x1 on the host, and at the peak back from it (1 u).
    {"unsloth-ffn",
     [](int64_t L) { return (5 * L - 1) * u + L * (lse + stats); },
     [](int64_t L) {
       return (5 * L - 1) * u + L * (lse + stats) + 6 * u + stats + gemm;
     }},
    // x of every block but the first. At the replay's f5 of the last block
    // there are its stats1 qkv o lse x1 stats2 (5 u), n2 and h (5 u). Below, a
    // dy has taken the place of an x that is no longer needed.
    {"torch", [](int64_t L) { return (L - 1) * u; },
     [](int64_t L) { return (L - 1) * u + 10 * u + lse + 2 * stats + gemm; }},
    // Nothing is held. At f5 of the replay of an inner block the 10 u above,
    // its x back from the host and the dy that the block above it left.
    {"unsloth", [](int64_t) { return int64_t(0); },
     [](int64_t) { return 12 * u + lse + 2 * stats + gemm; }}};

class SweepPeak : public testing::TestWithParam<PeakCase> {};

TEST_P(SweepPeak, EqualsTheFormula) {
  const PeakCase &param = GetParam();
  for (int64_t blocks : {16, 4}) {
    std::string flags = std::string("--backend=") + param.backend;
    if (blocks == 4)
      flags += " --blocks=4";
    SCOPED_TRACE(flags);
    json report = planned(example, flags);
    ASSERT_FALSE(report.is_discarded());
    EXPECT_EQ(report["blocks"], blocks);
    const json &peak = report["peak"];
    EXPECT_EQ(peak["held"], param.held(blocks));
    EXPECT_EQ(peak["predicted"], param.peak(blocks));
    EXPECT_EQ(peak["arena"], peak["predicted"]);
    EXPECT_LE(peak["arena"].get<double>(), 1.02 * peak["live"].get<double>());
    // Nothing was executed.
    EXPECT_TRUE(peak["touched"].is_null());
    EXPECT_TRUE(report["time"]["measured"].is_null());
    // The caller's: x, out.x, grad.out.x, grad.x; of each block the weights
    // qkv, proj, fc1, fc2 (3 + 1 + 4 + 4 squares of the width) and their
    // biases (9216, 3072, 12288, 3072).
    EXPECT_EQ(report["external_bytes"],
              4 * u + blocks * (12 * 3072 * 3072 + 9 * 3072) * 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Dit3072, SweepPeak, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<PeakCase> &info) {
                           return std::regex_replace(info.param.backend,
                                                     std::regex("-"), "_");
                         });

// A stack of 80 blocks, from text to report. Wall time depends on what else
// the machine does; the processor time of the child is held to the second.
TEST(SweepPlan, EightyBlocksInASecond) {
  std::ifstream file(example);
  std::stringstream text;
  text << file.rdbuf();
  TemporaryFile eighty("eighty.mlir",
                       std::regex_replace(text.str(),
                                          std::regex("ckpt.repeat @dit, 16"),
                                          "ckpt.repeat @dit, 80"));
  for (const PeakCase &param : cases) {
    ProgramRun program;
    json report = planned(eighty.path,
                          std::string("--backend=") + param.backend, &program);
    ASSERT_FALSE(report.is_discarded());
    EXPECT_EQ(report["blocks"], 80);
    EXPECT_EQ(report["peak"]["predicted"], param.peak(80));
    std::cout << param.backend << ": " << program.userSeconds
              << " s of a processor, " << program.wallSeconds << " s of wall\n";
    EXPECT_LT(program.userSeconds, 1.0) << param.backend;
  }
}

} // namespace
