//===- CudaDeviceTest.cpp - the device that is an NVIDIA GPU --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The conformance suite over the CUDA device, and what only it does: the
/// choice of an alternative, descriptors, recordings. Skipped where there is no
/// GPU, unless CKPT_CUDA_DRIVER names the fake driver, as one run of it in
/// CTest does.
///
//===----------------------------------------------------------------------===//

#include "CudaTesting.h"
#include "DeviceConformance.h"
#include "GpuProgram.h"

#include <cstring>

using namespace ckpt::rt;
using namespace ckpt::rt::test;

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceConformance,
                         ::testing::Values(DeviceFactory{
                             "cuda", [] { return createDevice("cuda"); },
                             addStubCode, /*mayBeMissing=*/true}),
                         [](const auto &info) { return info.param.name; });

namespace {

/// A box of 1024 bytes by TMA, as it lies in shared memory: `box` of the fake
/// driver.
constexpr const char *boxPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry box(.param .align 64 .b8 map[128], .param .u64 to,
                    .param .u32 column, .param .u32 row)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b64 barrier;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ld.param.u64 %rd3, [to];
  cvta.to.global.u64 %rd4, %rd3;
  ld.param.u32 %r1, [column];
  ld.param.u32 %r2, [row];
  mov.u32 %r3, tile;
  mov.u32 %r4, barrier;
  mov.u32 %r5, %tid.x;
  setp.ne.u32 %p1, %r5, 0;
  @%p1 bra LOADED;
  mbarrier.init.shared.b64 [%r4], 1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r4], 1024;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%r3], [%rd2, {%r1, %r2}], [%r4];
LOADED:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0;
  @!%p2 bra WAIT;
  // 128 threads of 8 bytes.
  shl.b32 %r6, %r5, 3;
  add.u32 %r7, %r3, %r6;
  ld.shared.u64 %rd6, [%r7];
  cvt.u64.u32 %rd7, %r6;
  add.u64 %rd4, %rd4, %rd7;
  st.global.u64 [%rd4], %rd6;
  ret;
}
)";

/// One kernel with a read and a write, `bytes` bytes each.
struct CudaDeviceTest : CudaTest {
  void SetUp() override {
    CudaTest::SetUp();
    program = std::make_shared<Program>();
    program->target = "nvptx";
    program->sizes = {{"bytes", std::nullopt}};
    kernel.symbol = "copy";
    kernel.numReads = kernel.numWrites = 1;
  }

  Result<KernelHandle> find(int64_t size,
                            const std::vector<std::string> &names = {}) {
    Result<std::unique_ptr<Module>> made = device->loadModule(program);
    EXPECT_TRUE(made.ok());
    modules.push_back(std::move(*made));
    return modules.back()->find(kernel, {{"bytes", size}}, names);
  }
  std::string refusal(int64_t size,
                      const std::vector<std::string> &names = {}) {
    Result<KernelHandle> found = find(size, names);
    EXPECT_FALSE(found.ok());
    return found.ok() ? "" : found.message();
  }
  /// What the kernel makes of `from`.
  std::vector<uint8_t> run(KernelHandle handle,
                           const std::vector<uint8_t> &from, int64_t bytes,
                           uint8_t before = 0) {
    void *arguments[] = {memory(from),
                         memory(std::vector<uint8_t>(bytes, before))};
    launch(*stream, handle, arguments);
    return read(arguments[1], bytes);
  }
  void launch(Stream &on, KernelHandle handle, void *const *arguments) {
    Launch launch;
    launch.kernel = handle;
    launch.arguments = arguments;
    launch.numArguments = 2;
    expectOk(on.launch(launch));
  }

  GpuLaunch add(int from) {
    return launchOf(0, bytes, {pointerTo(from), pointerTo(1), number64(bytes)});
  }

  std::shared_ptr<Program> program;
  Kernel kernel;
  Formula bytes = Size::symbol("bytes");
  std::vector<std::unique_ptr<Module>> modules;
};

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

