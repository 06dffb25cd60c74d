//===- PeakTest.cpp - what each policy holds ------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The block of makeDitProgram at full width and 16384 tokens, L blocks:
///   u = 16384 x 3072 x 2 bytes, lse = 24 x 16384 x 4, stats = 16384 x 2 x 4.
/// x of block 0, y of the last, dy and dx at the ends are the caller's. All
/// sizes are multiples of the alignment, so sums are exact.
///
//===----------------------------------------------------------------------===//

#include "Schedule/Schedule.h"
#include "TestProgram.h"

#include "gtest/gtest.h"

#include <chrono>

using namespace ckpt::rt;

namespace {

constexpr int64_t tokens = 16384;
constexpr int64_t u = tokens * 3072 * 2;
constexpr int64_t lse = 24 * tokens * 4;
constexpr int64_t stats = tokens * 2 * 4;

struct Planned {
  Schedule schedule;
  Simulation simulation;
  std::string peakOp;
};

Planned planned(const Program &program, const Controls &controls,
                int64_t image = tokens) {
  Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
  EXPECT_TRUE(plan.ok()) << plan.message();
  Profile profile = *profileNamed("h200");
  Result<Schedule> schedule =
      instantiate(program, *plan, {{"image", image}}, controls, profile);
  EXPECT_TRUE(schedule.ok()) << schedule.message();
  Status status = verify(*schedule);
  EXPECT_TRUE(status.ok()) << status.message();
  Planned result{*schedule, simulate(program, *schedule, profile), ""};
  const Command &peak = schedule->commands[result.simulation.peakCommand];
  result.peakOp = peak.label + " b" + std::to_string(peak.block);
  EXPECT_EQ(result.simulation.peakBytes, schedule->arenaBytes);
  EXPECT_LE(double(schedule->arenaBytes),
            1.02 * double(result.simulation.liveBytes));
  return result;
}

Planned planned(int blocks, Backend backend) {
  Controls controls;
  controls.backend = backend;
  return planned(makeDitProgram(blocks), controls);
}

class PeakTest : public testing::TestWithParam<int> {};

} // namespace

// Every block saves x stats1 qkv o lse x1 stats2 h: 1 + 3 + 1 + 1 + 4 = 10 u,
// but block 0's x. The peak is the last block's f5 (n2 -> a h): of that block
// x qkv o x1 are there (6 u), h is being made (4 u), and n2 (1 u) and a (4 u)
// are the working set: 10 L - 1 + 5.
TEST_P(PeakTest, None) {
  int64_t blocks = GetParam();
  Planned p = planned(blocks, Backend::None);
  int64_t held = (10 * blocks - 1) * u + blocks * (lse + 2 * stats);
  EXPECT_EQ(p.simulation.heldBytes, held);
  EXPECT_EQ(p.simulation.liveBytes, held + 5 * u);
  EXPECT_EQ(p.peakOp, "f5 b" + std::to_string(blocks - 1));
}

// Every block keeps x stats1 qkv o lse x1: 6 u. The peak is the last block's
// attention backward b4: its x1 is gone (b2 read it last), dx1 (1 u, for b6),
// do (1 u), dqkv (3 u) and the workspace (2 u) are there: 6 L - 1 - 1 + 7.
TEST_P(PeakTest, TorchFfn) {
  int64_t blocks = GetParam();
  Planned p = planned(blocks, Backend::TorchFfn);
  int64_t held = (6 * blocks - 1) * u + blocks * (lse + stats);
  EXPECT_EQ(p.simulation.heldBytes, held);
  EXPECT_EQ(p.simulation.liveBytes, held + 6 * u);
  EXPECT_EQ(p.peakOp, "b4 b" + std::to_string(blocks - 1));
}

// The same less x1, which is on the host; at b4 of the last block its copy in
// has been read for the last time, so nothing of it counts: 5 L - 1 + 7.
TEST_P(PeakTest, UnslothFfn) {
  int64_t blocks = GetParam();
  Planned p = planned(blocks, Backend::UnslothFfn);
  int64_t held = (5 * blocks - 1) * u + blocks * (lse + stats);
  EXPECT_EQ(p.simulation.heldBytes, held);
  EXPECT_EQ(p.simulation.liveBytes, held + 7 * u);
  EXPECT_EQ(p.peakOp, "b4 b" + std::to_string(blocks - 1));
}

// Every block but the first keeps x. The peak is the last block's b4, with
// what its replay made: qkv (3 u) o lse stats1, dx1, do, dqkv (3 u), workspace
// (2 u): L - 1 + 11.
TEST_P(PeakTest, Torch) {
  int64_t blocks = GetParam();
  Planned p = planned(blocks, Backend::Torch);
  int64_t held = (blocks - 1) * u;
  EXPECT_EQ(p.simulation.heldBytes, held);
  EXPECT_EQ(p.simulation.liveBytes, held + 11 * u + lse + stats);
  EXPECT_EQ(p.peakOp, "b4 b" + std::to_string(blocks - 1));
}

