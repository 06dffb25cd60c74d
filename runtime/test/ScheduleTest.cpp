//===- ScheduleTest.cpp - instantiation and simulation --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Schedule.h"
#include "TestProgram.h"

#include "gtest/gtest.h"

#include <functional>
#include <numeric>
#include <sstream>

using namespace ckpt::rt;

namespace {

using Kind = Command::Kind;
using Phase = TableEntry::Phase;

Result<Schedule> tryMake(const Program &program, const Controls &controls,
                         const SizeValues &sizes,
                         std::optional<int64_t> limit = std::nullopt) {
  Result<PlannedStep> plan = applyPolicy(program, controls, limit);
  if (!plan.ok())
    return plan.takeError();
  return instantiate(program, *plan, sizes, controls, *profileNamed("h200"));
}

Schedule make(const Program &program, const Controls &controls,
              const SizeValues &sizes,
              std::optional<int64_t> limit = std::nullopt) {
  Result<Schedule> schedule = tryMake(program, controls, sizes, limit);
  EXPECT_TRUE(schedule.ok()) << schedule.message();
  if (!schedule.ok())
    return {};
  Status status = verify(*schedule);
  EXPECT_TRUE(status.ok()) << status.message();
  return *schedule;
}

Simulation simulated(const Program &program, const Schedule &schedule) {
  return simulate(program, schedule, *profileNamed("h200"));
}

Controls with(Backend backend) {
  Controls controls;
  controls.backend = backend;
  return controls;
}

/// The launch of `id` in a block and phase.
const Command *find(const Schedule &schedule, const std::string &id, int block,
                    Phase phase) {
  for (const Command &command : schedule.commands)
    if (command.kind == Kind::Launch && command.label == id &&
        command.block == block && command.phase == phase)
      return &command;
  return nullptr;
}

std::string nameAt(const Schedule &schedule, const Command &command, int at) {
  int buffer = command.buffers[at];
  return buffer < 0 ? "-" : schedule.buffers[buffer].name;
}

/// `written in place of read`, for each pair of the launch.
std::vector<std::string> pairs(const Schedule &schedule,
                               const Command *command) {
  std::vector<std::string> text;
  for (auto [read, write] : command->inPlace) {
    int to = command->numReads + write;
    text.push_back(nameAt(schedule, *command, to) + " in place of " +
                   nameAt(schedule, *command, read));
    EXPECT_EQ(schedule.buffers[command->buffers[read]].offset,
              schedule.buffers[command->buffers[to]].offset);
  }
  return text;
}

using Texts = std::vector<std::string>;

} // namespace

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

// b0 may write dh over h and does, as nothing reads h again. b2 may take dn2,
// x1 or dy: dn2 comes first. f3 may take x, which the backward needs, so not.
TEST(Buffers, InPlaceAtTheLastUse) {
  Schedule s = make(makeDitProgram(2), with(Backend::None), {{"image", 256}});
  EXPECT_EQ(pairs(s, find(s, "b0", 1, Phase::Backward)),
            Texts{"b1.dh in place of b1.h"});
  EXPECT_EQ(pairs(s, find(s, "b2", 1, Phase::Backward)),
            Texts{"b1.dx1 in place of b1.dn2"});
  EXPECT_EQ(pairs(s, find(s, "b6", 1, Phase::Backward)),
            Texts{"b1.dx in place of b1.dn"});
  // dx of block 0 is the caller's.
  EXPECT_EQ(pairs(s, find(s, "b6", 0, Phase::Backward)), Texts{});
  EXPECT_EQ(pairs(s, find(s, "f3", 1, Phase::Forward)), Texts{});
  EXPECT_EQ(pairs(s, find(s, "f6", 0, Phase::Forward)), Texts{});
}

// `torch` drops x1 in the forward, so y takes its place, but for the last
// block's, which is the caller's.
TEST(Buffers, InPlaceOfWhatIsRecomputed) {
  Schedule s = make(makeDitProgram(2), with(Backend::Torch), {{"image", 256}});
  EXPECT_EQ(pairs(s, find(s, "f6", 0, Phase::Forward)),
            Texts{"b1.x in place of b0.x1"});
  EXPECT_EQ(pairs(s, find(s, "f6", 1, Phase::Forward)), Texts{});
}

