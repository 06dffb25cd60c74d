//===- ScheduleCopiesTest.cpp - counts, copies and simulated time ---------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"

#include <map>

using namespace ckpt::rt;

using Kind = Command::Kind;

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
