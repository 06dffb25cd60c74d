//===- CudaStepTest.cpp - steps on a GPU ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The adapter program of five blocks on the CUDA device against the same on
/// the host device: plainly issued, poisoned, as graphs, and when calls fail.
/// The values are small and exact, so that every order of additions gives the
/// same bits.
///
//===----------------------------------------------------------------------===//

#include "CudaTesting.h"
#include "Device/Host/HostDevice.h"
#include "Executor/Step.h"
#include "GpuProgram.h"
#include "TestProgram.h"

using namespace ckpt::rt;
using namespace ckpt::rt::test;

// Of AdapterKernels.c, within this program: a GPU's machine may have no more.
extern "C" {
using HostKernel = void(void *const *, const int64_t *, void *);
HostKernel gemm_bias_add, gemm_dx, gemm_dw, accumulate_rows, cast;
}

namespace {

constexpr int64_t rows = 40;

std::shared_ptr<const Schedule> scheduleOf(const Program &program,
                                           const Controls &controls) {
  SizeValues sizes = {{"rows", rows}};
  Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
  EXPECT_TRUE(plan.ok());
  Result<Schedule> schedule =
      instantiate(program, *plan, sizes, controls, *profileNamed("host"));
  EXPECT_TRUE(schedule.ok()) << schedule.message();
  return std::make_shared<const Schedule>(std::move(*schedule));
}

/// The caller's tensors on one device.
class Tensors {
public:
  Tensors(std::shared_ptr<Device> given, const Schedule &schedule, int seed = 0)
      : device(std::move(given)), stream(std::move(*device->createStream({}))) {
    for (const External &external : schedule.externals) {
      int64_t bytes = *external.type.bytes().evaluate(schedule.sizeValues);
      std::vector<float> values(bytes / 4);
      for (size_t j = 0; j < values.size(); ++j)
        values[j] =
            float(int((all.size() * 7 + j * 5 + size_t(seed)) % 5) - 2) / 4;
      void *data = *device->allocate(bytes);
      expectOk(stream->copyToDevice(data, values.data(), bytes));
      expectOk(stream->synchronise());
      all.push_back({external, data, bytes});
    }
  }
  ~Tensors() {
    for (Tensor &tensor : all)
      device->free(tensor.data, tensor.bytes);
  }
  void bindTo(Step &step) const {
    for (const Tensor &tensor : all)
      expectOk(step.bind(tensor.external.name, tensor.data, tensor.bytes));
  }
  /// Every result, one after the other.
  std::vector<float> results() {
    std::vector<float> values;
    for (Tensor &tensor : all) {
      if (tensor.external.kind != ExternalKind::Output &&
          tensor.external.kind != ExternalKind::Gradient)
        continue;
      size_t before = values.size();
      values.resize(before + tensor.bytes / 4);
      expectOk(stream->copyToHost(values.data() + before, tensor.data,
                                  tensor.bytes));
      expectOk(stream->synchronise());
    }
    return values;
  }
  /// Overwrites them.
  void clear() {
    for (Tensor &tensor : all)
      if (tensor.external.kind == ExternalKind::Output ||
          tensor.external.kind == ExternalKind::Gradient)
        expectOk(stream->fill(tensor.data, 0xff, tensor.bytes));
    expectOk(stream->synchronise());
  }

private:
  struct Tensor {
    External external;
    void *data;
    int64_t bytes;
  };
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::vector<Tensor> all;
};

/// What the host device gives.
std::vector<float> expected(int seed = 0) {
  auto program = std::make_shared<Program>(makeAdapterProgram(5));
  auto schedule = scheduleOf(*program, {});
  auto device = std::make_shared<HostDevice>();
  device->registerKernel("gemm_bias_add", gemm_bias_add);
  device->registerKernel("gemm_dx", gemm_dx);
  device->registerKernel("gemm_dw", gemm_dw);
  device->registerKernel("accumulate_rows", accumulate_rows);
  device->registerKernel("cast", cast);
  Result<Step> step = Step::create(program, schedule, device, {});
  EXPECT_TRUE(step.ok()) << step.message();
  Tensors tensors(device, *schedule, seed);
  tensors.bindTo(*step);
  expectOk(step->run());
  return tensors.results();
}

Controls controlsFor(Backend backend,
                     std::optional<int64_t> buckets = std::nullopt) {
  Controls controls;
  controls.backend = backend;
  controls.pinMemoryMaxBuckets = buckets;
  return controls;
}

struct CudaStepTest : CudaTest {
  Step make(const Controls &controls, const StepOptions &options = {}) {
    schedule = scheduleOf(*program, controls);
    Result<Step> step = Step::create(program, schedule, device, options);
    EXPECT_TRUE(step.ok()) << step.message();
    return std::move(*step);
  }
  static StepOptions graph(Poison poison = Poison::None) {
    StepOptions options;
    options.graph = true;
    options.poison = poison;
    return options;
  }