// f3 of block 1 reads x last, but its copy out may still be on its way.
TEST(Buffers, NotInPlaceOfWhatIsCopiedOut) {
  Schedule s =
      make(makeDitProgram(3), with(Backend::Unsloth), {{"image", 256}});
  EXPECT_EQ(pairs(s, find(s, "f3", 1, Phase::Forward)), Texts{});
  // The copy that comes back is read once more in b6.
  EXPECT_EQ(pairs(s, find(s, "f3", 1, Phase::Replay)), Texts{});
}

// A kernel that reads one buffer at two places must allow both.
TEST(Buffers, InPlaceMustBeAllowedEverywhere) {
  Program program = makeDitProgram(2);
  BlockKind &kind = program.kinds[0];
  SelectedOp &b2 = kind.ops[kind.numForwardOps + 2];
  // dn2 x1 stats2 dy -> dx1, now with dn2 for dy too.
  b2.reads[3] = b2.reads[0];
  b2.inPlace = {{0, 0}};
  fillMenu(program);
  Schedule s = make(program, with(Backend::None), {{"image", 256}});
  EXPECT_EQ(pairs(s, find(s, "b2", 1, Phase::Backward)), Texts{});
  b2.inPlace = {{0, 0}, {3, 0}};
  s = make(program, with(Backend::None), {{"image", 256}});
  EXPECT_EQ(pairs(s, find(s, "b2", 1, Phase::Backward)),
            (Texts{"b1.dx1 in place of b1.dn2", "b1.dx1 in place of b1.dn2"}));
}

TEST(Buffers, LeftOutWrites) {
  Schedule s = make(makeDitProgram(2), with(Backend::Torch), {{"image", 256}});
  auto writes = [&](const char *id, Phase phase) {
    const Command *command = find(s, id, 1, phase);
    Texts names;
    for (size_t i = command->numReads; i < command->buffers.size(); ++i)
      names.push_back(nameAt(s, *command, int(i)));
    return names;
  };
  EXPECT_EQ(writes("f0", Phase::Forward), (Texts{"b1.n", "-"}));
  EXPECT_EQ(writes("f2", Phase::Forward), (Texts{"b1.o", "-"}));
  EXPECT_EQ(writes("f5", Phase::Forward), (Texts{"b1.a", "-"}));
  EXPECT_EQ(writes("f0", Phase::Replay), (Texts{"b1.n'", "b1.stats1'"}));
  EXPECT_EQ(writes("f5", Phase::Replay), (Texts{"-", "b1.h'"}));
  EXPECT_EQ(find(s, "f6", 1, Phase::Replay), nullptr);
}

TEST(Buffers, Workspace) {
  Schedule s = make(makeDitProgram(2), with(Backend::None), {{"image", 256}});
  const Command *b4 = find(s, "b4", 1, Phase::Backward);
  ASSERT_GE(b4->workspace, 0);
  const Buffer &workspace = s.buffers[b4->workspace];
  EXPECT_EQ(workspace.bytes, 256 * 3072 * 4);
  EXPECT_EQ(workspace.begin, int(b4 - s.commands.data()));
  EXPECT_EQ(workspace.end, workspace.begin + 1);
  EXPECT_EQ(find(s, "b3", 1, Phase::Backward)->workspace, -1);
}