TEST_F(CudaDeviceTest, TheCheapestAlternativeRuns) {
  addFunction(*program, "stub_add", gpuKernels());
  // Adds 1 once; twice; twice. The number of multiprocessors is 132, or so.
  Formula sms = Size::symbol(multiprocessors);
  kernel.alternatives = {{"once", bytes, {add(0)}},
                         {"twice", sms * 2, {add(0), add(1)}},
                         {"as cheap", sms * 2, {add(0), add(1), add(1)}}};
  EXPECT_EQ(run(*find(16), std::vector<uint8_t>(16, 7), 16),
            std::vector<uint8_t>(16, 8));
  EXPECT_EQ(run(*find(5000), std::vector<uint8_t>(5000, 7), 5000),
            std::vector<uint8_t>(5000, 9));
  kernel.alternatives[1].cost = Size::symbol("other");
  EXPECT_EQ(refusal(16), "kernel 'copy' (twice): expected a cost, found that "
                         "other has no value at these sizes; choose smaller "
                         "ones");
  kernel.alternatives.clear();
  EXPECT_EQ(refusal(16), "kernel 'copy': the program holds no code for it; "
                         "compile it for target nvptx");
}

TEST_F(CudaDeviceTest, FillsOffsetsAndEmptyGrids) {
  addFunction(*program, "stub_add", gpuKernels());
  GpuLaunch fill;
  fill.arguments = {pointerTo(1, 4)};
  fill.fillBytes = bytes - 8;
  // Bytes past the 16th, of which there may be none.
  GpuLaunch rest =
      launchOf(0, bytes - 16,
               {pointerTo(0, 16), pointerTo(1, 16), number64(bytes - 16)});
  kernel.alternatives = {{"only", 0, {fill, rest}}};
  std::vector<uint8_t> expected(16, 9);
  std::fill_n(expected.begin() + 4, 8, 0);
  EXPECT_EQ(run(*find(16), std::vector<uint8_t>(16, 7), 16, 9), expected);
  expected.assign(20, 0);
  std::fill_n(expected.begin(), 4, 9);
  std::fill_n(expected.begin() + 16, 4, 8);
  EXPECT_EQ(run(*find(20), std::vector<uint8_t>(20, 7), 20, 9), expected);
}

TEST_F(CudaDeviceTest, RefusesWhatTheMachineCannotLaunch) {
  addFunction(*program, "stub_add", gpuKernels());
  GpuLaunch launch = add(0);
  auto message = [&](int64_t size) {
    kernel.alternatives = {{"a", 0, {launch}}};
    return refusal(size);
  };
  launch.gridY = bytes;
  EXPECT_EQ(message(70000),
            "kernel 'copy' (a): grid: expected 0 to 65535, found 70000 "
            "(bytes); choose smaller sizes");
  launch.gridY = bytes - 2;
  EXPECT_NE(message(1).find("found -1"), std::string::npos);
  launch.gridY = 1;
  launch.arguments[2] = number32(bytes * 4);
  EXPECT_NE(message(INT32_MAX / 2).find("32-bit argument: expected"),
            std::string::npos);
  launch = add(0);
  program->functions[0].cluster = 2;
  EXPECT_EQ(message(16), "kernel 'copy' (a): grid of stub_add: expected a "
                         "multiple of 2 blocks, a cluster, found 1");
  program->functions[0].cluster = 1;
  program->functions[0].sharedBytes = 300000;
  EXPECT_NE(message(16).find("bytes"), std::string::npos);
  program->functions[0].sharedBytes = 0;
  program->functions[0].symbol = "nowhere";
  EXPECT_NE(message(16).find("GPU function 'nowhere': cuModuleGetFunction: "
                             "CUDA_ERROR_NOT_FOUND"),
            std::string::npos);
  program->functions[0].ptx = ".version 8.0\n.targets sm_90\n";
  EXPECT_NE(message(16).find("bytes of PTX ("), std::string::npos)
      << message(16);
}

/// Machine code that the driver does not take gives way to the text.
TEST_F(CudaDeviceTest, TextStandsInForForeignMachineCode) {
  addFunction(*program, "stub_add", gpuKernels());
  std::string image = "\x7f"
                      "ELF of another machine, as long as a header is at least";
  program->functions[0].cubin.assign(image.begin(), image.end());
  kernel.alternatives = {{"a", 0, {add(0)}}};
  EXPECT_EQ(run(*find(16), std::vector<uint8_t>(16, 7), 16),
            std::vector<uint8_t>(16, 8));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

struct CudaMapTest : CudaDeviceTest {
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped())
      return;
    addFunction(*program, "box", boxPtx);
    map.kind = LaunchArgument::Kind::Map;
    map.argument = 0;
    map.extents = {columns, rows};
    map.strides = {columns * 2};
    map.box = {32, 16};
    map.swizzle = 0;
  }
  /// With the map as it is now.
  void use() {
    GpuLaunch launch =
        launchOf(0, 1, {map, pointerTo(1), number32(column), number32(row)});
    kernel.alternatives = {{"tma", 0, {launch}}};
  }

  static constexpr int columns = 40, rows = 20, column = 16, row = 8;
  LaunchArgument map;
};