// Nothing is held. An inner block has x' (1 u) and then as many units at two
// places: at b4 the 11 u of `torch`, at the replay's f5 qkv (3 u) o x1 n2 h
// (4 u) and the dy that the block above left: 1 + 11. f5 has stats2 besides.
TEST_P(PeakTest, Unsloth) {
  int64_t blocks = GetParam();
  Planned p = planned(blocks, Backend::Unsloth);
  EXPECT_EQ(p.simulation.heldBytes, 0);
  EXPECT_EQ(p.simulation.liveBytes, 12 * u + lse + 2 * stats);
}

INSTANTIATE_TEST_SUITE_P(Blocks, PeakTest, testing::Values(4, 16));

// attention-once adds O and LSE to what is held, kept or offloaded.
TEST(PeakOfFlags, AttentionOnce) {
  constexpr int64_t blocks = 16;
  Controls controls;
  controls.backend = Backend::Torch;
  controls.attentionOnce = true;
  Planned kept = planned(makeDitProgram(blocks), controls);
  EXPECT_EQ(kept.simulation.heldBytes, (2 * blocks - 1) * u + blocks * lse);
  // At b4 `torch` has o and lse of that block in any case.
  EXPECT_EQ(kept.simulation.liveBytes,
            (2 * blocks - 1) * u + blocks * lse + 10 * u + stats);
  controls.backend = Backend::Unsloth;
  Planned offloaded = planned(makeDitProgram(blocks), controls);
  EXPECT_EQ(offloaded.simulation.heldBytes, 0);
  // As many copies in as out: x but block 0's, and o and lse of every block.
  EXPECT_EQ(offloaded.simulation.copiedToHost,
            (2 * blocks - 1) * u + blocks * lse);
  EXPECT_EQ(offloaded.simulation.copiedToDevice,
            offloaded.simulation.copiedToHost);
}

// A segment of two: the states at 2, 4, ... are kept, L / 2 - 1 of them. When
// the last block's b4 runs, the segment's first block has its whole replay:
// qkv o x1 h (9 u) and the state between them (1 u); 11 u as in `torch`.
TEST(PeakOfFlags, Interval) {
  constexpr int64_t blocks = 16;
  Controls controls;
  controls.backend = Backend::Torch;
  controls.interval = 2;
  Planned p = planned(makeDitProgram(blocks), controls);
  EXPECT_EQ(p.simulation.heldBytes, (blocks / 2 - 1) * u);
  EXPECT_EQ(p.simulation.liveBytes,
            (blocks / 2 - 1) * u + 21 * u + 2 * (lse + stats) + stats);
}

// Every legal combination packs into 1.02 times its live bytes, at sizes that
// are no multiples of the alignment too.
TEST(PeakOfFlags, ArenaIsTight) {
  Program program = makeDitProgram(8);
  int count = 0;
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn})
    for (int segments = 0; segments < 3; ++segments)
      for (int flags = 0; flags < 4; ++flags)
        for (int64_t image : {1, 77, 1000, 4096}) {
          Controls controls;
          controls.backend = backend;
          if (segments)
            controls.interval = 2;
          if (segments == 2)
            controls.segmentStride = 4;
          controls.attentionOnce = flags & 1;
          controls.offloadAttention = flags & 2;
          if (!checkControls(controls).ok())
            continue;
          planned(program, controls, image);
          ++count;
        }
  // none 2, the ffn ones 2 x 3 x 2, the whole-block ones 2 x 3 x 4, 4 sizes.
  EXPECT_EQ(count, 4 * (2 + 12 + 24));
}

// A second is what all of `--plan-only` has for 80 blocks. The least of three
// runs, as the machine may be busy with other tests.
TEST(PeakOfFlags, EightyBlocksInTime) {
  Program program = makeDitProgram(80);
  Profile profile = *profileNamed("h200");
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn}) {
    Controls controls;
    controls.backend = backend;
    controls.offloadAttention = true;
    Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
    ASSERT_TRUE(plan.ok());
    double least = 1e9;
    for (int run = 0; run < 3; ++run) {
      auto begin = std::chrono::steady_clock::now();
      Result<Schedule> schedule =
          instantiate(program, *plan, {{"image", tokens}}, controls, profile);
      ASSERT_TRUE(schedule.ok()) << schedule.message();
      ASSERT_TRUE(verify(*schedule).ok());
      simulate(program, *schedule, profile);
      least = std::min(least, std::chrono::duration<double>(
                                  std::chrono::steady_clock::now() - begin)
                                  .count());
    }
    std::cout << nameOf(backend) << ": " << least << " s\n";
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) &&     \
    !__has_feature(thread_sanitizer)
    EXPECT_LT(least, 0.3) << nameOf(backend);
#endif
  }
}