// The states at the borders are one buffer each, and the caller's at the ends.
TEST(Buffers, States) {
  Schedule s = make(makeDitProgram(3), with(Backend::None), {{"image", 256}});
  const Command *f0 = find(s, "f0", 0, Phase::Forward);
  EXPECT_EQ(nameAt(s, *f0, 0), "x");
  EXPECT_EQ(s.buffers[f0->buffers[0]].space, Space::External);
  EXPECT_EQ(find(s, "f6", 0, Phase::Forward)->buffers.back(),
            find(s, "f0", 1, Phase::Forward)->buffers[0]);
  EXPECT_EQ(nameAt(s, *find(s, "f6", 2, Phase::Forward), 4), "out.x");
  EXPECT_EQ(nameAt(s, *find(s, "b0", 2, Phase::Backward), 0), "grad.out.x");
  EXPECT_EQ(find(s, "b6", 2, Phase::Backward)->buffers.back(),
            find(s, "b0", 1, Phase::Backward)->buffers[0]);
  EXPECT_EQ(nameAt(s, *find(s, "b6", 0, Phase::Backward), 4), "grad.x");
  EXPECT_EQ(nameAt(s, *find(s, "f1", 2, Phase::Forward), 1),
            "blocks.2.qkv.weight");
}

// Sums begin at zero before all else of the backward, are added to in place,
// block by block from the last, and are cast after all else.
TEST(Buffers, SumsOfGradients) {
  Program program = makeAdapterProgram(3);
  Schedule s = make(program, Controls(), {{"rows", 5}});
  Texts text;
  for (size_t c = s.forwardEnd; c < s.commands.size(); ++c) {
    const Command &command = s.commands[c];
    std::string line = command.label;
    if (command.block >= 0)
      line += " b" + std::to_string(command.block);
    for (size_t i = command.numReads; i < command.buffers.size(); ++i)
      line += " " + nameAt(s, command, int(i));
    text.push_back(line);
  }
  EXPECT_EQ(text, (Texts{
                      "zero sum.bias",
                      "zero sum.cond",
                      "b0 b2 b2.dx",
                      "b1 b2 grad.blocks.2.w",
                      "b2 b2 sum.bias",
                      "b3 b2 sum.cond",
                      "b0 b1 b1.dx",
                      "b1 b1 grad.blocks.1.w",
                      "b2 b1 sum.bias",
                      "b3 b1 sum.cond",
                      // x needs no gradient, so block 0 makes none.
                      "b1 b0 grad.blocks.0.w",
                      "b2 b0 sum.bias",
                      "b3 b0 sum.cond",
                      "cast grad.bias",
                      "cast grad.cond",
                  }));
  EXPECT_EQ(pairs(s, find(s, "b2", 1, Phase::Backward)),
            Texts{"sum.bias in place of sum.bias"});
}

//===----------------------------------------------------------------------===//
// What is instantiated
//===----------------------------------------------------------------------===//

TEST(Instantiate, BlockLimit) {
  Program program = makeDitProgram(8);
  Schedule s = make(program, with(Backend::None), {{"image", 256}}, 3);
  EXPECT_EQ(s.table.size(), 6u);
  EXPECT_EQ(find(s, "f0", 3, Phase::Forward), nullptr);
  EXPECT_EQ(nameAt(s, *find(s, "f6", 2, Phase::Forward), 4), "out.x");
  Schedule whole =
      make(makeDitProgram(3), with(Backend::None), {{"image", 256}});
  EXPECT_EQ(s.commands.size(), whole.commands.size());
  EXPECT_EQ(s.arenaBytes, whole.arenaBytes);
}

TEST(Instantiate, TwoStacks) {
  Program program = makeDitProgram(3);
  program.stacks.push_back({"second", {0, 0}});
  fillMenu(program);
  Schedule s = make(program, with(Backend::Unsloth), {{"image", 256}});
  EXPECT_EQ(s.plan.blocks.size(), 5u);
  // The second stack takes the state of the first; its index restarts.
  EXPECT_EQ(find(s, "f6", 2, Phase::Forward)->buffers.back(),
            find(s, "f0", 3, Phase::Forward)->buffers[0]);
  EXPECT_EQ(nameAt(s, *find(s, "f1", 3, Phase::Forward), 1),
            "blocks.0.qkv.weight");
}

