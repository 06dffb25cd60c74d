//===- ExecutorTest.cpp - steps run the schedule and nothing else ---------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Programs with stub kernels (StubProgram.h) under every policy: same bits,
/// exact memory, exact counts; open forwards; memory over steps; time.
///
//===----------------------------------------------------------------------===//

#include "ExecutorFixture.h"

#include <algorithm>

using namespace ckpt::rt;
using namespace ckpt::rt::test;

//===----------------------------------------------------------------------===//
// Same bits, exact memory, exact counts
//===----------------------------------------------------------------------===//

/// Every legal combination of controls, poisoned, copies delayed.
static void checkEveryPolicy(ExecutorTest &test) {
  const uint64_t expected = test.expected();
  const Result<Profile> profile = profileNamed("host");
  std::vector<Controls> legal = legalControls(*test.program);
  for (const Controls &controls : legal)
    for (Poison poison : {Poison::None, Poison::Start, Poison::Freed})
      for (int64_t delay : {0, 30}) {
        SCOPED_TRACE(describe(controls) + " poison " +
                     std::to_string(int(poison)) + " delay " +
                     std::to_string(delay));
        test.device->faults.copyDelayMicroseconds = delay;
        test.stubs.launches = test.stubs.poisonReads = 0;
        Step step = test.make(controls, test.poisoned(poison));
        Tensors tensors(*test.device, step.schedule());
        tensors.bindTo(step);
        for (int i = 0; i < 2; ++i) {
          tensors.clearResults();
          test.expectOk(step.run());
          EXPECT_EQ(tensors.digest(), expected);
        }
        EXPECT_EQ(test.stubs.poisonReads, 0);

        Simulation simulation =
            simulate(*test.program, step.schedule(), *profile);
        StepStatistics counts = step.statistics();
        EXPECT_EQ(counts.launches, test.stubs.launches);
        EXPECT_EQ(counts.replayedOps, 2 * simulation.replayedOps);
        EXPECT_EQ(counts.copiedToHost, 2 * simulation.copiedToHost);
        EXPECT_EQ(counts.copiedToDevice, 2 * simulation.copiedToDevice);
        EXPECT_EQ(counts.arenaBytes, simulation.peakBytes);
        EXPECT_EQ(counts.arenas, 1);
        EXPECT_EQ(counts.openForwards, 0);
        if (poison == Poison::None)
          continue;
        EXPECT_EQ(counts.touched, simulation.peakBytes);
        if (poison == Poison::Start)
          EXPECT_EQ(counts.written, simulation.peakBytes);
      }
}

TEST_F(ExecutorTest, EveryPolicyOfADitGivesTheBitsOfNone) {
  // none, torch, unsloth with and without their flags, the ffn backends.
  EXPECT_GT(legalControls(*program).size(), 20u);
  checkEveryPolicy(*this);
}

TEST_F(ExecutorTest, EveryPolicyOfAnAdapterGivesTheBitsOfNone) {
  use(makeAdapterProgram(5));
  sizes = {{"rows", 7}};
  // none; torch and unsloth x {-, interval, interval and stride}.
  EXPECT_EQ(legalControls(*program).size(), 7u);
  checkEveryPolicy(*this);
}

/// The digest depends on every tensor that goes in, or equal digests would say
/// nothing.
TEST_F(ExecutorTest, EveryInputByteReachesTheResult) {
  const uint64_t reference = expected();
  Step step = make(controlsFor(Backend::Unsloth));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  for (const Tensors::Tensor &tensor : tensors.tensors) {
    ExternalKind kind = tensor.external.kind;
    if (kind == ExternalKind::Output || kind == ExternalKind::Gradient)
      continue;
    for (int64_t at : {int64_t(0), tensor.bytes - 1}) {
      auto *byte = static_cast<uint8_t *>(tensor.data) + at;
      *byte ^= 1;
      expectOk(step.run());
      EXPECT_NE(tensors.digest(), reference) << tensor.external.name;
      *byte ^= 1;
    }
  }
  expectOk(step.run());
  EXPECT_EQ(tensors.digest(), reference);
}

/// Field case X1: 100 runs, slow copies, host buffers full of NaN, the first
/// run of a step among them.
TEST_F(ExecutorTest, SlowCopiesChangeNothing) {
  const uint64_t reference = expected();
  device->faults.copyDelayMicroseconds = 100;
  for (int round = 0; round < 10; ++round) {
    Step step = make(controlsFor(Backend::Unsloth), poisoned(Poison::Start));
    Tensors tensors(*device, step.schedule());
    tensors.bindTo(step);
    for (int i = 0; i < 10; ++i) {
      tensors.clearResults();
      expectOk(step.run());
      ASSERT_EQ(tensors.digest(), reference);
    }
  }
  EXPECT_EQ(stubs.poisonReads, 0);
}

