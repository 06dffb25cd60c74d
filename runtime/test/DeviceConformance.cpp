//===- DeviceConformance.cpp - what every device must do ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "DeviceConformance.h"

#include <cstring>
#include <numeric>

using namespace ckpt::rt;
using namespace ckpt::rt::test;

#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    auto &&status_ = (expression);                                             \
    ASSERT_TRUE(status_.ok()) << status_.message();                            \
  } while (false)

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceConformance);

void DeviceConformance::SetUp() {
  Result<std::shared_ptr<Device>> made = GetParam().make();
  if (!made.ok() && GetParam().mayBeMissing)
    GTEST_SKIP() << made.message();
  ASSERT_TRUE(made.ok()) << made.message();
  device = *made;
}

void DeviceConformance::TearDown() {
  for (auto &block : onDevice)
    device->free(block.first, block.second);
  for (auto &block : onHost)
    device->freeHost(block.data, block.bytes, block.pinned);
}

void *DeviceConformance::deviceMemory(int64_t bytes) {
  Result<void *> data = device->allocate(bytes);
  EXPECT_TRUE(data.ok());
  onDevice.push_back({*data, bytes});
  return *data;
}

uint8_t *DeviceConformance::hostMemory(int64_t bytes, bool pinned) {
  Result<void *> data = device->allocateHost(bytes, pinned);
  EXPECT_TRUE(data.ok());
  onHost.push_back({*data, bytes, pinned});
  return static_cast<uint8_t *>(*data);
}

std::unique_ptr<Stream> DeviceConformance::stream(StreamLimits limits) {
  auto made = device->createStream(limits);
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

std::unique_ptr<Event> DeviceConformance::event() {
  auto made = device->createEvent();
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

void *DeviceConformance::filled(int64_t bytes, uint8_t value) {
  void *data = deviceMemory(bytes);
  auto s = stream();
  EXPECT_TRUE(s->fill(data, value, bytes).ok());
  EXPECT_TRUE(s->synchronise().ok());
  return data;
}

std::vector<uint8_t> DeviceConformance::read(const void *from, int64_t bytes) {
  std::vector<uint8_t> to(bytes);
  auto s = stream();
  EXPECT_TRUE(s->copyToHost(to.data(), from, bytes).ok());
  EXPECT_TRUE(s->synchronise().ok());
  return to;
}

static Kernel stubKernel(const char *symbol) {
  Kernel made;
  made.symbol = symbol;
  made.numReads = made.numWrites = 1;
  made.workspaceBytes = Size::symbol("bytes");
  return made;
}

std::shared_ptr<Program> DeviceConformance::stubProgram(int variant) {
  auto program = std::make_shared<Program>();
  program->sizes = {{"bytes", std::nullopt}};
  program->kernels = {stubKernel("stub_add"), stubKernel("stub_reverse")};
  GetParam().addCode(*program, variant);
  return program;
}

std::unique_ptr<Module> DeviceConformance::stubModule(int variant) {
  auto made = device->loadModule(stubProgram(variant));
  EXPECT_TRUE(made.ok()) << made.message();
  return std::move(*made);
}

Result<KernelHandle> DeviceConformance::find(Module &module, const char *symbol,
                                             int64_t bytes) {
  std::shared_ptr<const Program> program = stubProgram(1);
  for (const Kernel &kernel : program->kernels)
    if (kernel.symbol == symbol)
      return module.find(kernel, {{"bytes", bytes}}, {});
  return module.find(stubKernel(symbol), {{"bytes", bytes}}, {});
}

static Launch launchOf(KernelHandle kernel, void *const *arguments,
                       const int64_t *sizes, void *workspace) {
  Launch launch;
  launch.kernel = kernel;
  launch.arguments = arguments;
  launch.numArguments = 2;
  launch.sizes = sizes;
  launch.numSizes = 1;
  launch.workspace = workspace;
  return launch;
}

//===----------------------------------------------------------------------===//
// Memory and copies
//===----------------------------------------------------------------------===//

TEST_P(DeviceConformance, MemoryIsAligned) {
  for (int64_t bytes : {1, 255, 256, 100000})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(deviceMemory(bytes)) % 256, 0u);
  EXPECT_EQ(deviceMemory(0), nullptr);
  for (bool pinned : {true, false})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(hostMemory(100, pinned)) % 256, 0u);
}