// All of the arena is proportional to the tokens where every size is a
// multiple of the alignment; the batch counts as much.
TEST(Instantiate, SeveralSizes) {
  Program program = makeDitProgram(4);
  for (Backend backend : {Backend::None, Backend::Torch, Backend::UnslothFfn}) {
    Schedule small = make(program, with(backend), {{"image", 256}});
    Schedule large = make(program, with(backend), {{"image", 1024}});
    Schedule batch =
        make(program, with(backend), {{"image", 256}, {"batch", 4}});
    auto live = [&](const Schedule &s) {
      return simulated(program, s).liveBytes;
    };
    EXPECT_EQ(live(large), 4 * live(small));
    EXPECT_EQ(live(batch), live(large));
    EXPECT_EQ(small.sizes, (std::vector<int64_t>{1, 256}));
    EXPECT_EQ(batch.sizes, (std::vector<int64_t>{4, 256}));
  }
}

TEST(Instantiate, SameInputSameSchedule) {
  Program program = makeDitProgram(6);
  Controls controls = with(Backend::UnslothFfn);
  controls.offloadAttention = true;
  std::ostringstream first, second;
  print(program, make(program, controls, {{"image", 77}}), first);
  print(program, make(program, controls, {{"image", 77}}), second);
  EXPECT_EQ(first.str(), second.str());
}

TEST(Instantiate, Refusals) {
  Program program = makeDitProgram(2);
  auto message = [&](const Controls &controls, const SizeValues &sizes) {
    Result<Schedule> schedule = tryMake(program, controls, sizes);
    EXPECT_FALSE(schedule.ok());
    return schedule.ok() ? "" : schedule.message();
  };
  EXPECT_EQ(message(Controls(), {}),
            "size image: expected a value, found none; add --dim image=N");
  EXPECT_EQ(message(Controls(), {{"image", 0}}),
            "--dim image: expected at least 1, found 0");
  // 2^55 tokens: one activation alone has more than 2^62 bytes.
  EXPECT_EQ(message(Controls(), {{"image", int64_t(1) << 55}}),
            "x: expected at most 2^62 bytes, found 6144*batch*image at the "
            "sizes given; make them smaller");
  // 2^47: each fits, all together do not.
  EXPECT_NE(message(Controls(), {{"image", int64_t(1) << 47}})
                .find("expected at most 2^62 bytes over all buffers"),
            std::string::npos);
  program.kinds[0].variants.resize(1);
  EXPECT_EQ(message(with(Backend::Torch), {{"image", 256}}),
            "block 0 (@dit): expected a variant for these controls in the "
            "artifact's menu, found none among 1; compile again with the full "
            "menu");
}

// A variant whose backward reads what its demand does not keep would still
// compute right, with a peak that nobody planned: it is refused.
TEST(Instantiate, VariantAgainstItsDemand) {
  Program program = makeDitProgram(2);
  for (Variant &variant : program.kinds[0].variants)
    variant.replay.clear();
  Result<Schedule> schedule =
      tryMake(program, with(Backend::Torch), {{"image", 256}});
  ASSERT_FALSE(schedule.ok());
  EXPECT_NE(schedule.message().find("block 1 (@dit): expected h"),
            std::string::npos)
      << schedule.message();
}

TEST(Instantiate, GradientThatNothingWrites) {
  Program program = makeAdapterProgram(2);
  program.casts.pop_back();
  Result<Schedule> schedule = tryMake(program, Controls(), {{"rows", 5}});
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.message(), "grad.bias: expected a kernel that casts its "
                                "sum, found none in the artifact; compile "
                                "again");
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

namespace {

struct Counts {
  int64_t replayed = 0, copied = 0;
};

Counts countsOf(const Program &program, const Controls &controls) {
  Schedule s = make(program, controls, {{"image", 512}});
  Simulation simulation = simulated(program, s);
  EXPECT_EQ(simulation.copiedToHost, simulation.copiedToDevice);
  return {simulation.replayedOps, simulation.copiedToHost};
}

constexpr int64_t u = 512 * 3072 * 2, lse = 24 * 512 * 4, stats = 512 * 2 * 4;

} // namespace

