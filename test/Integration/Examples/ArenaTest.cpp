//===- ArenaTest.cpp - how full the arena of the examples is --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// The twins in bf16 at sizes where 256 bytes of alignment show and where values
// of very different size meet at the peak, planned and not executed: the arena
// is at most 1.02 times the largest sum of live bytes. LoRA with attention
// offloaded is the hardest: copies end in the order of their sources, so that
// the saves do not nest.
//
//===----------------------------------------------------------------------===//

#include "Plan/Policy.h"
#include "Policies.h"

#include <gtest/gtest.h>

using namespace ckpt;
using namespace ckpt::test;

namespace {

struct Sweep {
  std::string name, file, tokens;
  std::vector<int64_t> counts, blocks;
};

class Arena : public testing::TestWithParam<Sweep> {};

TEST_P(Arena, IsNearlyFull) {
  const Sweep &sweep = GetParam();
  run::Options options;
  options.planOnly = true;
  options.file = std::string(CKPT_EXAMPLES "/twins/") + sweep.file;
  options.sizes = {{"batch", 1}, {sweep.tokens, 1}};
  if (sweep.name == "wan")
    options.sizes["text"] = 7;
  rt::Result<run::Loaded> loaded = run::load(options);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  const rt::Program &program = *loaded->program;

  for (rt::Backend backend :
       {rt::Backend::None, rt::Backend::Torch, rt::Backend::TorchFfn,
        rt::Backend::Unsloth, rt::Backend::UnslothFfn})
    for (int interval : {0, 2})
      for (bool offloads : {false, true}) {
        rt::Controls controls;
        controls.backend = backend;
        if (interval)
          controls.interval = interval;
        controls.offloadAttention = offloads;
        if (!rt::checkControls(controls).ok())
          continue;
        for (int64_t blocks : sweep.blocks)
          for (int64_t count : sweep.counts)
            for (const char *machine : {"host", "h200"}) {
              SCOPED_TRACE(describe(controls) + " " + std::to_string(blocks) +
                           " blocks, " + std::to_string(count) + " " +
                           sweep.tokens + ", " + machine);
              rt::Result<rt::PlannedStep> plan =
                  rt::applyPolicy(program, controls, blocks);
              ASSERT_TRUE(plan.ok()) << plan.message();
              rt::Profile profile = *rt::profileNamed(machine);
              rt::SizeValues sizes = options.sizes;
              sizes[sweep.tokens] = count;
              rt::Result<rt::Schedule> schedule =
                  rt::instantiate(program, *plan, sizes, controls, profile);
              ASSERT_TRUE(schedule.ok()) << schedule.message();
              rt::Status status = rt::verify(*schedule);
              EXPECT_TRUE(status.ok()) << status.message();
              int64_t live =
                  rt::simulate(program, *schedule, profile).liveBytes;
              EXPECT_LE(double(schedule->arenaBytes), 1.02 * double(live));
            }
      }
}

INSTANTIATE_TEST_SUITE_P(
    Twins, Arena,
    testing::Values(
        Sweep{"dit", "dit-3072.mlir", "image", {62, 260}, {1, 8}},
        Sweep{"lora", "dit-lora.mlir", "image", {38, 62, 112, 260}, {1, 8}},
        Sweep{"wan", "wan-1.3b.mlir", "image", {29, 260}, {2, 8}},
        Sweep{"minilm", "minilm.mlir", "tokens", {64, 260}, {6}}),
    [](const testing::TestParamInfo<Sweep> &info) { return info.param.name; });

} // namespace