TEST_F(CudaMapTest, ReadsABoxWithZerosOutside) {
  // Element (r, c) is 100 r + c, in bf16's bits.
  std::vector<uint8_t> bytesOfTensor(columns * rows * 2);
  for (int i = 0; i < columns * rows; ++i) {
    uint16_t value = uint16_t(i / columns * 100 + i % columns);
    std::memcpy(&bytesOfTensor[i * 2], &value, 2);
  }
  // 8 elements in: the same box begins one row of 16 bytes further.
  for (int64_t offset : {0, 16}) {
    map.offset = offset;
    map.extents = {columns - offset / 2, rows};
    use();
    std::vector<uint8_t> got = run(*find(1), bytesOfTensor, 1024);
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 32; ++c) {
        uint16_t value;
        std::memcpy(&value, &got[(r * 32 + c) * 2], 2);
        int y = row + r, x = column + c + int(offset) / 2;
        ASSERT_EQ(value, y < rows && x < columns ? y * 100 + x : 0)
            << r << " " << c;
      }
  }
}

TEST_F(CudaMapTest, RefusesWhatTmaCannotAddress) {
  auto message = [&](const std::vector<std::string> &names = {}) {
    use();
    return refusal(1, names);
  };
  map.strides = {columns * 2 + 4};
  EXPECT_EQ(message({"blocks.0.w"}),
            "kernel 'copy' (tma): tensor 'blocks.0.w' (argument 0): rows of 84 "
            "bytes; expected a multiple of 16, which the GPU's copy unit asks "
            "for");
  map.strides = {INT64_C(1) << 40};
  EXPECT_EQ(message(),
            "kernel 'copy' (tma): argument 0: rows of 1099511627776; expected "
            "1 to less than 1099511627776");
  map.strides = {columns * 2};
  map.extents[1] = 0;
  EXPECT_EQ(message(), "kernel 'copy' (tma): argument 0: an extent of 0; "
                       "expected 1 to less than 4294967297");
  map.extents[1] = rows;
  map.swizzle = 32;
  EXPECT_EQ(message(), "kernel 'copy' (tma): argument 0: box rows of 64 bytes; "
                       "expected a multiple of 16 that the swizzle of 32 bytes "
                       "holds");
  map.swizzle = 0;
  use();
  Launch launch;
  launch.kernel = *find(1);
  char *tensor = static_cast<char *>(memory(std::vector<uint8_t>(2000)));
  void *arguments[] = {tensor + 2, memory(std::vector<uint8_t>(1024))};
  launch.arguments = arguments;
  launch.numArguments = 2;
  EXPECT_EQ(stream->launch(launch).message(),
            "kernel 'copy' (tma): argument 0: an address that is no multiple "
            "of 16; expected one, which the GPU's copy unit asks for");
}

TEST_F(CudaMapTest, EncodesOnceAnAddress) {
  use();
  KernelHandle handle = *find(1);
  void *to = memory(std::vector<uint8_t>(1024));
  void *tensors[] = {memory(std::vector<uint8_t>(columns * rows * 2, 1)),
                     memory(std::vector<uint8_t>(columns * rows * 2, 2))};
  int64_t before = fakeCount("cuTensorMapEncodeTiled");
  for (int round = 0; round < 10; ++round)
    for (int i : {0, 1}) {
      void *arguments[] = {tensors[i], to};
      launch(*stream, handle, arguments);
      EXPECT_EQ(read(to, 1)[0], i + 1);
    }
  if (isFake())
    EXPECT_LE(fakeCount("cuTensorMapEncodeTiled") - before, 2);
}

//===----------------------------------------------------------------------===//
// Recordings
//===----------------------------------------------------------------------===//