// L = 8 blocks. A whole-block replay is f0 .. f5, as nobody reads y again; in
// a segment of two the first block's f6 makes the second one's state. With
// attention-once f2 is left out. A ffn replay is f4 f5.
TEST(Counts, ReplayedOps) {
  Program program = makeDitProgram(8);
  Controls controls = with(Backend::None);
  EXPECT_EQ(countsOf(program, controls).replayed, 0);
  for (Backend backend : {Backend::Torch, Backend::Unsloth}) {
    controls = with(backend);
    EXPECT_EQ(countsOf(program, controls).replayed, 8 * 6);
    controls.interval = 2;
    EXPECT_EQ(countsOf(program, controls).replayed, 8 * 6 + 4);
    controls.segmentStride = 4;
    EXPECT_EQ(countsOf(program, controls).replayed, 4 * 6 + 2);
    controls = with(backend);
    controls.attentionOnce = true;
    EXPECT_EQ(countsOf(program, controls).replayed, 8 * 5);
    controls.interval = 3;
    // Segments of 3, 3 and 2.
    EXPECT_EQ(countsOf(program, controls).replayed, 8 * 5 + 2 + 2 + 1);
  }
  for (Backend backend : {Backend::TorchFfn, Backend::UnslothFfn}) {
    controls = with(backend);
    EXPECT_EQ(countsOf(program, controls).replayed, 8 * 2);
    controls.interval = 2;
    EXPECT_EQ(countsOf(program, controls).replayed, 4 * 2);
    controls.segmentStride = 4;
    EXPECT_EQ(countsOf(program, controls).replayed, 4 * 2);
  }
}

// The state at a segment's border is u, but for the caller's own; x1 is u; the
// values inside attention are stats1 qkv (3 u) o lse.
TEST(Counts, CopiedBytes) {
  Program program = makeDitProgram(8);
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn})
    EXPECT_EQ(countsOf(program, with(backend)).copied, 0);
  Controls controls = with(Backend::Unsloth);
  EXPECT_EQ(countsOf(program, controls).copied, 7 * u);
  controls.interval = 2;
  EXPECT_EQ(countsOf(program, controls).copied, 3 * u);
  controls.segmentStride = 4;
  EXPECT_EQ(countsOf(program, controls).copied, 1 * u);
  controls = with(Backend::Unsloth);
  controls.attentionOnce = true;
  EXPECT_EQ(countsOf(program, controls).copied, 7 * u + 8 * (u + lse));
  controls = with(Backend::UnslothFfn);
  EXPECT_EQ(countsOf(program, controls).copied, 8 * u);
  controls.interval = 3;
  // Blocks 0, 3 and 6.
  EXPECT_EQ(countsOf(program, controls).copied, 3 * u);
  controls = with(Backend::None);
  controls.offloadAttention = true;
  EXPECT_EQ(countsOf(program, controls).copied, 8 * (4 * u + lse + stats));
  controls.backend = Backend::Torch;
  EXPECT_EQ(countsOf(program, controls).copied, 8 * (u + lse));
  controls.backend = Backend::UnslothFfn;
  EXPECT_EQ(countsOf(program, controls).copied, 8 * (5 * u + lse + stats));
}

//===----------------------------------------------------------------------===//
// Host slots
//===----------------------------------------------------------------------===//

namespace {

/// Pinned flags by size.
std::map<int64_t, bool> pinnedOf(const Schedule &s) {
  std::map<int64_t, bool> pinned;
  for (const HostSlot &slot : s.slots) {
    auto found = pinned.insert({slot.bytes, slot.pinned}).first;
    EXPECT_EQ(found->second, slot.pinned) << "one size, two answers";
  }
  return pinned;
}

} // namespace

