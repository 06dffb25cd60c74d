//===- ExecutorFailureTest.cpp - after any failure the next step works ----===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches, copies and allocations that fail, kernels that are missing, and
/// tensors that are bound wrongly.
///
//===----------------------------------------------------------------------===//

#include "ExecutorFixture.h"

using namespace ckpt::rt;
using namespace ckpt::rt::test;

namespace {
struct ExecutorFailureTest : ExecutorTest {};
} // namespace

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Every launch and every copy of a step fails once.
TEST_F(ExecutorFailureTest, NextStepWorksAfterAnyFailure) {
  const uint64_t reference = expected();
  Step step = make(unslothPinning(std::nullopt), poisoned(Poison::Freed));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  expectOk(step.run());
  int64_t onDevice = device->ledger.device, pinned = device->ledger.pinned;
  int64_t launches = 0, copies = 0;
  for (const Command &command : step.schedule().commands) {
    launches += command.kind == Command::Kind::Launch;
    copies += command.kind == Command::Kind::CopyOut ||
              command.kind == Command::Kind::CopyIn;
  }
  EXPECT_EQ(copies, 2 * 14);
  auto failOnce = [&](Countdown &fault, int64_t n) {
    SCOPED_TRACE(n);
    fault.set(n);
    Status failed = step.run();
    fault.set(0);
    ASSERT_FALSE(failed.ok());
    EXPECT_NE(failed.message().find("injected"), std::string::npos);
    EXPECT_EQ(step.statistics().openForwards, 0);
    tensors.clearResults();
    expectOk(step.run());
    EXPECT_EQ(tensors.digest(), reference);
  };
  for (int64_t n = 1; n <= launches; ++n)
    failOnce(device->faults.launch, n);
  for (int64_t n = 1; n <= copies; ++n)
    failOnce(device->faults.copy, n);
  EXPECT_EQ(step.statistics().arenas, 1);
  EXPECT_EQ(device->ledger.device, onDevice);
  EXPECT_EQ(device->ledger.pinned, pinned);
}

TEST_F(ExecutorFailureTest, FailedLaunchNamesTheCommand) {
  Step step = make(controlsFor(Backend::Torch));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  device->faults.launch.set(2);
  Status failed = step.run();
  ASSERT_FALSE(failed.ok());
  // The second launch of a forward is f1 of block 0.
  EXPECT_NE(failed.message().find("f1, block 0"), std::string::npos)
      << failed.message();
}

/// A backward that failed consumed its forward: the arena holds neither state.
TEST_F(ExecutorFailureTest, FailedBackwardConsumesItsForward) {
  Step step = make(controlsFor(Backend::Unsloth));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  Result<OpenForward> forward = step.forward();
  ASSERT_TRUE(forward.ok());
  device->faults.launch.set(5);
  EXPECT_FALSE(step.backward(*forward).ok());
  Status again = step.backward(*forward);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.message().find("already consumed"), std::string::npos);
}

/// No memory for a second open forward: the first goes on.
TEST_F(ExecutorFailureTest, NoMemoryForAnotherForward) {
  const uint64_t reference = expected();
  Step step = make(controlsFor(Backend::Unsloth));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  Result<OpenForward> first = step.forward();
  ASSERT_TRUE(first.ok());
  device->faults.deviceAllocation.set(1);
  Result<OpenForward> second = step.forward();
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.message().find(std::to_string(step.statistics().arenaBytes)),
            std::string::npos);
  // No pinned and no pageable memory for its second slot.
  device->faults.pinnedCapacity = 0;
  device->faults.pageableAllocation.set(2);
  second = step.forward();
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.message().find("host buffer 1"), std::string::npos);
  device->faults.pinnedCapacity = HostFaults().pinnedCapacity.load();
  expectOk(step.backward(*first));
  EXPECT_EQ(tensors.digest(), reference);
  second = step.forward();
  ASSERT_TRUE(second.ok());
  tensors.clearResults();
  second = step.forward();
  ASSERT_TRUE(second.ok());
  expectOk(step.backward(*second));
  EXPECT_EQ(tensors.digest(), reference);
}