struct CudaRecordingTest : CudaDeviceTest {
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped())
      return;
    recording = std::move(*device->createRecording());
    ASSERT_TRUE(recording);
    other = std::move(*device->createStream({}));
    forked = std::move(*device->createEvent());
    joined = std::move(*device->createEvent());
  }
  /// Fills on one stream, then copies on the other.
  Status record(void *to, uint8_t value, void *host, bool withJoin = true) {
    if (Status status = recording->begin({stream.get(), other.get()});
        !status.ok())
      return status;
    expectOk(stream->fill(to, value, 64));
    expectOk(stream->record(*forked));
    expectOk(other->wait(*forked));
    expectOk(other->copyToHost(host, to, 64));
    expectOk(other->record(*joined));
    if (withJoin)
      expectOk(stream->wait(*joined));
    return recording->end();
  }
  void issue() {
    expectOk(recording->issue());
    expectOk(stream->synchronise());
  }

  std::unique_ptr<Recording> recording;
  std::unique_ptr<Stream> other;
  std::unique_ptr<Event> forked, joined;
};

TEST_F(CudaRecordingTest, RunsWhenIssuedAndIsReplaced) {
  EXPECT_FALSE(recording->issue().ok());
  void *a = memory(std::vector<uint8_t>(64, 1));
  void *b = memory(std::vector<uint8_t>(64, 2));
  auto *host = static_cast<uint8_t *>(*device->allocateHost(64, true));
  std::memset(host, 0, 64);
  expectOk(record(a, 7, host));
  EXPECT_EQ(host[0], 0);
  EXPECT_EQ(read(a, 1)[0], 1);
  for (int i = 0; i < 3; ++i) {
    std::memset(host, 0, 64);
    issue();
    EXPECT_EQ(host[63], 7);
  }
  int64_t made = fakeCount("cuGraphInstantiateWithFlags");
  expectOk(record(b, 8, host));
  issue();
  EXPECT_EQ(host[0], 8);
  EXPECT_EQ(read(a, 1)[0], 7);
  if (isFake())
    EXPECT_EQ(fakeCount("cuGraphInstantiateWithFlags"), made);
  // Another shape is made anew.
  expectOk(recording->begin({stream.get(), other.get()}));
  expectOk(stream->fill(a, 9, 64));
  expectOk(stream->fill(b, 9, 64));
  expectOk(recording->end());
  issue();
  EXPECT_EQ(read(a, 1)[0], 9);
  EXPECT_EQ(read(b, 1)[0], 9);
  device->freeHost(host, 64, true);
}

TEST_F(CudaRecordingTest, MarksTellTimeAtEachIssue) {
  auto begun = std::move(*device->createEvent());
  auto mark = std::move(*device->createEvent());
  auto before = std::move(*device->createEvent());
  void *a = memory(std::vector<uint8_t>(64));
  // Recorded before: reached already, no part of the recording.
  expectOk(other->record(*before));
  expectOk(recording->begin({stream.get(), other.get()}));
  expectOk(stream->wait(*before));
  expectOk(stream->fill(a, 1, 64));
  expectOk(stream->mark(*mark));
  expectOk(stream->fill(a, 2, 64));
  expectOk(recording->end());
  for (int i = 0; i < 2; ++i) {
    expectOk(stream->record(*begun));
    issue();
    EXPECT_TRUE(mark->done());
    Result<double> seconds = device->secondsBetween(*begun, *mark);
    ASSERT_TRUE(seconds.ok()) << seconds.message();
    EXPECT_GT(*seconds, 0);
  }
}

TEST_F(CudaRecordingTest, AFailureLeavesTheStreamsAsTheyWere) {
  void *a = memory(std::vector<uint8_t>(64));
  auto *host = static_cast<uint8_t *>(*device->allocateHost(64, true));
  EXPECT_FALSE(record(a, 1, host, /*withJoin=*/false).ok());
  EXPECT_FALSE(recording->issue().ok());
  expectOk(recording->begin({stream.get(), other.get()}));
  expectOk(stream->fill(a, 3, 64));
  recording->abandon();
  EXPECT_FALSE(recording->issue().ok());
  // And both streams run again.
  expectOk(stream->fill(a, 4, 64));
  expectOk(stream->synchronise());
  expectOk(other->copyToHost(host, a, 64));
  expectOk(other->synchronise());
  EXPECT_EQ(host[0], 4);
  expectOk(record(a, 5, host));
  issue();
  EXPECT_EQ(host[0], 5);
  device->freeHost(host, 64, true);
}

