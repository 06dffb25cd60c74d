//===- HostDeviceTest.cpp - the device without a GPU ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The conformance suite over the host device, and what only it can do:
/// registered kernels, injected faults, delays, the ledger.
///
//===----------------------------------------------------------------------===//

#include "Device/Host/HostDevice.h"
#include "DeviceConformance.h"

#include <fstream>
#include <iterator>

using namespace ckpt::rt;
using namespace ckpt::rt::test;

static void addCode(Program &program, int variant) {
  std::ifstream file(variant == 1 ? STUB_KERNELS_1 : STUB_KERNELS_2,
                     std::ios::binary);
  program.target = "host";
  program.object.assign(std::istreambuf_iterator<char>(file), {});
}

static std::shared_ptr<const Program> emptyProgram() {
  auto program = std::make_shared<Program>();
  program->target = "host";
  return program;
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceConformance,
                         ::testing::Values(DeviceFactory{
                             "host",
                             []() -> Result<std::shared_ptr<Device>> {
                               return std::shared_ptr<Device>(
                                   std::make_shared<HostDevice>());
                             },
                             addCode}),
                         [](const auto &info) { return info.param.name; });

/// The suite again with every copy delayed: order comes from events alone.
INSTANTIATE_TEST_SUITE_P(SlowHost, DeviceConformance,
                         ::testing::Values(DeviceFactory{
                             "slow",
                             []() -> Result<std::shared_ptr<Device>> {
                               auto device = std::make_shared<HostDevice>();
                               device->faults.copyDelayMicroseconds = 20;
                               return std::shared_ptr<Device>(device);
                             },
                             addCode}),
                         [](const auto &info) { return info.param.name; });

TEST(HostDevice, RegisteredKernelRunsWithoutAnObject) {
  HostDevice device;
  int calls = 0;
  device.registerKernel("mine", [&](void *const *arguments,
                                    const int64_t *sizes, void *workspace) {
    ++calls;
    EXPECT_EQ(arguments[0], &device);
    EXPECT_EQ(sizes[0], 42);
    EXPECT_EQ(workspace, &calls);
  });
  auto module = device.loadModule(emptyProgram());
  ASSERT_TRUE(module.ok());
  Kernel kernel;
  kernel.symbol = "mine";
  Result<KernelHandle> handle = (*module)->find(kernel, {}, {});
  ASSERT_TRUE(handle.ok());
  kernel.symbol = "other";
  EXPECT_FALSE((*module)->find(kernel, {}, {}).ok());

  auto stream = device.createStream({});
  ASSERT_TRUE(stream.ok());
  void *arguments[] = {&device};
  int64_t sizes[] = {42};
  Launch launch;
  launch.kernel = *handle;
  launch.arguments = arguments;
  launch.numArguments = 1;
  launch.sizes = sizes;
  launch.numSizes = 1;
  launch.workspace = &calls;
  ASSERT_TRUE((*stream)->launch(launch).ok());
  ASSERT_TRUE((*stream)->synchronise().ok());
  EXPECT_EQ(calls, 1);
}

TEST(HostDevice, InjectedLaunchFailureIsOneLaunch) {
  HostDevice device;
  int calls = 0;
  device.registerKernel(
      "k", [&](void *const *, const int64_t *, void *) { ++calls; });
  auto module = device.loadModule(emptyProgram());
  ASSERT_TRUE(module.ok());
  Kernel kernel;
  kernel.symbol = "k";
  Launch launch;
  launch.kernel = *(*module)->find(kernel, {}, {});
  auto stream = device.createStream({});
  ASSERT_TRUE(stream.ok());
  device.faults.launch.set(2);
  EXPECT_TRUE((*stream)->launch(launch).ok());
  EXPECT_FALSE((*stream)->launch(launch).ok());
  EXPECT_TRUE((*stream)->launch(launch).ok());
  EXPECT_TRUE((*stream)->synchronise().ok());
  EXPECT_EQ(calls, 2);
}

/// A copy that fails on its thread: what waits for it goes on, and the failure
/// comes out of the next synchronise, once.
TEST(HostDevice, InjectedCopyFailureComesAtSynchronise) {
  HostDevice device;
  auto stream = device.createStream({}), other = device.createStream({});
  auto event = device.createEvent();
  ASSERT_TRUE(stream.ok() && other.ok() && event.ok());
  char from[8] = "1234567", to[8] = {};
  device.faults.copy.set(1);
  EXPECT_TRUE((*stream)->copyToHost(to, from, 8).ok());
  EXPECT_TRUE((*stream)->record(**event).ok());
  EXPECT_TRUE((*other)->wait(**event).ok());
  EXPECT_TRUE((*other)->synchronise().ok());
  Status status = (*stream)->synchronise();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("8 bytes"), std::string::npos);
  EXPECT_EQ(to[0], 0);
  EXPECT_TRUE((*stream)->copyToHost(to, from, 8).ok());
  EXPECT_TRUE((*stream)->synchronise().ok());
  EXPECT_STREQ(to, "1234567");
}

TEST(HostDevice, LedgerReturnsToZero) {
  HostDevice device;
  Result<void *> a = device.allocate(1000);
  Result<void *> b = device.allocateHost(500, true);
  Result<void *> c = device.allocateHost(300, false);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(device.ledger.device, 1000);
  EXPECT_EQ(device.ledger.pinned, 500);
  EXPECT_EQ(device.ledger.pageable, 300);
  device.free(*a, 1000);
  device.freeHost(*b, 500, true);
  device.freeHost(*c, 300, false);
  EXPECT_EQ(device.ledger.device, 0);
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

TEST(HostDevice, InjectedAllocationFailureSaysHowMuch) {
  HostDevice device;
  device.faults.deviceAllocation.set(1);
  Result<void *> failed = device.allocate(12345);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("12345"), std::string::npos);
  Result<void *> next = device.allocate(12345);
  ASSERT_TRUE(next.ok());
  device.free(*next, 12345);
}
