//===- ExecutorFixture.h - steps of stub programs ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_EXECUTORFIXTURE_H
#define CKPT_RT_TEST_EXECUTORFIXTURE_H

#include "StubProgram.h"
#include "TestProgram.h"

#include <gtest/gtest.h>

namespace ckpt::rt::test {

inline Controls controlsFor(Backend backend) {
  Controls controls;
  controls.backend = backend;
  return controls;
}

inline Controls unslothPinning(std::optional<int64_t> buckets) {
  Controls controls = controlsFor(Backend::Unsloth);
  controls.attentionOnce = true;
  controls.pinMemoryMaxBuckets = buckets;
  return controls;
}

/// A dit of five small blocks with stub kernels on a host device.
struct ExecutorTest : ::testing::Test {
  ExecutorTest() { use(makeDitProgram(5, smallDitShape())); }

  void use(Program made) {
    program = std::make_shared<const Program>(std::move(made));
    registerStubs(*device, *program, stubs);
  }
  std::shared_ptr<const Schedule> schedule(const Controls &controls) {
    return scheduleOf(*program, controls, sizes);
  }
  Step make(std::shared_ptr<const Schedule> schedule,
            const StepOptions &options = {}) {
    Result<Step> step = Step::create(program, schedule, device, options);
    EXPECT_TRUE(step.ok()) << step.message();
    return std::move(*step);
  }
  Step make(const Controls &controls, const StepOptions &options = {}) {
    return make(schedule(controls), options);
  }
  static StepOptions poisoned(Poison poison) {
    StepOptions options;
    options.poison = poison;
    return options;
  }
  /// The digest of one plain step under `none`.
  uint64_t expected(uint64_t seed = 1) {
    return digestOf(controlsFor(Backend::None), seed);
  }
  uint64_t digestOf(const Controls &controls, uint64_t seed = 1) {
    Step step = make(controls);
    Tensors tensors(*device, step.schedule(), seed);
    tensors.bindTo(step);
    expectOk(step.run());
    return tensors.digest();
  }
  /// Bytes of a slab of all slots.
  static int64_t slabOf(const Step &step) {
    int64_t bytes = 0;
    for (const HostSlot &slot : step.schedule().slots)
      bytes = (bytes + PinnedPool::alignment - 1) / PinnedPool::alignment *
                  PinnedPool::alignment +
              slot.bytes;
    return bytes;
  }
  static void expectOk(const Status &status) {
    EXPECT_TRUE(status.ok()) << status.message();
  }

  StubCounts stubs;
  std::shared_ptr<HostDevice> device = std::make_shared<HostDevice>();
  std::shared_ptr<const Program> program;
  SizeValues sizes = {{"image", 6}};
};

} // namespace ckpt::rt::test

#endif // CKPT_RT_TEST_EXECUTORFIXTURE_H