// `unsloth` with attention-once moves x and o of u = 64 x 32 x 4 = 8192 bytes
// and lse of 64 x 2 x 4 = 512. Here h (2 u) and x1 count as attention's too:
// 4 x 2 u of h against (3 + 4 + 4) u of x, o, x1, so u comes first, not the
// larger size.
TEST(Slots, MostTrafficIsPinned) {
  Program program = makeDitProgram(4, smallDitShape());
  for (SavedValue &saved : program.kinds[0].saved)
    if (saved.name == "h" || saved.name == "x1")
      saved.attentionCore = true;
  fillMenu(program);
  Controls controls = with(Backend::Unsloth);
  controls.attentionOnce = true;
  auto pinned = [&](std::optional<int64_t> cap) {
    controls.pinMemoryMaxBuckets = cap;
    return pinnedOf(make(program, controls, {{"image", 64}}));
  };
  using Pinned = std::map<int64_t, bool>;
  EXPECT_EQ(pinned(0), (Pinned{{512, false}, {8192, false}, {16384, false}}));
  EXPECT_EQ(pinned(1), (Pinned{{512, false}, {8192, true}, {16384, false}}));
  EXPECT_EQ(pinned(2), (Pinned{{512, false}, {8192, true}, {16384, true}}));
  EXPECT_EQ(pinned(3), (Pinned{{512, true}, {8192, true}, {16384, true}}));
  // 12 when nothing is said.
  EXPECT_EQ(pinned(std::nullopt), pinned(3));
}

