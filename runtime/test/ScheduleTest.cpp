//===- ScheduleTest.cpp - buffers and what is instantiated ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"

#include <sstream>

using namespace ckpt::rt;

namespace {

using Kind = Command::Kind;
using Phase = TableEntry::Phase;

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
