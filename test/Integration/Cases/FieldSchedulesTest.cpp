//===- FieldSchedulesTest.cpp - which blocks go together ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cases S1 and S3 of the field (Cases.h), executed.
///
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Device/Host/HostDevice.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace ckpt;
using namespace ckpt::test;

namespace {

std::string printed(const Model &model, const rt::Schedule &schedule) {
  std::ostringstream text;
  rt::print(*model.loaded.program, schedule, text);
  return text.str();
}

/// Blocks that are replayed, in order.
std::vector<int> replayedBlocks(const rt::Schedule &schedule) {
  std::vector<int> blocks;
  for (const rt::TableEntry &entry : schedule.table)
    if (entry.phase == Phase::Replay)
      blocks.push_back(entry.block);
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

/// Names of what the arena holds from forward to backward.
std::set<std::string> heldNames(const rt::Schedule &schedule) {
  std::set<std::string> names;
  for (const rt::Buffer &buffer : schedule.buffers)
    if (buffer.space == rt::Space::Arena &&
        buffer.begin < schedule.forwardEnd && buffer.end > schedule.forwardEnd)
      names.insert(buffer.name);
  return names;
}

// 24 blocks by 7: the last segment has 3. 5 blocks by 2 of 4: the last is a
// tail of 1. 7 by 2 of 4: block 6 is beyond the interval. 1 by 4: clamped.
TEST(S1, TheLastSegmentIsClamped) {
  Model model = compileModel(smallTransformer(24), "f32", {{"tokens", 4}});
  struct Case {
    int blocks, interval;
    std::optional<int64_t> stride;
    const char *segments;
    /// Not checkpointed.
    std::set<int> plain;
  };
  const Case cases[] = {{24,
                         7,
                         {},
                         "[0,1,2,3,4,5,6] [7,8,9,10,11,12,13] "
                         "[14,15,16,17,18,19,20] [21,22,23]",
                         {}},
                        {5, 2, 4, "[0,1] 2 3 [4]", {2, 3}},
                        {7, 2, 4, "[0,1] 2 3 [4,5] 6", {2, 3, 6}},
                        {1, 4, {}, "[0]", {}}};
  for (const Case &c : cases) {
    model.options.blocks = c.blocks;
    PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
    for (rt::Backend backend : {rt::Backend::Torch, rt::Backend::Unsloth}) {
      rt::Controls controls = controlsOf(backend, c.interval, c.stride);
      SCOPED_TRACE(std::to_string(c.blocks) + " blocks " + describe(controls));
      PolicyRun run = runModel(model, controls);
      expectSameBits(run, none);
      EXPECT_EQ(segmentsOf(*run.schedule), c.segments);
      std::vector<int> replayed;
      for (int block = 0; block < c.blocks; ++block) {
        if (!c.plain.count(block))
          replayed.push_back(block);
        // A plain block keeps all that its backward reads and runs once.
        EXPECT_EQ(countLaunches(*run.schedule, Phase::Replay, block) == 0,
                  c.plain.count(block) == 1)
            << block;
      }
      EXPECT_EQ(replayedBlocks(*run.schedule), replayed);
    }
  }
}

// An interval is a run of blocks, not every n-th block, whichever step it is:
// with 2 in 6 blocks three states are kept (the first is the caller's), and all
// six blocks are replayed.
TEST(S3, AnIntervalIsARunOfBlocksOnEveryStep) {
  Model model = compileModel(smallTransformer(6), "f32", {{"tokens", 5}});
  PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
  PolicyRun run = runModel(model, controlsOf(rt::Backend::Torch, 2));
  expectSameBits(run, none);
  EXPECT_EQ(segmentsOf(*run.schedule), "[0,1] [2,3] [4,5]");
  EXPECT_EQ(replayedBlocks(*run.schedule),
            (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(heldNames(*run.schedule), (std::set<std::string>{"b2.x", "b4.x"}));
  // 1 x 5 x 16 floats are 320 bytes, 512 in the arena.
  EXPECT_EQ(run.simulation.heldBytes, 2 * 512);

  // Three steps of one step object.
  rt::Result<rt::Step> step = rt::Step::create(
      model.loaded.program, run.schedule, std::make_shared<rt::HostDevice>());
  ASSERT_TRUE(step.ok()) << step.message();
  std::vector<run::Tensor> tensors =
      std::move(*run::makeTensors(*run.schedule, model.options));
  for (run::Tensor &tensor : tensors)
    ASSERT_TRUE(
        step->bind(tensor.external.name, tensor.data.get(), tensor.bytes).ok());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(step->run().ok());
    EXPECT_EQ(run::digestOf(tensors), none.digest) << "step " << i;
    EXPECT_EQ(step->statistics().replayedOps, i * run.simulation.replayedOps);
  }
  // And of three planned one after the other.
  std::string first = printed(model, *run.schedule);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(
        printed(model,
                *runModel(model, controlsOf(rt::Backend::Torch, 2)).schedule),
        first);

  PolicyRun four = runModel(model, controlsOf(rt::Backend::Torch, 4));
  expectSameBits(four, none);
  EXPECT_EQ(segmentsOf(*four.schedule), "[0,1,2,3] [4,5]");
  EXPECT_EQ(heldNames(*four.schedule), (std::set<std::string>{"b4.x"}));
}

} // namespace
