//===- RematerializeTest.cpp - from a demand to three op lists ------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Rematerialize.h"
#include "Plan/Policy.h"
#include "TestProgram.h"

#include <gtest/gtest.h>

using namespace ckpt::rt;

namespace {

/// `f0 f1(a,h) out:x`: the written values where an op has more than one.
std::string show(const BlockKind &kind, const std::vector<VariantStep> &steps) {
  std::string text;
  for (const VariantStep &step : steps) {
    text += text.empty() ? "" : " ";
    if (step.kind != VariantStep::Kind::Launch) {
      text += step.kind == VariantStep::Kind::CopyOut ? "out:" : "in:";
      text += kind.saved[step.index].name;
      continue;
    }
    const SelectedOp &op = kind.ops[step.index];
    text += op.id;
    if (op.writes.size() < 2)
      continue;
    std::string writes;
    for (size_t w = 0; w < op.writes.size(); ++w)
      if (step.writes[w])
        writes += (writes.empty() ? "" : ",") + kind.values[op.writes[w]].name;
    text += "(" + writes + ")";
  }
  return text;
}

/// The lists of block `block` of a plan.
struct Lists {
  std::string forward, replay, backward;
};

Lists listsOf(const Program &program, const Controls &controls, int block) {
  Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
  EXPECT_TRUE(plan.ok()) << plan.message();
  const BlockKind &kind = program.kinds[plan->blocks[block].ref.kind];
  Result<Variant> variant = makeVariant(kind, plan->blocks[block].demand);
  EXPECT_TRUE(variant.ok()) << variant.message();
  return {show(kind, variant->forward), show(kind, variant->replay),
          show(kind, variant->backward)};
}

Controls controlsOf(Backend backend, std::optional<int64_t> interval = {}) {
  Controls controls;
  controls.backend = backend;
  controls.interval = interval;
  return controls;
}

constexpr const char *wholeBackward = "b0 b1 b2 b3 b4 b5 b6";
constexpr const char *forwardOfNone =
    "f0(n,stats1) f1 f2(o,lse) f3 f4(n2,stats2) f5(a,h) f6";
// Nothing is saved: no statistics, no lse, no h.
constexpr const char *bareForward = "f0(n) f1 f2(o) f3 f4(n2) f5(a) f6";

// levels.md section 4, with the attention half of a whole block before it.
TEST(Rematerialize, ListsPerPolicy) {
  Program program = makeDitProgram(2);
  auto lists = [&](Backend backend) {
    return listsOf(program, controlsOf(backend), 1);
  };
  Lists none = lists(Backend::None);
  EXPECT_EQ(none.forward, forwardOfNone);
  EXPECT_EQ(none.replay, "");
  EXPECT_EQ(none.backward, wholeBackward);

  // f5's replay writes no a, f6 does not run again.
  Lists torchFfn = lists(Backend::TorchFfn);
  EXPECT_EQ(torchFfn.forward, "f0(n,stats1) f1 f2(o,lse) f3 f4(n2) f5(a) f6");
  EXPECT_EQ(torchFfn.replay, "f4(n2,stats2) f5(h)");
  EXPECT_EQ(torchFfn.backward, wholeBackward);

  Lists unslothFfn = lists(Backend::UnslothFfn);
  EXPECT_EQ(unslothFfn.forward,
            "f0(n,stats1) f1 f2(o,lse) f3 out:x1 f4(n2) f5(a) f6");
  EXPECT_EQ(unslothFfn.replay, "in:x1 f4(n2,stats2) f5(h)");
  EXPECT_EQ(unslothFfn.backward, wholeBackward);

  Lists torch = lists(Backend::Torch);
  EXPECT_EQ(torch.forward, bareForward);
  EXPECT_EQ(torch.replay, "f0(n,stats1) f1 f2(o,lse) f3 f4(n2,stats2) f5(h)");
  EXPECT_EQ(torch.backward, wholeBackward);

  Lists unsloth = lists(Backend::Unsloth);
  EXPECT_EQ(unsloth.forward, std::string("out:x ") + bareForward);
  EXPECT_EQ(unsloth.replay,
            "in:x f0(n,stats1) f1 f2(o,lse) f3 f4(n2,stats2) f5(h)");
  EXPECT_EQ(unsloth.backward, wholeBackward);
}

TEST(Rematerialize, FirstBlockCopiesNothingOfTheCallers) {
  Lists first = listsOf(makeDitProgram(2), controlsOf(Backend::Unsloth), 0);
  EXPECT_EQ(first.forward, bareForward);
  EXPECT_EQ(first.replay, "f0(n,stats1) f1 f2(o,lse) f3 f4(n2,stats2) f5(h)");
}

TEST(Rematerialize, InsideASegmentTheResultIsMadeAgain) {
  Program program = makeDitProgram(2);
  // f6, and so f5's a, run again for the next block's x.
  EXPECT_EQ(listsOf(program, controlsOf(Backend::Torch, 2), 0).replay,
            "f0(n,stats1) f1 f2(o,lse) f3 f4(n2,stats2) f5(a,h) f6");
  Lists last = listsOf(program, controlsOf(Backend::Torch, 2), 1);
  EXPECT_EQ(last.replay, "f0(n,stats1) f1 f2(o,lse) f3 f4(n2,stats2) f5(h)");
  EXPECT_EQ(last.forward, bareForward);
}

TEST(Rematerialize, AttentionRunsOnce) {
  Program program = makeDitProgram(2);
  Controls once = controlsOf(Backend::Torch);
  once.attentionOnce = true;
  Lists lists = listsOf(program, once, 1);
  EXPECT_EQ(lists.forward, "f0(n) f1 f2(o,lse) f3 f4(n2) f5(a) f6");
  EXPECT_EQ(lists.replay, "f0(n,stats1) f1 f3 f4(n2,stats2) f5(h)");

  once.backend = Backend::Unsloth;
  lists = listsOf(program, once, 1);
  EXPECT_EQ(lists.forward,
            "out:x f0(n) f1 f2(o,lse) out:o out:lse f3 f4(n2) f5(a) f6");
  // lse is read by the attention's backward alone: its copy comes there.
  EXPECT_EQ(lists.replay, "in:x f0(n,stats1) f1 in:o f3 f4(n2,stats2) f5(h)");
  EXPECT_EQ(lists.backward, "b0 b1 b2 b3 in:lse b4 b5 b6");
}

TEST(Rematerialize, OffloadAttentionReplaysNothing) {
  Controls offload;
  offload.offloadAttention = true;
  Lists lists = listsOf(makeDitProgram(2), offload, 1);
  EXPECT_EQ(lists.forward, "f0(n,stats1) out:stats1 f1 out:qkv f2(o,lse) "
                           "out:o out:lse f3 f4(n2,stats2) f5(a,h) f6");
  EXPECT_EQ(lists.replay, "");
  EXPECT_EQ(lists.backward,
            "b0 b1 b2 b3 in:qkv in:o in:lse b4 b5 in:stats1 b6");
}

TEST(Rematerialize, BackwardMakesOnlyWhatIsAskedFor) {
  Program program = makeDitProgram(1);
  const BlockKind &kind = program.kinds[0];
  Demand demand{std::vector<Fate>(8, Fate::Keep), {false}, {false}};
  Result<Variant> variant = makeVariant(kind, demand);
  ASSERT_TRUE(variant.ok()) << variant.message();
  EXPECT_EQ(show(kind, variant->backward), "");
  Demand normalized = normalizeFates(kind, demand);
  EXPECT_EQ(normalized.fates, std::vector<Fate>(8, Fate::Unused));
  EXPECT_EQ(show(kind, makeVariant(kind, normalized)->forward), bareForward);

  // The adapter keeps its parameter gradients and drops dx.
  Program adapter = makeAdapterProgram(2);
  EXPECT_EQ(listsOf(adapter, {}, 0).backward, "b1 b2 b3");
  EXPECT_EQ(listsOf(adapter, {}, 1).backward, "b0 b1 b2 b3");
}

TEST(Rematerialize, AStateThatOnlyTheReplayReadsIsHeld) {
  // Without dx nothing of the attention half is read by the backward, yet the
  // replay of h walks back to x.
  Program program = makeDitProgram(1);
  BlockKind kind = program.kinds[0];
  kind.ops.resize(kind.numForwardOps + 1); // b0 alone: dy w2 h -> dh
  int dh = kind.ops.back().writes[0];
  kind.values[dh].kind = ValueKind::GradStateIn;
  kind.values[dh].index = 0;
  std::vector<Fate> fates(8, Fate::Recompute);
  fates[0] = Fate::Keep;
  Demand demand = normalizeFates(kind, {fates, {false}, {true}});
  std::vector<Fate> expected(8, Fate::Recompute);
  expected[0] = Fate::Keep;
  // stats1, lse and stats2: nobody reads them. qkv, o, x1: the replay does.
  expected[1] = expected[4] = expected[6] = Fate::Unused;
  EXPECT_EQ(demand.fates, expected);
  EXPECT_EQ(show(kind, makeVariant(kind, demand)->replay),
            "f0(n) f1 f2(o) f3 f4(n2) f5(h)");
}

TEST(Rematerialize, SaysWhatIsNotAvailable) {
  Program program = makeDitProgram(1);
  const BlockKind &kind = program.kinds[0];
  std::vector<Fate> fates(8, Fate::Keep);
  fates[7] = Fate::Unused;
  EXPECT_EQ(makeVariant(kind, {fates, {false}, {true}}).message(),
            "@dit: op b0 reads h, expected it saved or made again before, "
            "found fate unused");
  fates.assign(8, Fate::Recompute);
  fates[0] = Fate::Unused;
  EXPECT_EQ(makeVariant(kind, {fates, {false}, {true}}).message(),
            "@dit: op f0 reads x, expected it saved or made again before, "
            "found fate unused");
  BlockKind forgot = kind;
  forgot.saved.pop_back();
  EXPECT_EQ(
      makeVariant(forgot, {std::vector<Fate>(7, Fate::Keep), {false}, {true}})
          .message(),
      "@dit: op b0 reads h, expected it saved or made again before, "
      "found no saved value of that name");
  EXPECT_EQ(makeVariant(kind, {{}, {false}, {true}}).message(),
            "@dit: expected 8 fates in the demand, found 0");
}

TEST(Rematerialize, EveryVariantOfTheMenuReadsOnlyWhatIsThere) {
  // `makeVariant` checks each itself; here that every offloaded value goes
  // out once, and comes back once exactly where something reads it.
  Program program = makeDitProgram(4);
  for (const Variant &variant : program.kinds[0].variants) {
    for (size_t i = 0; i < program.kinds[0].saved.size(); ++i) {
      auto count = [&](const std::vector<VariantStep> &steps,
                       VariantStep::Kind kind) {
        int n = 0;
        for (const VariantStep &step : steps)
          n += step.kind == kind && step.index == int(i);
        return n;
      };
      int offloaded = variant.demand.fates[i] == Fate::Offload;
      EXPECT_EQ(count(variant.forward, VariantStep::Kind::CopyOut), offloaded);
      EXPECT_EQ(count(variant.replay, VariantStep::Kind::CopyIn) +
                    count(variant.backward, VariantStep::Kind::CopyIn),
                offloaded);
    }
  }
}

} // namespace