/// A kernel that leaves its output unwritten: poison must show, or its absence
/// elsewhere says nothing.
TEST_F(ExecutorTest, PoisonShowsWhatNobodyWrote) {
  device->registerKernel("gemm_bias",
                         [](void *const *, const int64_t *, void *) {});
  Step step = make(controlsFor(Backend::None), poisoned(Poison::Start));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  expectOk(step.run());
  EXPECT_GT(stubs.poisonReads, 0);
}

/// A kernel that writes behind the arena: touched says so.
TEST_F(ExecutorTest, TouchedShowsAWriteBehindTheArena) {
  struct Spy : HostDevice {
    Result<void *> allocate(int64_t bytes) override {
      Result<void *> data = HostDevice::allocate(bytes);
      last = static_cast<uint8_t *>(*data);
      return data;
    }
    uint8_t *last = nullptr;
  };
  auto spy = std::make_shared<Spy>();
  registerStubs(*spy, *program, stubs);
  device = spy;
  std::shared_ptr<const Schedule> torch = schedule(controlsFor(Backend::Torch));
  Tensors tensors(*spy, *torch);
  Step step = make(torch, poisoned(Poison::Start));
  tensors.bindTo(step);
  const int64_t arenaBytes = torch->arenaBytes;
  const auto attention = *spy->findRegistered("attention");
  spy->registerKernel("attention", [&](void *const *arguments,
                                       const int64_t *sizes, void *workspace) {
    attention(arguments, sizes, workspace);
    spy->last[arenaBytes + 9] = 1;
  });
  expectOk(step.run());
  EXPECT_EQ(step.statistics().touched, arenaBytes + 10);
  EXPECT_EQ(step.statistics().written, arenaBytes + 10);
}

/// A schedule with a fault is refused, not run.
TEST_F(ExecutorTest, FaultyScheduleIsRefused) {
  Schedule faulty = *schedule(controlsFor(Backend::Unsloth));
  auto &commands = faulty.commands;
  auto wait = std::find_if(commands.begin(), commands.end(), [](auto &command) {
    return command.kind == Command::Kind::Wait;
  });
  ASSERT_NE(wait, commands.end());
  // A wait for nothing in its place: indices stay.
  wait->kind = Command::Kind::Record;
  Result<Step> step =
      Step::create(program, std::make_shared<const Schedule>(faulty), device);
  EXPECT_FALSE(step.ok());
  EXPECT_EQ(device->ledger.device, 0);
}

//===----------------------------------------------------------------------===//
// Open forwards
//===----------------------------------------------------------------------===//

/// Field case L1: two steps of different sizes on one pool, backwards in both
/// orders.
TEST_F(ExecutorTest, TwoStepsOnOnePool) {
  Controls controls = controlsFor(Backend::Unsloth);
  StepOptions options;
  options.pool = std::make_shared<PinnedPool>(*device);
  Step first = make(controls, options);
  uint64_t firstAlone = expected();
  sizes = {{"image", 9}};
  Step second = make(controls, options);
  uint64_t secondAlone = expected();
  EXPECT_NE(firstAlone, secondAlone);

  Tensors a(*device, first.schedule()), b(*device, second.schedule());
  a.bindTo(first);
  b.bindTo(second);
  for (bool reversed : {true, false}) {
    a.clearResults();
    b.clearResults();
    Result<OpenForward> f1 = first.forward(), f2 = second.forward();
    ASSERT_TRUE(f1.ok() && f2.ok());
    EXPECT_EQ(first.statistics().openForwards, 1);
    if (reversed)
      expectOk(second.backward(*f2));
    expectOk(first.backward(*f1));
    if (!reversed)
      expectOk(second.backward(*f2));
    EXPECT_EQ(a.digest(), firstAlone);
    EXPECT_EQ(b.digest(), secondAlone);
  }
  // Both boundaries of each size, and no third bucket.
  EXPECT_EQ(first.statistics().pool.buckets, 2);
}

/// A step finds what another left in their pool; only what is lent meanwhile
/// or of another size is made, once.
TEST_F(ExecutorTest, StepsOfOnePoolShareTheirSlots) {
  Controls controls = controlsFor(Backend::Unsloth);
  Step first = make(controls);
  const int64_t slab = slabOf(first);
  auto pinned = [&] { return first.statistics().pool.pinnedBytes; };
  EXPECT_EQ(pinned(), slab);
  StepOptions options;
  options.pool = first.hostMemory();
  Step second = make(controls, options);
  EXPECT_EQ(pinned(), slab);
  Tensors tensors(*device, first.schedule());
  tensors.bindTo(first);
  tensors.bindTo(second);
  for (int i = 0; i < 2; ++i) {
    Result<OpenForward> a = first.forward(), b = second.forward();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(pinned(), 2 * slab);
  }
  sizes = {{"image", 9}};
  Step third = make(controls, options);
  EXPECT_EQ(pinned(), 2 * slab + slabOf(third));
  EXPECT_EQ(device->ledger.pinned, pinned());
}