// One slot a value, exactly as large.
TEST(Slots, OneForEachCopy) {
  Schedule s =
      make(makeDitProgram(4), with(Backend::Unsloth), {{"image", 512}});
  ASSERT_EQ(s.slots.size(), 3u);
  for (const HostSlot &slot : s.slots)
    EXPECT_EQ(slot.bytes, u);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

// At 16384 tokens every copy of `none` with offload-attention has room. Only
// what the last block copied out and needs back at once is waited for.
TEST(Copies, HideWhereThereIsRoom) {
  Program program = makeDitProgram(8);
  Controls controls = with(Backend::None);
  controls.offloadAttention = true;
  Schedule s = make(program, controls, {{"image", 16384}});
  Simulation simulation = simulated(program, s);
  double stalled = 0;
  int waits = 0, block = -1;
  for (size_t c = 0; c < s.commands.size(); ++c) {
    const Command &command = s.commands[c];
    if (command.stream != StreamKind::Compute)
      continue;
    if (command.kind == Kind::Launch)
      block = command.block;
    if (command.kind != Kind::Wait)
      continue;
    double seconds = simulation.times[c].second - simulation.times[c].first;
    ++waits;
    stalled += seconds;
    bool isTurn = int(c) >= s.forwardEnd && block == 7;
    EXPECT_TRUE(isTurn || seconds == 0) << "#" << c;
  }
  EXPECT_GT(waits, 8);
  // stats1 qkv o lse of one block take 4 u and a little over the link.
  EXPECT_LT(stalled, 4.1 * 16384 * 6144 / 55e9);
  EXPECT_NEAR(simulation.exposedSeconds, stalled, 1e-9);
}

// A copy in comes in the backward, at the earliest where the block before its
// reader's begins.
TEST(Copies, InAtMostOneBlockAhead) {
  Program program = makeDitProgram(8);
  for (Backend backend : {Backend::Unsloth, Backend::UnslothFfn})
    for (int64_t image : {64, 1024, 16384}) {
      Schedule s = make(program, with(backend), {{"image", image}});
      int count = 0;
      for (size_t c = 0; c < s.commands.size(); ++c) {
        if (s.commands[c].kind != Kind::CopyIn)
          continue;
        EXPECT_GE(int(c), s.forwardEnd);
        size_t next = c;
        while (s.commands[next].kind != Kind::Launch)
          ++next;
        EXPECT_LE(s.commands[next].block, s.commands[c].block + 1);
        ++count;
      }
      EXPECT_EQ(count, backend == Backend::Unsloth ? 7 : 8);
    }
}

// Compute waits for a copy out only where its bytes are used again, and where
// the model says that it is done, or at the end of the forward.
TEST(Copies, OutAreWaitedForWhereTheirBytesAreReused) {
  Program program = makeDitProgram(8);
  for (Backend backend : {Backend::Unsloth, Backend::UnslothFfn}) {
    Schedule s = make(program, with(backend), {{"image", 16384}});
    Simulation simulation = simulated(program, s);
    std::vector<int> copyOf(s.numEvents, -1);
    int lastOut = -1, waits = 0, lastLaunch = 0;
    for (int c = 0; c < s.forwardEnd; ++c)
      if (s.commands[c].kind == Kind::Launch)
        lastLaunch = c;
    for (int c = 0; c < s.forwardEnd; ++c) {
      const Command &command = s.commands[c];
      if (command.kind == Kind::CopyOut)
        lastOut = c;
      if (command.kind == Kind::Record && command.stream == StreamKind::CopyOut)
        copyOf[command.event] = lastOut;
      if (command.kind != Kind::Wait || command.stream != StreamKind::Compute)
        continue;
      ++waits;
      ASSERT_GE(copyOf[command.event], 0);
      const Buffer &source =
          s.buffers[s.commands[copyOf[command.event]].buffers[0]];
      bool isReused = false;
      for (const Buffer &other : s.buffers)
        isReused |= other.space == Space::Arena && other.begin > c &&
                    other.offset < source.offset + source.bytes &&
                    source.offset < other.offset + other.bytes;
      EXPECT_TRUE(isReused) << "#" << c;
      if (c < lastLaunch)
        EXPECT_EQ(simulation.times[c].first, simulation.times[c].second);
    }
    EXPECT_GT(waits, 0);
  }
}

//===----------------------------------------------------------------------===//
// The simulator, on a schedule made by hand
//===----------------------------------------------------------------------===//

namespace {

/// Launches take 1 s; a link moves 100 bytes/s, 50 when both ways are busy.
struct ByHand {
  Program program;
  Schedule schedule;
  Profile profile;

  ByHand() {
    profile.memory = 1000;
    profile.gemm = 1;
    profile.link = 100;
    profile.linkBoth = 50;
    Kernel kernel;
    kernel.cls = KernelClass::Gemm;
    kernel.flops = 1;
    program.kernels.push_back(kernel);
  }
  int buffer(Space space, int64_t bytes, int64_t offset, int begin, int end) {
    Buffer b;
    b.bytes = bytes;
    b.space = space;
    b.offset = offset;
    b.begin = begin;
    b.end = end;
    schedule.buffers.push_back(b);
    return int(schedule.buffers.size()) - 1;
  }
  void add(Kind kind, StreamKind stream, std::vector<int> buffers, int numReads,
           int event = -1) {
    Command command;
    command.kind = kind;
    command.stream = stream;
    command.buffers = std::move(buffers);
    command.numReads = numReads;
    command.event = event;
    if (kind == Kind::Launch)
      command.kernel = 0;
    schedule.numEvents = std::max(schedule.numEvents, event + 1);
    schedule.commands.push_back(command);
  }
};

} // namespace

// compute  |-0-|-5-|......8|-9-|
// out          |---3 (3 s)-|
TEST(Simulator, WaitsAndExposedTime) {
  ByHand h;
  int a = h.buffer(Space::Arena, 300, 0, 0, 6);
  int b = h.buffer(Space::Arena, 100, 512, 5, 8);
  int host = h.buffer(Space::Host, 300, 0, 3, 4);
  h.add(Kind::Launch, StreamKind::Compute, {a}, 0);
  h.add(Kind::Record, StreamKind::Compute, {}, 0, 0);
  h.add(Kind::Wait, StreamKind::CopyOut, {}, 0, 0);
  h.add(Kind::CopyOut, StreamKind::CopyOut, {a, host}, 1);
  h.add(Kind::Record, StreamKind::CopyOut, {}, 0, 1);
  h.add(Kind::Launch, StreamKind::Compute, {a, b}, 1);
  h.add(Kind::Wait, StreamKind::Compute, {}, 0, 1);
  h.add(Kind::Launch, StreamKind::Compute, {b}, 1);
  h.schedule.forwardEnd = int(h.schedule.commands.size());
  Simulation s = simulate(h.program, h.schedule, h.profile);
  using Span = std::pair<double, double>;
  EXPECT_EQ(s.times[3], Span(1, 4));
  EXPECT_EQ(s.times[5], Span(1, 2));
  EXPECT_EQ(s.times[6], Span(2, 4));
  EXPECT_EQ(s.times[7], Span(4, 5));
  EXPECT_EQ(s.exposedSeconds, 2);
  EXPECT_EQ(s.seconds, 5);
  EXPECT_EQ(s.forwardSeconds, 5);
  EXPECT_EQ(s.copiedToHost, 300);
  EXPECT_EQ(s.copiedToDevice, 0);
  // 300 -> 512 and 100 -> 256 after alignment; both from command 5 on.
  EXPECT_EQ(s.liveBytes, 768);
  EXPECT_EQ(s.peakCommand, 5);
  EXPECT_EQ(s.peakBytes, 612);
}

// The end of the forward drains every stream, and that time is exposed too.
TEST(Simulator, DrainAtTheEndOfTheForward) {
  ByHand h;
  int a = h.buffer(Space::Arena, 200, 0, 0, 3);
  int host = h.buffer(Space::Host, 200, 0, 1, 2);
  h.add(Kind::Launch, StreamKind::Compute, {a}, 0);
  h.add(Kind::CopyOut, StreamKind::CopyOut, {a, host}, 1);
  h.schedule.forwardEnd = 2;
  h.add(Kind::Launch, StreamKind::Compute, {a}, 1);
  Simulation s = simulate(h.program, h.schedule, h.profile);
  EXPECT_EQ(s.forwardSeconds, 2);
  EXPECT_EQ(s.exposedSeconds, 1);
  EXPECT_EQ(s.seconds, 3);
  EXPECT_EQ(s.heldBytes, 256);
}

// 100 bytes out take 1 s alone; a copy in that begins meanwhile moves at 50.
TEST(Simulator, BothDirections) {
  ByHand h;
  int a = h.buffer(Space::Arena, 100, 0, 0, 3);
  int b = h.buffer(Space::Arena, 100, 256, 0, 3);
  int host = h.buffer(Space::Host, 100, 0, 0, 3);
  h.add(Kind::CopyOut, StreamKind::CopyOut, {a, host}, 1);
  h.add(Kind::CopyIn, StreamKind::CopyIn, {host, b}, 1);
  h.add(Kind::CopyIn, StreamKind::CopyIn, {host, b}, 1);
  Simulation s = simulate(h.program, h.schedule, h.profile);
  using Span = std::pair<double, double>;
  EXPECT_EQ(s.times[0], Span(0, 1));
  EXPECT_EQ(s.times[1], Span(0, 2));
  EXPECT_EQ(s.times[2], Span(2, 3));
}

// The caller's tensors at 512 tokens: x, out, grad.out and grad.x of u, and
// 12 w^2 + 9 w parameters a block.
TEST(Simulator, ExternalBytes) {
  Program program = makeDitProgram(2);
  Schedule s = make(program, with(Backend::None), {{"image", 512}});
  int64_t w = 3072;
  EXPECT_EQ(simulated(program, s).externalBytes,
            4 * u + 2 * 2 * (12 * w * w + 9 * w));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(Print, Unsloth) {
  Program program = makeDitProgram(2, smallDitShape());
  Schedule s = make(program, with(Backend::Unsloth), {{"image", 64}});
  std::ostringstream os;
  print(program, s, os);
  std::istringstream lines(os.str());
  Texts text;
  for (std::string line; std::getline(lines, line);) {
    text.push_back(line);
    EXPECT_EQ(line.find_last_not_of(' ') + 1, line.size()) << line;
  }
  // A heading, the border and the sum besides one line a command.
  EXPECT_EQ(text.size(), s.commands.size() + 3);
  auto has = [&](const std::string &part) {
    for (const std::string &line : text)
      if (line.find(part) != std::string::npos)
        return line;
    ADD_FAILURE() << "no line with " << part << " in\n" << os.str();
    return std::string();
  };
  has("stream   command");
  has("f0 b0  x -> b0.n -");
  has("copy  b1.x -> slot 0");
  has("pinned");
  has("---- the forward ends, the gradients of the outputs come in ----");
  has("copy  slot 0 -> b1.x'");
  has("b1.dh in place of b1.h'");
  has("(8 KiB)");
  has("replay");
  // A wait says after which command.
  std::string wait = has("  in       wait e");
  EXPECT_NE(wait.find("after "), std::string::npos);
  has("1 host slots, ");
}