TEST_F(ExecutorFailureTest, CreationFailsCleanly) {
  std::shared_ptr<const Schedule> unsloth =
      schedule(controlsFor(Backend::Unsloth));
  device->faults.deviceAllocation.set(1);
  EXPECT_FALSE(Step::create(program, unsloth, device).ok());
  device->faults.pinnedCapacity = 0;
  device->faults.pageableAllocation.set(3);
  EXPECT_FALSE(Step::create(program, unsloth, device).ok());
  device->faults.pinnedCapacity = HostFaults().pinnedCapacity.load();
  // A machine that knows none of the kernels.
  Result<Step> step =
      Step::create(program, unsloth, std::make_shared<HostDevice>());
  ASSERT_FALSE(step.ok());
  EXPECT_NE(step.message().find("kernel 'norm'"), std::string::npos)
      << step.message();
  EXPECT_EQ(device->ledger.device, 0);
  EXPECT_EQ(device->ledger.pinned, 0);
  EXPECT_EQ(device->ledger.pageable, 0);
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

TEST_F(ExecutorFailureTest, BindingsAreChecked) {
  Step step = make(controlsFor(Backend::None));
  Tensors tensors(*device, step.schedule());
  const Tensors::Tensor &x = tensors.tensors.front();
  ASSERT_EQ(x.external.name, "x");
  auto message = [](const Status &status) {
    return status.ok() ? std::string() : status.message();
  };
  EXPECT_NE(message(step.bind("z", x.data, 1)).find("'z'"), std::string::npos);
  EXPECT_NE(message(step.bind("x", nullptr, x.bytes)).find("null"),
            std::string::npos);
  // batch 1 x image 6 x width 32 x 4 bytes.
  EXPECT_EQ(x.bytes, 768);
  EXPECT_NE(message(step.bind("x", x.data, 767)).find("expected 768 bytes"),
            std::string::npos);
  EXPECT_NE(message(step.bind("x", static_cast<char *>(x.data) + 2, x.bytes))
                .find("aligned to 4"),
            std::string::npos);

  // Everything but one tensor.
  for (const Tensors::Tensor &tensor : tensors.tensors)
    if (tensor.external.name != "blocks.3.fc1.bias" &&
        tensor.external.name != "grad.out.x")
      expectOk(step.bind(tensor.external.name, tensor.data, tensor.bytes));
  Result<OpenForward> forward = step.forward();
  ASSERT_FALSE(forward.ok());
  EXPECT_NE(forward.message().find("'blocks.3.fc1.bias'"), std::string::npos);
  for (const Tensors::Tensor &tensor : tensors.tensors)
    if (tensor.external.name == "blocks.3.fc1.bias")
      expectOk(step.bind(tensor.external.name, tensor.data, tensor.bytes));
  forward = step.forward();
  ASSERT_TRUE(forward.ok()) << forward.message();

  // What a backward misses can be given, and the backward asked for again.
  Status missing = step.backward(*forward);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.message().find("'grad.out.x'"), std::string::npos);
  tensors.bindTo(step);
  expectOk(step.backward(*forward));
  EXPECT_EQ(tensors.digest(), expected());
}

TEST_F(ExecutorFailureTest, WrittenTensorsMustNotOverlap) {
  Step step = make(controlsFor(Backend::None));
  Tensors tensors(*device, step.schedule());
  tensors.bindTo(step);
  const Tensors::Tensor &x = tensors.tensors.front();
  expectOk(step.bind("out.x", x.data, x.bytes));
  Result<OpenForward> forward = step.forward();
  ASSERT_FALSE(forward.ok());
  EXPECT_NE(forward.message().find("'x'"), std::string::npos);
  EXPECT_NE(forward.message().find("'out.x'"), std::string::npos);
  // Two that are only read may share.
  tensors.bindTo(step);
  expectOk(step.bind("grad.out.x", x.data, x.bytes));
  expectOk(step.run());
}