TEST_P(DeviceConformance, RoundTripOverPinnedAndPageable) {
  for (bool pinned : {true, false}) {
    const int64_t bytes = 10007;
    uint8_t *from = hostMemory(bytes, pinned), *to = hostMemory(bytes, pinned);
    std::iota(from, from + bytes, uint8_t(3));
    std::memset(to, 0, bytes);
    void *there = deviceMemory(bytes);
    auto s = stream();
    ASSERT_OK(s->copyToDevice(there, from, bytes));
    ASSERT_OK(s->copyToHost(to, there, bytes));
    ASSERT_OK(s->synchronise());
    EXPECT_EQ(std::memcmp(from, to, bytes), 0);
  }
}

TEST_P(DeviceConformance, FillTouchesItsBytesOnly) {
  void *data = filled(100, 7);
  auto s = stream();
  ASSERT_OK(s->fill(static_cast<char *>(data) + 10, 0xff, 80));
  ASSERT_OK(s->fill(data, 1, 0));
  ASSERT_OK(s->synchronise());
  std::vector<uint8_t> bytes = read(data, 100);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(bytes[i], i < 10 || i >= 90 ? 7 : 0xff) << i;
}

/// Host copies are really elsewhere: the device bytes change, the copy stays.
TEST_P(DeviceConformance, HostCopyIsApart) {
  void *data = filled(64, 5);
  uint8_t *copy = hostMemory(64);
  auto s = stream();
  ASSERT_OK(s->copyToHost(copy, data, 64));
  ASSERT_OK(s->fill(data, 0xff, 64));
  ASSERT_OK(s->synchronise());
  EXPECT_EQ(copy[0], 5);
  EXPECT_EQ(copy[63], 5);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

TEST_P(DeviceConformance, StreamKeepsOrder) {
  void *data = filled(1, 0);
  uint8_t *seen = hostMemory(1000);
  auto s = stream();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK(s->fill(data, uint8_t(i), 1));
    ASSERT_OK(s->copyToHost(seen + i, data, 1));
  }
  ASSERT_OK(s->synchronise());
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(seen[i], uint8_t(i));
}

/// A token goes back and forth between two streams; every hop needs its wait.
TEST_P(DeviceConformance, EventsOrderStreams) {
  const int hops = 300;
  void *data = filled(1, 0);
  uint8_t *seen = hostMemory(hops);
  auto writer = stream(), reader = stream();
  auto written = event(), taken = event();
  for (int i = 0; i < hops; ++i) {
    ASSERT_OK(writer->wait(*taken));
    ASSERT_OK(writer->fill(data, uint8_t(i + 1), 1));
    ASSERT_OK(writer->record(*written));
    ASSERT_OK(reader->wait(*written));
    ASSERT_OK(reader->copyToHost(seen + i, data, 1));
    ASSERT_OK(reader->record(*taken));
  }
  ASSERT_OK(reader->synchronise());
  for (int i = 0; i < hops; ++i)
    EXPECT_EQ(seen[i], uint8_t(i + 1));
  ASSERT_OK(writer->synchronise());
}

TEST_P(DeviceConformance, WaitOnAnUnrecordedEventIsNoWait) {
  auto s = stream();
  auto never = event();
  EXPECT_TRUE(never->done());
  ASSERT_OK(s->wait(*never));
  ASSERT_OK(s->synchronise());
}