/// Three forwards of one step, of different data, before their backwards.
TEST_F(ExecutorTest, SeveralForwardsOfOneStep) {
  uint64_t alone[3];
  for (int i = 0; i < 3; ++i)
    alone[i] = expected(/*seed=*/i + 1);
  Step step = make(controlsFor(Backend::UnslothFfn), poisoned(Poison::Freed));
  std::vector<std::unique_ptr<Tensors>> tensors;
  for (int i = 0; i < 3; ++i)
    tensors.push_back(
        std::make_unique<Tensors>(*device, step.schedule(), i + 1));
  for (std::vector<int> order :
       {std::vector<int>{2, 1, 0}, {0, 1, 2}, {1, 2, 0}}) {
    std::vector<OpenForward> open;
    for (int i = 0; i < 3; ++i) {
      tensors[i]->clearResults();
      tensors[i]->bindTo(step);
      Result<OpenForward> forward = step.forward();
      ASSERT_TRUE(forward.ok()) << forward.message();
      open.push_back(std::move(*forward));
    }
    EXPECT_EQ(step.statistics().openForwards, 3);
    for (int i : order) {
      // The gradients' memory is the backward's; the rest stays the forward's
      // whatever is bound meanwhile.
      tensors[i]->bindTo(step);
      expectOk(step.backward(open[i]));
      EXPECT_EQ(tensors[i]->digest(), alone[i]);
    }
  }
  EXPECT_EQ(step.statistics().arenas, 3);
  EXPECT_EQ(step.statistics().openForwards, 0);
  EXPECT_EQ(stubs.poisonReads, 0);
}

/// Field case L3.
TEST_F(ExecutorTest, SecondBackwardIsAnError) {
  Step step = make(controlsFor(Backend::Unsloth));
  Step other = make(controlsFor(Backend::Unsloth));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  tensors.bindTo(other);
  Result<OpenForward> forward = step.forward();
  ASSERT_TRUE(forward.ok());
  Status wrong = other.backward(*forward);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.message().find("another step"), std::string::npos);
  expectOk(step.backward(*forward));
  uint64_t once = tensors.digest();
  Status twice = step.backward(*forward);
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.message().find("already consumed"), std::string::npos);
  EXPECT_EQ(tensors.digest(), once);
  OpenForward none;
  EXPECT_FALSE(step.backward(none).ok());
}

TEST_F(ExecutorTest, ForwardAloneGivesEverythingBack) {
  Step step = make(controlsFor(Backend::Unsloth), poisoned(Poison::Start));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  for (int i = 0; i < 5; ++i) {
    Result<OpenForward> forward = step.forward();
    ASSERT_TRUE(forward.ok());
    // Dropped here.
  }
  StepStatistics counts = step.statistics();
  EXPECT_EQ(counts.forwards, 5);
  EXPECT_EQ(counts.backwards, 0);
  EXPECT_EQ(counts.openForwards, 0);
  EXPECT_EQ(counts.arenas, 1);
  EXPECT_EQ(counts.pool.misses, int64_t(step.schedule().slots.size()));
  expectOk(step.run());
  EXPECT_EQ(tensors.digest(), expected());
}

/// A handle may be the last to let go.
TEST_F(ExecutorTest, OpenForwardOutlivesItsStep) {
  OpenForward kept;
  {
    Step step = make(controlsFor(Backend::Unsloth));
    Tensors tensors(*device, step.schedule());
    tensors.bindTo(step);
    Result<OpenForward> forward = step.forward();
    ASSERT_TRUE(forward.ok());
    kept = std::move(*forward);
  }
  EXPECT_GT(device->ledger.device, 0);
  kept = OpenForward();
  EXPECT_EQ(device->ledger.device, 0);
  EXPECT_EQ(device->ledger.pinned, 0);
}

//===----------------------------------------------------------------------===//
// Memory over steps
//===----------------------------------------------------------------------===//

/// Field case M3: bytes after step n are those after step 1, also while shapes
/// change, and none are left when the steps are gone.
TEST_F(ExecutorTest, MemoryIsConstantOverStepsAndGoneAfter) {
  {
    std::vector<Step> steps;
    std::vector<std::unique_ptr<Tensors>> tensors;
    for (int64_t image : {6, 9, 4}) {
      sizes = {{"image", image}};
      steps.push_back(make(controlsFor(Backend::Unsloth)));
      tensors.push_back(
          std::make_unique<Tensors>(*device, steps.back().schedule()));
      tensors.back()->bindTo(steps.back());
    }
    for (Step &step : steps)
      expectOk(step.run());
    int64_t onDevice = device->ledger.device, pinned = device->ledger.pinned;
    for (int i = 0; i < 60; ++i)
      expectOk(steps[i % 3].run());
    EXPECT_EQ(device->ledger.device, onDevice);
    EXPECT_EQ(device->ledger.pinned, pinned);
    EXPECT_EQ(device->ledger.pageable, 0);
    EXPECT_EQ(steps[0].statistics().pool.pinnedBytes, slabOf(steps[0]));
    int64_t slabs = 0;
    for (Step &step : steps)
      slabs += slabOf(step);
    EXPECT_EQ(pinned, slabs);
  }
  EXPECT_EQ(device->ledger.device, 0);
  EXPECT_EQ(device->ledger.pinned, 0);
}

