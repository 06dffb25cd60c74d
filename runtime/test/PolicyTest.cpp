//===- PolicyTest.cpp - from controls to fates ----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Policy.h"
#include "Plan/Rematerialize.h"
#include "TestProgram.h"

#include <gtest/gtest.h>

using namespace ckpt::rt;

namespace {

constexpr Backend allBackends[] = {Backend::None, Backend::Torch,
                                   Backend::TorchFfn, Backend::Unsloth,
                                   Backend::UnslothFfn};

Controls controlsOf(Backend backend, std::optional<int64_t> interval = {},
                    std::optional<int64_t> stride = {}) {
  Controls controls;
  controls.backend = backend;
  controls.interval = interval;
  controls.segmentStride = stride;
  return controls;
}

/// `[0,1] 2 3 [4,5]`: checkpointed segments in brackets.
std::string show(const std::vector<Segment> &segments) {
  std::string text;
  for (const Segment &segment : segments) {
    text += text.empty() ? "" : " ";
    text += segment.checkpointed ? "[" : "";
    for (int i = 0; i < segment.count; ++i)
      text += (i ? "," : "") + std::to_string(segment.first + i);
    text += segment.checkpointed ? "]" : "";
  }
  return text;
}

std::string segmentsOf(int blocks, const Controls &controls) {
  return show(segmentStack(blocks, controls));
}

// The oracle of ten lines: block i of a stack of L is checkpointed when
// i mod s < n, and joins its predecessor's segment when that is too and i is
// no start; `-ffn` never joins.
std::string oracle(int L, Backend backend, int n, int s) {
  std::string text;
  bool ffn = backend == Backend::TorchFfn || backend == Backend::UnslothFfn;
  for (int i = 0; i < L; ++i) {
    bool in = ffn && s == n ? i % n == 0 : i % s < n;
    bool joins = in && !ffn && i % s != 0;
    if (joins)
      text.pop_back();
    text += joins ? "," : i ? in ? " [" : " " : in ? "[" : "";
    text += std::to_string(i) + (in ? "]" : "");
  }
  return text;
}

TEST(Segments, AgreeWithTheOracleOnAllStacksTo24Blocks) {
  int checked = 0;
  for (Backend backend : {Backend::Torch, Backend::Unsloth, Backend::TorchFfn,
                          Backend::UnslothFfn}) {
    for (int blocks = 0; blocks <= 24; ++blocks) {
      EXPECT_EQ(segmentsOf(blocks, controlsOf(backend)),
                oracle(blocks, backend, 1, 1));
      for (int n = 1; n <= 26; ++n) {
        ASSERT_EQ(segmentsOf(blocks, controlsOf(backend, n)),
                  oracle(blocks, backend, n, n))
            << nameOf(backend) << " interval " << n;
        // For `-ffn`, a stride equal to the interval chooses every block.
        for (int s = n + 1; s <= 27; ++s, ++checked)
          ASSERT_EQ(segmentsOf(blocks, controlsOf(backend, n, s)),
                    oracle(blocks, backend, n, s))
              << nameOf(backend) << " interval " << n << " stride " << s;
      }
    }
  }
  // 4 backends x 25 lengths x (26 + 25 + ... + 1) pairs.
  EXPECT_EQ(checked, 4 * 25 * 351);
}

// Case 4 of controls.md and S1, S3 of field-cases.md.
TEST(Segments, OfTheFieldCases) {
  EXPECT_EQ(segmentsOf(5, controlsOf(Backend::Torch, 2)), "[0,1] [2,3] [4]");
  EXPECT_EQ(segmentsOf(6, controlsOf(Backend::Torch, 2, 4)), "[0,1] 2 3 [4,5]");
  EXPECT_EQ(segmentsOf(24, controlsOf(Backend::Unsloth, 7)),
            "[0,1,2,3,4,5,6] [7,8,9,10,11,12,13] [14,15,16,17,18,19,20] "
            "[21,22,23]");
  EXPECT_EQ(segmentsOf(5, controlsOf(Backend::Torch, 2, 4)), "[0,1] 2 3 [4]");
  EXPECT_EQ(segmentsOf(7, controlsOf(Backend::Torch, 2, 4)),
            "[0,1] 2 3 [4,5] 6");
  EXPECT_EQ(segmentsOf(1, controlsOf(Backend::Torch, 4)), "[0]");
  EXPECT_EQ(segmentsOf(6, controlsOf(Backend::Torch, 2)), "[0,1] [2,3] [4,5]");
  EXPECT_EQ(segmentsOf(6, controlsOf(Backend::Torch, 4)), "[0,1,2,3] [4,5]");
  EXPECT_EQ(segmentsOf(3, controlsOf(Backend::None)), "0 1 2");
}

// Case 6 of controls.md: under `*-ffn` the controls choose blocks.
TEST(Segments, FfnScopesAreChosenBlockByBlock) {
  EXPECT_EQ(segmentsOf(6, controlsOf(Backend::TorchFfn, 2)),
            "[0] 1 [2] 3 [4] 5");
  EXPECT_EQ(segmentsOf(6, controlsOf(Backend::TorchFfn, 2, 4)),
            "[0] [1] 2 3 [4] [5]");
  EXPECT_EQ(segmentsOf(3, controlsOf(Backend::UnslothFfn)), "[0] [1] [2]");
  EXPECT_EQ(segmentsOf(3, controlsOf(Backend::UnslothFfn, 1)), "[0] [1] [2]");
  // i mod s < n with s = n is every block, while no stride is i mod n = 0.
  EXPECT_EQ(segmentsOf(3, controlsOf(Backend::TorchFfn, 2, 2)), "[0] [1] [2]");
}

TEST(Segments, HugeValuesMeanTheWholeStack) {
  int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(segmentsOf(3, controlsOf(Backend::Torch, most)), "[0,1,2]");
  EXPECT_EQ(segmentsOf(3, controlsOf(Backend::Torch, 2, most)), "[0,1] 2");
}

TEST(Segments, IndexRestartsInEachStackAndScheduleIsBackToFront) {
  Program program = makeDitProgram(3);
  program.stacks.push_back({"second", {0, 0}});
  Result<PlannedStep> plan =
      applyPolicy(program, controlsOf(Backend::Torch, 2), std::nullopt);
  ASSERT_TRUE(plan.ok()) << plan.message();
  EXPECT_EQ(show(plan->segments), "[0,1] [2] [3,4]");
  std::string order;
  for (const TableEntry &entry : scheduleSegments(*plan))
    order += "FRB"[int(entry.phase)] + std::to_string(entry.block) + " ";
  EXPECT_EQ(order, "F0 F1 F2 F3 F4 R3 R4 B4 B3 R2 B2 R0 R1 B1 B0 ");
}

/// One letter a saved value of the block, x stats1 qkv o lse x1 stats2 h:
/// k(eep), r(ecompute), o(ffload), - (unused).
std::string fatesOf(const Demand &demand) {
  std::string text;
  for (Fate fate : demand.fates)
    text += "-kro"[int(fate)];
  return text;
}

/// The fates of every block, and a `+` where the replay makes the result.
std::string fatesOf(const Program &program, const Controls &controls) {
  Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
  if (!plan.ok())
    return plan.message();
  std::string text;
  for (const BlockPlan &block : plan->blocks) {
    text += text.empty() ? "" : " ";
    text += fatesOf(block.demand) + (block.demand.replayResults[0] ? "+" : "");
  }
  return text;
}

TEST(Policy, FatesOfTheBackends) {
  Program program = makeDitProgram(2);
  auto fates = [&](Controls controls) { return fatesOf(program, controls); };
  EXPECT_EQ(fates(controlsOf(Backend::None)), "kkkkkkkk kkkkkkkk");
  EXPECT_EQ(fates(controlsOf(Backend::Torch)), "krrrrrrr krrrrrrr");
  EXPECT_EQ(fates(controlsOf(Backend::TorchFfn)), "kkkkkkrr kkkkkkrr");
  // The first block's x is the caller's own.
  EXPECT_EQ(fates(controlsOf(Backend::Unsloth)), "krrrrrrr orrrrrrr");
  EXPECT_EQ(fates(controlsOf(Backend::UnslothFfn)), "kkkkkorr kkkkkorr");
}

TEST(Policy, IntervalReplaysTheStatesBetween) {
  Program program = makeDitProgram(5);
  EXPECT_EQ(fatesOf(program, controlsOf(Backend::Torch, 2)),
            "krrrrrrr+ rrrrrrrr krrrrrrr+ rrrrrrrr krrrrrrr");
  EXPECT_EQ(fatesOf(program, controlsOf(Backend::Unsloth, 2, 4)),
            "krrrrrrr+ rrrrrrrr kkkkkkkk kkkkkkkk orrrrrrr");
  EXPECT_EQ(fatesOf(program, controlsOf(Backend::UnslothFfn, 2)),
            "kkkkkorr kkkkkkkk kkkkkorr kkkkkkkk kkkkkorr");
}

TEST(Policy, AttentionFlags) {
  Program program = makeDitProgram(2);
  auto fates = [&](Backend backend, bool once, bool offload,
                   std::optional<int64_t> interval = {},
                   std::optional<int64_t> stride = {}) {
    Controls controls = controlsOf(backend, interval, stride);
    controls.attentionOnce = once;
    controls.offloadAttention = offload;
    return fatesOf(program, controls);
  };
  EXPECT_EQ(fates(Backend::Torch, true, false), "krrkkrrr krrkkrrr");
  EXPECT_EQ(fates(Backend::Unsloth, true, false), "krroorrr orroorrr");
  // In a recomputed scope it is O and LSE alone, with or without the other.
  EXPECT_EQ(fates(Backend::Torch, false, true), "krroorrr krroorrr");
  EXPECT_EQ(fates(Backend::Torch, true, true), "krroorrr krroorrr");
  EXPECT_EQ(fates(Backend::Unsloth, true, true), "krroorrr orroorrr");
  // Elsewhere all inside ckpt.attention but its result x1.
  EXPECT_EQ(fates(Backend::None, false, true), "kooookkk kooookkk");
  EXPECT_EQ(fates(Backend::TorchFfn, false, true), "kooookrr kooookrr");
  EXPECT_EQ(fates(Backend::UnslothFfn, false, true), "kooooorr kooooorr");
  EXPECT_EQ(fates(Backend::Torch, false, true, 1, 2), "krroorrr kooookkk");
}

TEST(Policy, ThreePlansOfOneProgramAreTheSame) {
  Program program = makeDitProgram(6);
  std::string first = fatesOf(program, controlsOf(Backend::Torch, 2));
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(fatesOf(program, controlsOf(Backend::Torch, 2)), first);
}

TEST(Policy, GradientsAreAskedForWhereSomethingBeforeNeedsThem) {
  // The adapter's state is plain, but its parameters train: block 0 makes no
  // dx, block 1 must.
  Program program = makeAdapterProgram(2);
  Result<PlannedStep> plan =
      applyPolicy(program, controlsOf(Backend::None), std::nullopt);
  ASSERT_TRUE(plan.ok()) << plan.message();
  EXPECT_FALSE(plan->blocks[0].demand.stateGradients[0]);
  EXPECT_TRUE(plan->blocks[1].demand.stateGradients[0]);
  // Without it the first block's gradient of the weight still reads x.
  EXPECT_EQ(fatesOf(plan->blocks[0].demand), "k");

  Program frozen = makeDitProgram(2);
  frozen.kinds[0].states[0].needsGradient = false;
  fillMenu(frozen);
  EXPECT_EQ(applyPolicy(frozen, {}, std::nullopt).message(),
            "the step: expected a differentiable state or input or a trainable "
            "parameter, found none; there is no gradient to compute");
}

TEST(Policy, EveryDemandIsInTheMenu) {
  for (Program program : {makeDitProgram(9), makeAdapterProgram(9)}) {
    int plans = 0;
    for (Backend backend : allBackends)
      for (int64_t n = 0; n <= 4; ++n)
        for (int64_t s = 0; s <= 6; ++s)
          for (int flags = 0; flags < 4; ++flags)
            for (int64_t limit : {1, 2, 9}) {
              Controls controls = controlsOf(backend);
              if (n)
                controls.interval = n;
              if (s)
                controls.segmentStride = s;
              controls.attentionOnce = flags & 1;
              controls.offloadAttention = flags & 2;
              Result<PlannedStep> plan = applyPolicy(program, controls, limit);
              if (!plan.ok())
                continue;
              ++plans;
              for (const BlockPlan &block : plan->blocks)
                ASSERT_GE(
                    findVariant(program.kinds[block.ref.kind], block.demand), 0)
                    << nameOf(backend) << " " << n << " " << s << " " << flags;
            }
    EXPECT_GT(plans, 50);
  }
}

TEST(Menu, HoldsNoDemandTwiceAndNoneFirst) {
  Program program = makeDitProgram(2);
  std::vector<Demand> menu = menuOf(program, 0);
  for (size_t i = 0; i < menu.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(menu[i] == menu[j]);
  EXPECT_EQ(fatesOf(menu[0]), "kkkkkkkk");
  // Fates without a recomputed state: 2 of none, 3 of torch (bare, O and LSE
  // kept, O and LSE offloaded), 2 each of -ffn, and with x offloaded 2 of
  // unsloth; the first block's x kept adds none. Those of the whole-block
  // scopes once more with a replayed result, and the three inner ones with
  // and without.
  EXPECT_EQ(menu.size(), 2u + 3 * 2 + 2 + 2 + 2 * 2 + 3 * 2);
}

TEST(Controls, BackendsByName) {
  for (Backend backend : allBackends)
    EXPECT_EQ(*parseBackend(nameOf(backend)), backend);
  EXPECT_EQ(parseBackend("Torch").message(),
            "--backend: expected none, torch, torch-ffn, unsloth or "
            "unsloth-ffn, found Torch");
  // Defaults: none, no interval, no stride, no flag.
  Controls defaults;
  EXPECT_EQ(defaults.backend, Backend::None);
  EXPECT_TRUE(checkControls(defaults).ok());
}

TEST(Controls, RefusalsNameFlagExpectedAndFound) {
  auto message = [](Controls controls) {
    Status status = checkControls(controls);
    return status.ok() ? "ok" : status.message();
  };
  EXPECT_EQ(message(controlsOf(Backend::Torch, 0)),
            "--interval: expected at least 1, found 0");
  EXPECT_EQ(message(controlsOf(Backend::Torch, -1)),
            "--interval: expected at least 1, found -1");
  EXPECT_EQ(message(controlsOf(Backend::Torch, 1, 0)),
            "--segment-stride: expected at least 1, found 0");
  EXPECT_EQ(message(controlsOf(Backend::Torch, 4, 2)),
            "--segment-stride: expected at least the interval 4, found 2");
  EXPECT_EQ(message(controlsOf(Backend::Torch, {}, 2)),
            "--segment-stride: expected --interval beside it, found none; add "
            "--interval=N or leave --segment-stride out");
  EXPECT_EQ(message(controlsOf(Backend::None, 2)),
            "--interval: expected a backend that checkpoints blocks (torch, "
            "torch-ffn, unsloth, unsloth-ffn), found --backend=none; choose "
            "one or leave --interval out");
  EXPECT_EQ(message(controlsOf(Backend::None, {}, 2)),
            "--segment-stride: expected a backend that checkpoints blocks "
            "(torch, torch-ffn, unsloth, unsloth-ffn), found --backend=none; "
            "choose one or leave --segment-stride out");
  for (Backend backend :
       {Backend::None, Backend::TorchFfn, Backend::UnslothFfn}) {
    Controls controls = controlsOf(backend);
    controls.attentionOnce = true;
    EXPECT_EQ(message(controls),
              std::string("--attention-once: expected --backend=torch or "
                          "--backend=unsloth, found --backend=") +
                  nameOf(backend) + "; attention already runs once there");
  }
  // Flags that another implies, and equal values, are no errors.
  Controls implied = controlsOf(Backend::Unsloth, 2, 2);
  implied.attentionOnce = implied.offloadAttention = true;
  EXPECT_EQ(message(implied), "ok");
}

TEST(Controls, PinnedBucketsNeedSomethingOffloaded) {
  auto message = [](Backend backend, int64_t buckets, bool offload = false) {
    Controls controls = controlsOf(backend);
    controls.pinMemoryMaxBuckets = buckets;
    controls.offloadAttention = offload;
    Status status = checkControls(controls);
    return status.ok() ? "ok" : status.message();
  };
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn}) {
    EXPECT_EQ(message(backend, 12),
              std::string("--pin-memory-max-buckets: expected something that "
                          "is offloaded (--backend=unsloth, "
                          "--backend=unsloth-ffn or --offload-attention), "
                          "found --backend=") +
                  nameOf(backend) + " alone");
    EXPECT_EQ(message(backend, 12, true), "ok");
  }
  EXPECT_EQ(message(Backend::Unsloth, 0), "ok");
  EXPECT_EQ(message(Backend::UnslothFfn, 12), "ok");
  EXPECT_EQ(message(Backend::Unsloth, -1),
            "--pin-memory-max-buckets: expected 0 to 65536, found -1");
  EXPECT_EQ(message(Backend::Unsloth, 1000000000),
            "--pin-memory-max-buckets: expected 0 to 65536, found 1000000000");
}

TEST(Controls, KindsMustHaveTheAskedRegion) {
  Program program = makeAdapterProgram(2);
  auto message = [&](Controls controls) {
    return applyPolicy(program, controls, std::nullopt).message();
  };
  EXPECT_EQ(message(controlsOf(Backend::TorchFfn)),
            "--backend=torch-ffn: expected a ckpt.ffn in every block kind, "
            "found none in @adapter");
  Controls once = controlsOf(Backend::Torch);
  once.attentionOnce = true;
  EXPECT_EQ(message(once), "--attention-once: expected a ckpt.attention in "
                           "every block kind, found none in @adapter");
  Controls offload;
  offload.offloadAttention = true;
  EXPECT_EQ(message(offload), "--offload-attention: expected a ckpt.attention "
                              "in every block kind, found none in @adapter");
}

} // namespace