/// A wait is for the record before it, not for one that comes later.
TEST_P(DeviceConformance, WaitTakesTheRecordBeforeIt) {
  auto first = stream(), second = stream();
  auto e = event();
  ASSERT_OK(first->record(*e));
  ASSERT_OK(first->synchronise());
  auto blocker = event();
  // `first` will record `e` again only after `second` has passed its wait.
  ASSERT_OK(second->wait(*e));
  ASSERT_OK(second->record(*blocker));
  ASSERT_OK(first->wait(*blocker));
  ASSERT_OK(first->record(*e));
  ASSERT_OK(first->synchronise());
  ASSERT_OK(second->synchronise());
  EXPECT_TRUE(e->done());
}

/// More commands than the queue holds: the caller waits, nothing is lost.
TEST_P(DeviceConformance, QueueMayBeShort) {
  void *data = filled(1, 0);
  uint8_t *seen = hostMemory(500);
  StreamLimits limits;
  limits.commands = 2;
  auto s = stream(limits), other = stream(limits);
  auto e = event();
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(s->fill(data, uint8_t(i * 3), 1));
    ASSERT_OK(s->record(*e));
    ASSERT_OK(other->wait(*e));
    ASSERT_OK(other->copyToHost(seen + i, data, 1));
    ASSERT_OK(other->record(*e));
    ASSERT_OK(s->wait(*e));
  }
  ASSERT_OK(other->synchronise());
  ASSERT_OK(s->synchronise());
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(seen[i], uint8_t(i * 3));
}

TEST_P(DeviceConformance, EventsTellTime) {
  auto s = stream();
  auto before = event(), after = event();
  void *data = deviceMemory(1 << 22);
  ASSERT_OK(s->record(*before));
  ASSERT_OK(s->fill(data, 1, 1 << 22));
  ASSERT_OK(s->record(*after));
  ASSERT_OK(s->synchronise());
  Result<double> seconds = device->secondsBetween(*before, *after);
  ASSERT_OK(seconds);
  EXPECT_GT(*seconds, 0);
  EXPECT_LT(*seconds, 10);
  EXPECT_FALSE(device->secondsBetween(*before, *event()).ok());
}