//===----------------------------------------------------------------------===//
// Machines without
//===----------------------------------------------------------------------===//

TEST(CudaDevice, AMissingDeviceIsExplained) {
  Result<std::shared_ptr<Device>> made = createDevice("cuda");
  if (!made.ok()) {
    EXPECT_EQ(made.message().rfind("cuda device: ", 0), 0u);
    EXPECT_NE(made.message().find("; "), std::string::npos) << made.message();
  }
  EXPECT_FALSE(createDevice("cuda:99").ok());
  EXPECT_EQ(createDevice("cuda:x").message(),
            "device: expected host, cuda or cuda:N, got cuda:x");
  EXPECT_EQ(createDevice("tpu").message(),
            "device: expected host, cuda or cuda:N, got tpu");
}

TEST(CudaDevice, OtherMachinesAreNamed) {
  if (!isFake())
    GTEST_SKIP() << "needs the fake driver";
  setenv("FAKE_CUDA_CAPABILITY", "80", 1);
  EXPECT_EQ(createDevice("cuda").message(),
            "cuda device: expected a GPU of compute capability 9.0 (H100, "
            "H200, GH200), found Fake GPU of 8.0; run on such a GPU, or "
            "compile the step for target host");
  setenv("FAKE_CUDA_CAPABILITY", "90", 1);
  EXPECT_EQ(createDevice("cuda:3").message(),
            "cuda device: expected GPU 3, found 1 numbered from 0; "
            "CUDA_VISIBLE_DEVICES hides GPUs");
  setenv("FAKE_CUDA_GPUS", "0", 1);
  EXPECT_EQ(createDevice("cuda").message(),
            "cuda device: expected GPU 0, found none; CUDA_VISIBLE_DEVICES "
            "hides GPUs");
  setenv("FAKE_CUDA_GPUS", "1", 1);
  fakeFail("cuDevicePrimaryCtxRetain", 1, 2);
  EXPECT_EQ(createDevice("cuda").message(),
            "cuda device: cuDevicePrimaryCtxRetain of Fake GPU, CUDA 13.0: "
            "CUDA_ERROR_OUT_OF_MEMORY (the fake driver)");
  EXPECT_TRUE(createDevice("cuda").ok());
}

TEST_F(CudaDeviceTest, CallsThatFailAreNamedWithTheirSizes) {
  if (!isFake())
    GTEST_SKIP() << "needs the fake driver";
  fakeFail("cuMemAlloc_v2", 1, 2);
  Result<void *> data = device->allocate(12345);
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.message().rfind("device memory: cuMemAlloc of 12345 bytes", 0),
            0u);
  fakeFail("cuMemHostAlloc", 1, 2);
  EXPECT_EQ(device->allocateHost(77, true).message(),
            "pinned host memory: cuMemHostAlloc of 77 bytes: "
            "CUDA_ERROR_OUT_OF_MEMORY (the fake driver)");
  void *a = memory(std::vector<uint8_t>(64));
  char host[64];
  fakeFail("cuMemcpyDtoHAsync_v2", 1, 1);
  EXPECT_EQ(stream->copyToHost(host, a, 64).message(),
            "cuMemcpyDtoHAsync of 64 bytes: CUDA_ERROR_INVALID_VALUE (the fake "
            "driver)");
  fakeFail("cuMemcpyHtoDAsync_v2", 1, 1);
  EXPECT_FALSE(stream->copyToDevice(a, host, 64).ok());
  fakeFail("cuMemsetD8Async", 1, 1);
  EXPECT_FALSE(stream->fill(a, 1, 64).ok());
  fakeFail("cuStreamSynchronize", 1, 1);
  EXPECT_FALSE(stream->synchronise().ok());
  fakeFail("cuStreamCreate", 1, 1);
  EXPECT_FALSE(device->createStream({}).ok());
  fakeFail("cuEventCreate", 2, 1);
  EXPECT_FALSE(device->createEvent().ok());
  // And all is well again.
  expectOk(stream->fill(a, 1, 64));
  expectOk(stream->synchronise());
  std::optional<int64_t> inUse = device->bytesInUse();
  ASSERT_TRUE(inUse);
  EXPECT_GE(*inUse, 64);
}

} // namespace