/// Without offloading no host memory at all.
TEST_F(ExecutorTest, NothingOffloadedNothingPinned) {
  Step step = make(controlsFor(Backend::Torch));
  EXPECT_EQ(device->ledger.pinned, 0);
  EXPECT_EQ(device->ledger.pageable, 0);
  EXPECT_EQ(step.statistics().pool.misses, 0);
}

TEST_F(ExecutorTest, ZeroBucketsPinNothing) {
  const uint64_t reference = expected();
  Step step = make(unslothPinning(0));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  expectOk(step.run());
  EXPECT_EQ(tensors.digest(), reference);
  PoolStatistics pool = step.statistics().pool;
  EXPECT_EQ(pool.pinnedBytes, 0);
  EXPECT_EQ(pool.buckets, 0);
  EXPECT_EQ(pool.fallbacks, 0);
  EXPECT_EQ(pool.pageable, int64_t(step.schedule().slots.size()));
  EXPECT_EQ(device->ledger.pinned, 0);
  EXPECT_EQ(device->ledger.pageable, pool.pageableBytes);
}

/// x, o (u) and lse are two sizes; with room for one, the size with more
/// traffic is pinned. u = 6 x 32 x 4 = 768 bytes, lse = 2 x 6 x 4 = 48.
TEST_F(ExecutorTest, MoreSizesThanBucketsPinTheBusiest) {
  const uint64_t reference = expected();
  Step step = make(unslothPinning(1));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  expectOk(step.run());
  EXPECT_EQ(tensors.digest(), reference);
  PoolStatistics pool = step.statistics().pool;
  EXPECT_EQ(pool.buckets, 1);
  // x of blocks 1 to 4, o and lse of all five.
  EXPECT_EQ(pool.pinnedBytes, 9 * 768);
  EXPECT_EQ(pool.pageable, 5);
  EXPECT_EQ(pool.pageableBytes, 5 * 48);
}

TEST_F(ExecutorTest, FailedPinningFallsBackBitEqual) {
  const uint64_t reference = expected();
  const Controls unsloth = controlsFor(Backend::Unsloth);
  const int64_t slots = int64_t(schedule(unsloth)->slots.size());
  ASSERT_EQ(slots, 4);
  // No slab, but each slot of 768 bytes by itself; not all of them; none.
  for (int64_t pinned : {4, 3, 0}) {
    SCOPED_TRACE(pinned);
    device->faults.pinnedAllocation.set(1);
    device->faults.pinnedCapacity = pinned * 768;
    Step step = make(unsloth);
    Tensors tensors(*device, step.schedule());
    tensors.bindTo(step);
    for (int i = 0; i < 3; ++i) {
      tensors.clearResults();
      expectOk(step.run());
      EXPECT_EQ(tensors.digest(), reference);
    }
    PoolStatistics pool = step.statistics().pool;
    EXPECT_EQ(pool.pinnedBytes, pinned * 768);
    EXPECT_EQ(pool.fallbacks, slots - pinned);
    EXPECT_EQ(pool.pageable, slots - pinned);
    EXPECT_EQ(pool.misses, slots);
    EXPECT_EQ(pool.hits, 3 * slots);
  }
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

TEST_F(ExecutorTest, MeasuresEveryCommand) {
  StepOptions options;
  options.measure = true;
  Step step = make(controlsFor(Backend::Unsloth), options);
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  expectOk(step.run());
  EXPECT_EQ(tensors.digest(), expected());
  const auto &commands = step.schedule().commands;
  ASSERT_EQ(step.times().size(), commands.size());
  StepStatistics counts = step.statistics();
  EXPECT_GT(counts.forwardSeconds, 0);
  EXPECT_GT(counts.backwardSeconds, 0);
  double last[numStreams] = {};
  for (size_t i = 0; i < commands.size(); ++i) {
    auto [start, end] = step.times()[i];
    double &before = last[int(commands[i].stream)];
    EXPECT_GE(start, before) << i;
    EXPECT_GE(end, start) << i;
    EXPECT_LE(end, counts.forwardSeconds + counts.backwardSeconds) << i;
    before = end;
  }
}