  std::shared_ptr<const Program> program =
      std::make_shared<const Program>(makeGpuAdapterProgram(5));
  std::shared_ptr<const Schedule> schedule;
};

TEST_F(CudaStepTest, EveryWayOfIssuingGivesTheHostsBits) {
  const std::vector<float> right = expected();
  for (Backend backend : {Backend::None, Backend::Torch, Backend::Unsloth})
    for (Poison poison : {Poison::None, Poison::Start, Poison::Freed})
      for (bool isGraph : {false, true}) {
        StepOptions options;
        options.graph = isGraph;
        options.poison = poison;
        Step step = make(controlsFor(backend), options);
        Tensors tensors(device, *schedule);
        tensors.bindTo(step);
        for (int i = 0; i < 3; ++i) {
          tensors.clear();
          expectOk(step.run());
          EXPECT_EQ(tensors.results(), right);
        }
        StepStatistics counts = step.statistics();
        bool replays = isGraph && poison != Poison::Freed;
        EXPECT_EQ(counts.graphRuns, replays ? 3 : 0);
        EXPECT_EQ(counts.graphRecordings, replays ? 1 : 0);
        EXPECT_EQ(counts.forwards, 3);
        EXPECT_EQ(counts.backwards, 3);
        EXPECT_GT(counts.forwardSeconds, 0);
        EXPECT_GT(counts.backwardSeconds, 0);
        if (poison != Poison::None)
          EXPECT_EQ(counts.touched, schedule->arenaBytes);
      }
}

TEST_F(CudaStepTest, CountsDoNotDependOnHowItIsIssued) {
  StepStatistics counts[2];
  for (bool isGraph : {false, true}) {
    StepOptions options;
    options.graph = isGraph;
    Step step = make(controlsFor(Backend::Unsloth), options);
    Tensors tensors(device, *schedule);
    tensors.bindTo(step);
    for (int i = 0; i < 2; ++i)
      expectOk(step.run());
    counts[isGraph] = step.statistics();
  }
  EXPECT_GT(counts[0].launches, 0);
  EXPECT_GT(counts[0].copiedToHost, 0);
  EXPECT_EQ(counts[0].launches, counts[1].launches);
  EXPECT_EQ(counts[0].copiedToHost, counts[1].copiedToHost);
  EXPECT_EQ(counts[0].copiedToDevice, counts[1].copiedToDevice);
  EXPECT_EQ(counts[0].replayedOps, counts[1].replayedOps);
}

TEST_F(CudaStepTest, AGraphFollowsTheBindings) {
  Step step = make(controlsFor(Backend::Unsloth), graph());
  Tensors first(device, *schedule), second(device, *schedule, 3);
  std::vector<float> right = expected(), other = expected(3);
  ASSERT_NE(right, other);
  for (int i = 0; i < 2; ++i) {
    first.bindTo(step);
    expectOk(step.run());
    second.bindTo(step);
    expectOk(step.run());
    EXPECT_EQ(first.results(), right);
    EXPECT_EQ(second.results(), other);
  }
  EXPECT_EQ(step.statistics().graphRecordings, 4);
  EXPECT_EQ(step.statistics().graphRuns, 4);
}

TEST_F(CudaStepTest, ForwardAndBackwardAreGraphsOfTheirOwn) {
  Step step = make(controlsFor(Backend::Unsloth), graph());
  Tensors first(device, *schedule), second(device, *schedule, 3);
  std::vector<float> right = expected(), other = expected(3);
  for (int i = 0; i < 3; ++i) {
    first.clear();
    second.clear();
    // Two are open at a time.
    first.bindTo(step);
    Result<OpenForward> a = step.forward();
    ASSERT_TRUE(a.ok()) << a.message();
    second.bindTo(step);
    Result<OpenForward> b = step.forward();
    ASSERT_TRUE(b.ok()) << b.message();
    expectOk(step.backward(*b));
    first.bindTo(step);
    expectOk(step.backward(*a));
    EXPECT_EQ(first.results(), right);
    EXPECT_EQ(second.results(), other);
  }
  EXPECT_EQ(step.statistics().graphRuns, 12);
}

/// Pageable memory is nothing that a graph copies. Finding that out uses no
/// lease of its own, whose memory would count as touched.
TEST_F(CudaStepTest, WithoutPinnedMemoryThereIsNoGraph) {
  StepOptions options = graph();
  options.poison = Poison::Start;
  Step step = make(controlsFor(Backend::Unsloth, 0), options);
  Tensors tensors(device, *schedule);
  tensors.bindTo(step);
  expectOk(step.run());
  EXPECT_EQ(tensors.results(), expected());
  EXPECT_EQ(step.statistics().graphRuns, 0);
  EXPECT_EQ(step.statistics().touched, schedule->arenaBytes);
}

/// The slots are one call of the driver, also those of a second forward. When
/// that fails they are pinned one by one, which a graph copies as well.
TEST_F(CudaStepTest, SlotsAreOneSlab) {
  if (!isFake())
    GTEST_SKIP() << "needs the fake driver";
  const std::vector<float> right = expected();
  for (bool fails : {false, true}) {
    int64_t before = fakeCount("cuMemHostAlloc");
    if (fails)
      fakeFail("cuMemHostAlloc", 1, 2);
    Step step = make(controlsFor(Backend::Unsloth), graph());
    const int64_t slots = int64_t(schedule->slots.size());
    ASSERT_GT(slots, 1);
    auto calls = [&] { return fakeCount("cuMemHostAlloc") - before; };
    EXPECT_EQ(calls(), fails ? 1 + slots : 1);
    Tensors tensors(device, *schedule);
    tensors.bindTo(step);
    for (int i = 0; i < 3; ++i) {
      tensors.clear();
      expectOk(step.run());
      EXPECT_EQ(tensors.results(), right);
    }
    EXPECT_EQ(step.statistics().graphRuns, 3);
    EXPECT_EQ(step.statistics().graphRecordings, 1);
    EXPECT_EQ(step.statistics().pool.fallbacks, 0);
    EXPECT_EQ(calls(), fails ? 1 + slots : 1);

    Result<OpenForward> a = step.forward(), b = step.forward();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(calls(), fails ? 2 + slots : 2);
    EXPECT_EQ(step.statistics().pool.misses, 2 * slots);
  }
}

/// A stack in which nothing asks for a gradient: there is no border inside it.
TEST_F(CudaStepTest, AStepWithoutABackwardIsAGraphToo) {
  auto cut = std::make_shared<Schedule>(
      *scheduleOf(*program, controlsFor(Backend::None)));
  cut->commands.resize(cut->forwardEnd);
  for (Buffer &buffer : cut->buffers) {
    buffer.begin = std::min(buffer.begin, cut->forwardEnd);
    buffer.end = std::min(buffer.end, cut->forwardEnd);
  }
  Result<Step> step = Step::create(program, cut, device, graph());
  ASSERT_TRUE(step.ok()) << step.message();
  Tensors tensors(device, *cut);
  tensors.bindTo(*step);
  for (int i = 0; i < 2; ++i)
    expectOk(step->run());
  StepStatistics counts = step->statistics();
  EXPECT_EQ(counts.graphRuns, 2);
  EXPECT_EQ(counts.graphRecordings, 1);
  EXPECT_EQ(counts.backwards, 2);
  EXPECT_GT(counts.forwardSeconds, 0);
}

TEST_F(CudaStepTest, TimesComeFromEvents) {
  StepOptions options = graph();
  options.measure = true;
  Step step = make(controlsFor(Backend::Unsloth), options);
  Tensors tensors(device, *schedule);
  tensors.bindTo(step);
  expectOk(step.run());
  StepStatistics counts = step.statistics();
  EXPECT_EQ(counts.graphRuns, 0);
  ASSERT_EQ(step.times().size(), schedule->commands.size());
  for (auto [start, end] : step.times()) {
    EXPECT_LE(start, end);
    // Of events that the device rounds to a microsecond or so.
    EXPECT_LE(end, counts.forwardSeconds + counts.backwardSeconds + 1e-5);
  }
}

TEST_F(CudaStepTest, TensorsMustLieWhereKernelsCanReadThem) {
  Step step = make(controlsFor(Backend::None));
  auto *data = static_cast<char *>(memory(std::vector<uint8_t>(10000)));
  for (const External &external : schedule->externals) {
    int64_t bytes = *external.type.bytes().evaluate(schedule->sizeValues);
    EXPECT_EQ(step.bind(external.name, data + 8, bytes).message(),
              "tensor '" + external.name +
                  "': expected a pointer aligned to 16 bytes");
  }
}

/// A tensor that TMA cannot address is called by its name.
TEST_F(CudaStepTest, RefusedTensorsAreNamed) {
  Program made = makeGpuAdapterProgram(2);
  for (Kernel &kernel : made.kernels)
    for (LaunchArgument &argument :
         kernel.alternatives[0].launches[0].arguments)
      if (kernel.symbol == "gemm_dw" && argument.argument == 0) {
        argument.kind = LaunchArgument::Kind::Map;
        argument.extents = {8, Size::symbol("rows")};
        argument.strides = {8 * 4 + 2};
        argument.box = {8, 8};
        argument.dtype = DType::F32;
        argument.swizzle = 0;
      }
  auto program = std::make_shared<const Program>(std::move(made));
  auto schedule = scheduleOf(*program, {});
  Result<Step> step = Step::create(program, schedule, device, {});
  ASSERT_FALSE(step.ok());
  EXPECT_NE(step.message().find("kernel 'gemm_dw' (only): tensor '"),
            std::string::npos)
      << step.message();
  EXPECT_NE(step.message().find("rows of 34 bytes; expected a multiple of 16"),
            std::string::npos);
}

/// Each call of the driver in turn fails: the step says so, and the next one
/// is right.
TEST_F(CudaStepTest, FailuresLeaveTheStepUsable) {
  if (!isFake())
    GTEST_SKIP() << "needs the fake driver";
  const std::vector<float> right = expected();
  for (bool isGraph : {false, true}) {
    StepOptions options;
    options.graph = isGraph;
    Step step = make(controlsFor(Backend::Unsloth), options);
    Tensors first(device, *schedule), second(device, *schedule);
    for (const char *symbol :
         {"cuLaunchKernel", "cuMemsetD8Async", "cuMemcpyDtoHAsync_v2",
          "cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuStreamWaitEvent",
          "cuStreamSynchronize", "cuEventElapsedTime",
          "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphLaunch"}) {
      bool isOfGraphs =
          std::string(symbol).find("Capture") != std::string::npos ||
          std::string(symbol).find("Graph") != std::string::npos;
      if (isOfGraphs && !isGraph)
        continue;
      SCOPED_TRACE(symbol);
      // Another binding, so that the graph is recorded again.
      first.bindTo(step);
      expectOk(step.run());
      second.bindTo(step);
      fakeFail(symbol, 1, 1);
      Status status = step.run();
      ASSERT_FALSE(status.ok());
      EXPECT_NE(status.message().find("CUDA_ERROR_INVALID_VALUE"),
                std::string::npos)
          << status.message();
      second.clear();
      expectOk(step.run());
      EXPECT_EQ(second.results(), right);
    }
  }
}

} // namespace