TEST_P(DeviceConformance, DestroyedStreamFinishes) {
  void *data = filled(1 << 20, 1);
  uint8_t *to = hostMemory(1 << 20);
  to[(1 << 20) - 1] = 0;
  {
    auto s = stream();
    ASSERT_OK(s->copyToHost(to, data, 1 << 20));
  }
  EXPECT_EQ(to[(1 << 20) - 1], 1);
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

TEST_P(DeviceConformance, LaunchesAKernelWithWorkspace) {
  auto module = stubModule(1);
  const int64_t bytes = 1000;
  Result<KernelHandle> add = find(*module, "stub_add", bytes);
  Result<KernelHandle> reverse = find(*module, "stub_reverse", bytes);
  ASSERT_OK(add);
  ASSERT_OK(reverse);

  uint8_t *host = hostMemory(bytes);
  for (int64_t i = 0; i < bytes; ++i)
    host[i] = uint8_t(i * 7);
  void *a = deviceMemory(bytes), *b = deviceMemory(bytes);
  void *workspace = deviceMemory(bytes);
  auto s = stream();
  ASSERT_OK(s->copyToDevice(a, host, bytes));
  {
    // Argument and size arrays are copied when the launch is enqueued.
    void *arguments[] = {a, b};
    int64_t sizes[] = {bytes};
    ASSERT_OK(s->launch(launchOf(*add, arguments, sizes, nullptr)));
    arguments[0] = b;
    arguments[1] = a;
    ASSERT_OK(s->launch(launchOf(*reverse, arguments, sizes, workspace)));
    arguments[0] = arguments[1] = nullptr;
    sizes[0] = 0;
  }
  ASSERT_OK(s->synchronise());
  std::vector<uint8_t> got = read(a, bytes);
  for (int64_t i = 0; i < bytes; ++i)
    ASSERT_EQ(got[i], uint8_t((bytes - 1 - i) * 7 + 1)) << i;
}

TEST_P(DeviceConformance, WriteThatNobodyAskedForIsNull) {
  auto module = stubModule(1);
  Result<KernelHandle> reverse = find(*module, "stub_reverse", 16);
  ASSERT_OK(reverse);
  void *workspace = deviceMemory(16);
  void *arguments[] = {filled(16, 9), nullptr};
  int64_t sizes[] = {16};
  auto s = stream();
  ASSERT_OK(s->launch(launchOf(*reverse, arguments, sizes, workspace)));
  ASSERT_OK(s->synchronise());
  EXPECT_EQ(read(workspace, 16), std::vector<uint8_t>(16, 9));
}

/// Two programs in one process, with kernels of the same names.
TEST_P(DeviceConformance, ModulesAreApart) {
  std::unique_ptr<Module> modules[2] = {stubModule(1), stubModule(2)};
  auto s = stream();
  for (int round : {0, 1}) {
    for (int variant : {1, 2}) {
      Result<KernelHandle> add = find(*modules[variant - 1], "stub_add", 4);
      ASSERT_OK(add);
      void *arguments[] = {filled(4, 10), deviceMemory(4)};
      int64_t sizes[] = {4};
      ASSERT_OK(s->launch(launchOf(*add, arguments, sizes, nullptr)));
      ASSERT_OK(s->synchronise());
      EXPECT_EQ(read(arguments[1], 4), std::vector<uint8_t>(4, 10 + variant));
    }
    // The first goes and is loaded again.
    if (round == 0) {
      modules[0].reset();
      modules[0] = stubModule(1);
    }
  }
}

TEST_P(DeviceConformance, MissingKernelIsNamed) {
  auto module = stubModule(1);
  Result<KernelHandle> found = find(*module, "no_such_kernel", 1);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.message().find("no_such_kernel"), std::string::npos);
}

/// Code that is cut off, and code that is something else: an error when it is
/// loaded, which may be as late as its kernel is found.
TEST_P(DeviceConformance, DamagedCodeIsAnError) {
  for (bool isCut : {true, false}) {
    auto program = stubProgram(1);
    auto damage = [&](auto &code) {
      if (isCut && code.size() > 40)
        code.resize(40);
      std::fill_n(code.begin(), isCut ? 0 : std::min<size_t>(16, code.size()),
                  0x6e);
    };
    damage(program->object);
    for (GpuFunction &function : program->functions) {
      damage(function.ptx);
      damage(function.cubin);
    }
    auto module = device->loadModule(program);
    if (module.ok()) {
      Result<KernelHandle> found = find(**module, "stub_add", 1);
      ASSERT_FALSE(found.ok());
      EXPECT_NE(found.message().find("stub_add"), std::string::npos);
    }
  }
}

TEST_P(DeviceConformance, ProgramForAnotherTargetIsAnError) {
  auto program = stubProgram(1);
  program->target = program->target == "host" ? "nvptx" : "host";
  auto module = device->loadModule(program);
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.message().find("expected a program for target"),
            std::string::npos);
}

TEST_P(DeviceConformance, LaunchBeyondTheLimitsIsAnError) {
  auto module = stubModule(1);
  Result<KernelHandle> add = find(*module, "stub_add", 1);
  ASSERT_OK(add);
  StreamLimits limits;
  limits.arguments = 1;
  auto s = stream(limits);
  void *arguments[] = {nullptr, nullptr};
  int64_t sizes[] = {0};
  EXPECT_FALSE(s->launch(launchOf(*add, arguments, sizes, nullptr)).ok());
  EXPECT_FALSE(s->launch(launchOf(nullptr, arguments, sizes, nullptr)).ok());
  // The stream still works.
  ASSERT_OK(s->synchronise());
}
