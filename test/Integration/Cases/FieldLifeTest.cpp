//===- FieldLifeTest.cpp - steps that live together -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cases L1 and L3 of the field (Cases.h).
///
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Device/Host/HostDevice.h"

#include <cstring>
#include <stdexcept>

using namespace ckpt;
using namespace ckpt::test;

namespace {

/// A step with tensors of its own, perhaps on the pool of another.
class Life {
public:
  Life(const Model &model, const rt::Controls &controls,
       std::shared_ptr<rt::Device> device,
       std::shared_ptr<rt::PinnedPool> pool = nullptr)
      // What it makes alone, on a device of its own.
      : alone(runModel(model, controls)), step(nullptr) {
    rt::StepOptions options;
    options.poison = rt::Poison::Freed;
    options.pool = pool;
    rt::Result<rt::Step> made = rt::Step::create(
        model.loaded.program, alone.schedule, std::move(device), options);
    if (!made.ok())
      throw std::runtime_error(made.message());
    step = std::make_unique<rt::Step>(std::move(*made));
    tensors = std::move(*run::makeTensors(*alone.schedule, model.options));
    for (run::Tensor &tensor : tensors) {
      rt::Status status =
          step->bind(tensor.external.name, tensor.data.get(), tensor.bytes);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }

  void forward() {
    rt::Result<rt::OpenForward> made = step->forward();
    ASSERT_TRUE(made.ok()) << made.message();
    open = std::move(*made);
  }
  rt::Status backward() { return step->backward(open); }
  void expectBackward() {
    rt::Status status = backward();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void clearResults() {
    for (run::Tensor &tensor : tensors)
      if (tensor.isResult())
        std::memset(tensor.data.get(), 0, size_t(tensor.bytes));
  }
  std::string digest() const { return run::digestOf(tensors); }

  PolicyRun alone;
  std::unique_ptr<rt::Step> step;

private:
  std::vector<run::Tensor> tensors;
  rt::OpenForward open;
};

// Two steps of other sizes and dtypes; the replays of one run in its backward
// while the other's forward is open. Both borrow buffers of one size: a state
// has 7 x 16 floats or 14 x 16 bf16.
TEST(L1, TwoStepsOnOnePool) {
  Model first = compileModel(smallTransformer(3), "f32", {{"tokens", 7}});
  Model second = compileModel(smallTransformer(2), "bf16", {{"tokens", 14}});
  for (rt::Controls controls :
       {controlsOf(rt::Backend::Unsloth),
        withAttentionOffload(controlsOf(rt::Backend::Unsloth, 2))}) {
    SCOPED_TRACE(describe(controls));
    auto device = std::make_shared<rt::HostDevice>();
    // Copies that dawdle: a buffer given to the wrong step would show.
    device->faults.copyDelayMicroseconds = 30;
    Life a(first, controls, device);
    Life b(second, controls, device, a.step->hostMemory());
    EXPECT_EQ(a.step->hostMemory(), b.step->hostMemory());
    auto expectBits = [&] {
      EXPECT_EQ(a.digest(), a.alone.digest);
      EXPECT_EQ(b.digest(), b.alone.digest);
      a.clearResults();
      b.clearResults();
      EXPECT_NE(a.digest(), a.alone.digest);
    };
    a.forward();
    b.forward();
    b.expectBackward();
    a.expectBackward();
    expectBits();
    a.forward();
    b.forward();
    a.expectBackward();
    b.expectBackward();
    expectBits();
    EXPECT_EQ(a.step->statistics().openForwards, 0);
    EXPECT_EQ(b.step->statistics().openForwards, 0);
    // Buffers were made once, before anything ran, for both to be open; both
    // rounds found them.
    rt::PoolStatistics pool = a.step->hostMemory()->statistics();
    int64_t slots = int64_t(a.alone.schedule->slots.size() +
                            b.alone.schedule->slots.size());
    EXPECT_GT(slots, 0);
    EXPECT_EQ(pool.misses, slots);
    EXPECT_EQ(pool.hits, 2 * slots);
  }
}

// A forward is consumed by its backward; its host buffers may be anyone's
// after that, so a second backward is refused and the gradients stay.
TEST(L3, ASecondBackwardIsRefused) {
  Model model = compileModel(smallTransformer(3), "f32", {{"tokens", 7}});
  for (rt::Backend backend : {rt::Backend::Unsloth, rt::Backend::None}) {
    Life life(model, controlsOf(backend), std::make_shared<rt::HostDevice>());
    life.forward();
    life.expectBackward();
    EXPECT_EQ(life.digest(), life.alone.digest);
    rt::Status second = life.backward();
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.message().find("already consumed"), std::string::npos)
        << second.message();
    EXPECT_EQ(life.digest(), life.alone.digest);
    // The next step works.
    life.clearResults();
    life.forward();
    life.expectBackward();
    EXPECT_EQ(life.digest(), life.alone.digest);
    EXPECT_EQ(life.step->statistics().backwards, 2);
  }
}

} // namespace
