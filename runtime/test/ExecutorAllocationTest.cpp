//===- ExecutorAllocationTest.cpp - nothing allocates inside a step -------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program of its own, because it replaces the global operator new by one
/// that counts, for all threads.
///
//===----------------------------------------------------------------------===//

#include "StubProgram.h"
#include "TestProgram.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

static std::atomic<int64_t> allocations{0};

void *operator new(std::size_t bytes) {
  ++allocations;
  if (void *data = std::malloc(bytes ? bytes : 1))
    return data;
  std::abort();
}
void *operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void *data) noexcept { std::free(data); }
void operator delete(void *data, std::size_t) noexcept { std::free(data); }
void operator delete[](void *data) noexcept { std::free(data); }
void operator delete[](void *data, std::size_t) noexcept { std::free(data); }

using namespace ckpt::rt;
using namespace ckpt::rt::test;

namespace {
/// Counts the pool's and the arena's allocations too, which are no `new`.
struct CountingDevice : HostDevice {
  Result<void *> allocate(int64_t bytes) override {
    ++allocations;
    return HostDevice::allocate(bytes);
  }
  Result<void *> allocateHost(int64_t bytes, bool pinned) override {
    ++allocations;
    return HostDevice::allocateHost(bytes, pinned);
  }
};
} // namespace

TEST(ExecutorAllocation, TheCounterCounts) {
  int64_t before = allocations;
  // Not a new-expression, which may be optimised away.
  ::operator delete(::operator new(3));
  EXPECT_GT(allocations, before);
}

TEST(ExecutorAllocation, NothingAllocatesInsideAStep) {
  StubCounts stubs;
  auto device = std::make_shared<CountingDevice>();
  auto program =
      std::make_shared<const Program>(makeDitProgram(4, smallDitShape()));
  registerStubs(*device, *program, stubs);
  for (const Controls &controls : legalControls(*program))
    for (bool everything : {false, true}) {
      SCOPED_TRACE(describe(controls));
      auto schedule = scheduleOf(*program, controls, {{"image", 5}});
      StepOptions options;
      options.poison = everything ? Poison::Freed : Poison::None;
      options.measure = everything;
      Result<Step> step = Step::create(program, schedule, device, options);
      ASSERT_TRUE(step.ok()) << step.message();
      Tensors tensors(*device, *schedule);
      tensors.bindTo(*step);
      // From the first step on.
      int64_t before = allocations;
      bool ok = step->run().ok() && step->run().ok();
      int64_t after = allocations;
      EXPECT_TRUE(ok);
      EXPECT_EQ(after, before);
    }
}
