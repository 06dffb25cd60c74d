//===- CApiTest.cpp - the runtime as a C program sees it ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Against the shared library: an artifact with real kernels (AdapterKernels.c)
/// is loaded, planned, run, and its gradients compared with plain loops.
///
//===----------------------------------------------------------------------===//

#include "Program/Artifact.h"
#include "TestProgram.h"
#include "ckpt_rt/ckpt_rt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

using namespace ckpt::rt;

extern "C" int c_sees_the_same_structs(size_t options, size_t tensor,
                                       size_t costs, size_t command,
                                       size_t step, size_t statistics);

namespace {

constexpr int blocks = 5, width = 8;
constexpr int64_t rows = 6;

template <typename T>
T sized() {
  T made;
  std::memset(&made, 0, sizeof(made));
  made.size = sizeof(made);
  return made;
}

/// Deletes handles in the order of a struct's members, last first.
template <typename T, void (*destroy)(T *)>
struct Handle {
  Handle() = default;
  Handle(Handle &&other) : handle(std::exchange(other.handle, nullptr)) {}
  ~Handle() { destroy(handle); }
  operator T *() const { return handle; }
  T **operator&() { return &handle; }
  T *handle = nullptr;
};
using ProgramHandle = Handle<ckpt_rt_program, ckpt_rt_program_destroy>;
using PlanHandle = Handle<ckpt_rt_plan, ckpt_rt_plan_destroy>;
using DeviceHandle = Handle<ckpt_rt_device, ckpt_rt_device_destroy>;
using StepHandle = Handle<ckpt_rt_step, ckpt_rt_step_destroy>;
using ForwardHandle = Handle<ckpt_rt_forward, ckpt_rt_forward_destroy>;

std::string message() { return ckpt_rt_message(); }

Program adapterProgram() {
  Program program = makeAdapterProgram(blocks);
  std::ifstream file(ADAPTER_KERNELS, std::ios::binary);
  program.object.assign(std::istreambuf_iterator<char>(file), {});
  return program;
}

using Tensors = std::map<std::string, std::vector<float>>;

struct CApiTest : ::testing::Test {
  void SetUp() override {
    std::vector<uint8_t> artifact = serialize(adapterProgram());
    ASSERT_EQ(ckpt_rt_program_load(artifact.data(), artifact.size(), &program),
              0)
        << message();
    ASSERT_EQ(ckpt_rt_device_create("host", &device), 0) << message();
  }

  ckpt_rt_plan_options options(const char *backend, int64_t interval) {
    auto made = sized<ckpt_rt_plan_options>();
    EXPECT_EQ(ckpt_rt_plan_options_init(program, &made), 0) << message();
    made.backend = backend;
    made.interval = interval;
    made.size_names = names;
    made.size_values = values;
    made.num_sizes = 1;
    return made;
  }
  PlanHandle plan(const char *backend, int64_t interval = CKPT_RT_UNSET) {
    PlanHandle made;
    ckpt_rt_plan_options given = options(backend, interval);
    EXPECT_EQ(ckpt_rt_plan_create(program, &given, &made), 0) << message();
    return made;
  }
  std::string refusal(const ckpt_rt_plan_options &given) {
    PlanHandle made;
    EXPECT_NE(ckpt_rt_plan_create(program, &given, &made), 0);
    EXPECT_EQ(made.handle, nullptr);
    return message();
  }

  /// A tensor for each of the plan's; small exact numbers in those that are
  /// read, so that sums have one value in any order.
  static Tensors tensorsOf(const ckpt_rt_plan *plan) {
    Tensors tensors;
    for (size_t i = 0; i < ckpt_rt_plan_num_tensors(plan); ++i) {
      auto tensor = sized<ckpt_rt_tensor>();
      EXPECT_EQ(ckpt_rt_plan_tensor(plan, i, &tensor), 0) << message();
      std::vector<float> &data = tensors[tensor.name];
      data.resize(tensor.bytes / 4);
      for (size_t j = 0; j < data.size(); ++j)
        data[j] = float(int((i * 7 + j * 5) % 5) - 2) / 4;
    }
    return tensors;
  }
  static void bind(ckpt_rt_step *step, Tensors &tensors) {
    for (auto &[name, data] : tensors)
      ASSERT_EQ(ckpt_rt_step_bind(step, name.c_str(), data.data(),
                                  int64_t(data.size() * 4)),
                0)
          << message();
  }

  ProgramHandle program;
  DeviceHandle device;
  const char *names[1] = {"rows"};
  int64_t values[1] = {rows};
};

/// y = x w + bias + cond, five times, and its gradients, in double.
void expectRight(Tensors &t) {
  using Matrix = std::vector<double>;
  std::vector<Matrix> x(blocks + 1, Matrix(rows * width));
  auto weight = [&](int block) -> std::vector<float> & {
    return t["blocks." + std::to_string(block) + ".w"];
  };
  x[0].assign(t["x"].begin(), t["x"].end());
  for (int b = 0; b < blocks; ++b)
    for (int r = 0; r < rows; ++r)
      for (int o = 0; o < width; ++o) {
        double sum = t["bias"][o] + t["cond"][o];
        for (int i = 0; i < width; ++i)
          sum += x[b][r * width + i] * weight(b)[i * width + o];
        x[b + 1][r * width + o] = sum;
      }
  auto expectNear = [&](const std::string &name, const Matrix &want) {
    ASSERT_EQ(t[name].size(), want.size()) << name;
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(t[name][i], want[i], 1e-4 * (1 + std::fabs(want[i])))
          << name << " " << i;
  };
  expectNear("out.x", x[blocks]);
  Matrix dy(t["grad.out.x"].begin(), t["grad.out.x"].end()), sums(width);
  for (int b = blocks; b-- > 0;) {
    Matrix dw(width * width), dx(rows * width);
    for (int r = 0; r < rows; ++r)
      for (int o = 0; o < width; ++o) {
        double d = dy[r * width + o];
        sums[o] += d;
        for (int i = 0; i < width; ++i) {
          dw[i * width + o] += x[b][r * width + i] * d;
          dx[r * width + i] += weight(b)[i * width + o] * d;
        }
      }
    expectNear("grad.blocks." + std::to_string(b) + ".w", dw);
    dy = dx;
  }
  expectNear("grad.bias", sums);
  expectNear("grad.cond", sums);
}

TEST_F(CApiTest, HeaderIsC) {
  EXPECT_TRUE(c_sees_the_same_structs(
      sizeof(ckpt_rt_plan_options), sizeof(ckpt_rt_tensor),
      sizeof(ckpt_rt_costs), sizeof(ckpt_rt_command),
      sizeof(ckpt_rt_step_options), sizeof(ckpt_rt_statistics)));
}

TEST_F(CApiTest, ProgramListsItsSizes) {
  ASSERT_EQ(ckpt_rt_program_num_sizes(program), 1u);
  EXPECT_STREQ(ckpt_rt_program_size_name(program, 0), "rows");
  EXPECT_EQ(ckpt_rt_program_size_default(program, 0), CKPT_RT_UNSET);
  EXPECT_EQ(ckpt_rt_program_size_name(program, 1), nullptr);
}

TEST_F(CApiTest, PlanListsItsTensors) {
  PlanHandle made = plan("none");
  // x, cond, 5 w, bias, out, grad.out, and the gradients of the 7 but x.
  EXPECT_EQ(ckpt_rt_plan_num_tensors(made), 1u + 1 + 5 + 1 + 2 + 7);
  int64_t bytes = 0;
  bool found = false;
  for (size_t i = 0; i < ckpt_rt_plan_num_tensors(made); ++i) {
    auto tensor = sized<ckpt_rt_tensor>();
    ASSERT_EQ(ckpt_rt_plan_tensor(made, i, &tensor), 0);
    bytes += tensor.bytes;
    if (std::string(tensor.name) != "grad.out.x")
      continue;
    found = true;
    EXPECT_EQ(tensor.kind, CKPT_RT_OUTPUT_GRADIENT);
    EXPECT_EQ(tensor.dtype, CKPT_RT_F32);
    ASSERT_EQ(tensor.rank, 2u);
    EXPECT_EQ(tensor.shape[0], rows);
    EXPECT_EQ(tensor.shape[1], width);
    EXPECT_EQ(tensor.bytes, rows * width * 4);
  }
  EXPECT_TRUE(found);
  auto costs = sized<ckpt_rt_costs>();
  ASSERT_EQ(ckpt_rt_plan_costs(made, &costs), 0);
  EXPECT_EQ(costs.external_bytes, bytes);
  auto tensor = sized<ckpt_rt_tensor>();
  EXPECT_NE(ckpt_rt_plan_tensor(made, 99, &tensor), 0);
  EXPECT_NE(message().find("99"), std::string::npos);
}

TEST_F(CApiTest, RunsRightAndBitEqualUnderEveryBackend) {
  Tensors reference;
  for (const char *backend : {"none", "torch", "unsloth"})
    for (int64_t interval : {CKPT_RT_UNSET, int64_t(2)}) {
      if (std::string(backend) == "none" && interval == 2)
        continue;
      SCOPED_TRACE(backend);
      PlanHandle planned = plan(backend, interval);
      auto given = sized<ckpt_rt_step_options>();
      given.poison = CKPT_RT_POISON_START;
      StepHandle step;
      ASSERT_EQ(ckpt_rt_step_create(planned, device, &given, &step), 0)
          << message();
      Tensors tensors = tensorsOf(planned);
      bind(step, tensors);
      ASSERT_EQ(ckpt_rt_step_run(step), 0) << message();
      expectRight(tensors);
      if (reference.empty())
        reference = tensors;
      EXPECT_EQ(tensors, reference);

      auto costs = sized<ckpt_rt_costs>();
      auto counts = sized<ckpt_rt_statistics>();
      ASSERT_EQ(ckpt_rt_plan_costs(planned, &costs), 0);
      ASSERT_EQ(ckpt_rt_step_statistics(step, &counts), 0);
      EXPECT_EQ(counts.arena_bytes, costs.peak_bytes);
      EXPECT_EQ(counts.touched_bytes, costs.peak_bytes);
      // Alignment lies between the buffers, of which there are 4 at most.
      EXPECT_GE(counts.pool_pinned_bytes, costs.pinned_bytes);
      EXPECT_LT(counts.pool_pinned_bytes, costs.pinned_bytes + 3 * 256);
      EXPECT_EQ(counts.copied_to_host, costs.copied_to_host);
      EXPECT_EQ(counts.copied_to_device, costs.copied_to_device);
      EXPECT_EQ(counts.replayed_ops, costs.replayed_ops);
      EXPECT_GT(costs.seconds, costs.forward_seconds);
      // The state of 4 blocks, or of the 2 segments after the first.
      bool offloads = std::string(backend) == "unsloth";
      int64_t state = rows * width * 4;
      EXPECT_EQ(costs.host_bytes,
                offloads ? (interval == 2 ? 2 : 4) * state : 0);
    }
}

TEST_F(CApiTest, DeviceMemoryIsLentAndCopied) {
  void *memory = &memory;
  EXPECT_EQ(ckpt_rt_device_allocate(device, 0, &memory), 0);
  EXPECT_EQ(memory, nullptr);
  ASSERT_EQ(ckpt_rt_device_allocate(device, 6, &memory), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  char back[6] = {};
  EXPECT_EQ(ckpt_rt_device_copy_to(device, memory, "bytes", 6), 0);
  EXPECT_EQ(ckpt_rt_device_copy_from(device, back, memory, 6), 0);
  EXPECT_STREQ(back, "bytes");
  EXPECT_NE(ckpt_rt_device_copy_from(device, nullptr, memory, 6), 0);
  EXPECT_NE(ckpt_rt_device_copy_to(device, memory, back, -1), 0);
  EXPECT_NE(message().find("at least 0"), std::string::npos);
  EXPECT_NE(ckpt_rt_device_allocate(nullptr, 6, &memory), 0);
  ckpt_rt_device_free(device, memory, 6);
  ckpt_rt_device_free(nullptr, nullptr, 0);
  int64_t bytes = 0;
  EXPECT_EQ(ckpt_rt_device_bytes_in_use(device, &bytes), 0);
  EXPECT_EQ(bytes, CKPT_RT_UNSET);
  EXPECT_NE(ckpt_rt_device_bytes_in_use(device, nullptr), 0);
}

/// The host has no graphs: the option is heard and nothing else happens.
TEST_F(CApiTest, GraphsAreWhereTheDeviceHasThem) {
  PlanHandle planned = plan("unsloth");
  auto given = sized<ckpt_rt_step_options>();
  given.graph = 1;
  StepHandle step;
  ASSERT_EQ(ckpt_rt_step_create(planned, device, &given, &step), 0);
  Tensors tensors = tensorsOf(planned);
  bind(step, tensors);
  ASSERT_EQ(ckpt_rt_step_run(step), 0) << message();
  expectRight(tensors);
  auto statistics = sized<ckpt_rt_statistics>();
  ASSERT_EQ(ckpt_rt_step_statistics(step, &statistics), 0);
  EXPECT_EQ(statistics.graph_runs, 0);
  EXPECT_EQ(statistics.graph_recordings, 0);
  EXPECT_GT(statistics.issue_seconds, 0);
}

TEST_F(CApiTest, CommandsAreListedMeasuredAndTimedAlone) {
  PlanHandle planned = plan("unsloth");
  auto given = sized<ckpt_rt_step_options>();
  given.measure = 1;
  StepHandle step;
  ASSERT_EQ(ckpt_rt_step_create(planned, device, &given, &step), 0);
  Tensors tensors = tensorsOf(planned);
  double seconds = 0;
  EXPECT_NE(ckpt_rt_step_time_command(step, 0, 1, &seconds), 0);
  EXPECT_NE(message().find("not bound"), std::string::npos);
  bind(step, tensors);
  ASSERT_EQ(ckpt_rt_step_run(step), 0) << message();

  size_t count = ckpt_rt_plan_num_commands(planned), launches = 0;
  int64_t copied = 0;
  double last[3] = {}, end = 0;
  for (size_t i = 0; i < count; ++i) {
    auto command = sized<ckpt_rt_command>();
    ASSERT_EQ(ckpt_rt_plan_command(planned, i, &command), 0);
    EXPECT_EQ(command.kernel != nullptr, command.kind == CKPT_RT_LAUNCH);
    launches += command.kind == CKPT_RT_LAUNCH;
    copied += command.kind == CKPT_RT_COPY_OUT ? command.bytes : 0;
    end = std::max(end, command.end_seconds);
    double began = 0, ended = 0;
    ASSERT_EQ(ckpt_rt_step_command_times(step, i, &began, &ended), 0);
    EXPECT_GE(began, last[command.stream]);
    EXPECT_GE(ended, began);
    last[command.stream] = ended;
    bool isEvent =
        command.kind == CKPT_RT_RECORD || command.kind == CKPT_RT_WAIT;
    EXPECT_EQ(ckpt_rt_step_time_command(step, i, 3, &seconds) != 0, isEvent)
        << message();
    EXPECT_GT(seconds, 0);
  }
  EXPECT_GT(launches, 2u * blocks);
  auto costs = sized<ckpt_rt_costs>();
  ASSERT_EQ(ckpt_rt_plan_costs(planned, &costs), 0);
  EXPECT_EQ(copied, costs.copied_to_host);
  EXPECT_DOUBLE_EQ(end, costs.seconds);
  EXPECT_NE(ckpt_rt_step_time_command(step, 0, 0, &seconds), 0);
  EXPECT_NE(message().find("repeats"), std::string::npos);
  // What was timed alone leaves the step as it was.
  ASSERT_EQ(ckpt_rt_step_run(step), 0) << message();
  expectRight(tensors);

  auto command = sized<ckpt_rt_command>();
  EXPECT_NE(ckpt_rt_plan_command(planned, count, &command), 0);
  EXPECT_NE(ckpt_rt_step_time_command(step, count, 1, &seconds), 0);
  EXPECT_NE(ckpt_rt_step_command_times(step, count, &seconds, &seconds), 0);
  StepHandle other;
  ASSERT_EQ(ckpt_rt_step_create(planned, device, nullptr, &other), 0);
  EXPECT_NE(ckpt_rt_step_command_times(other, 0, &seconds, &seconds), 0);
  EXPECT_NE(message().find("measure"), std::string::npos);
}

TEST_F(CApiTest, ForwardsMayBeOpenAndHandlesGoInAnyOrder) {
  Tensors tensors;
  StepHandle step, other;
  {
    PlanHandle planned = plan("unsloth");
    ASSERT_EQ(ckpt_rt_step_create(planned, device, nullptr, &step), 0);
    auto given = sized<ckpt_rt_step_options>();
    given.share_host_memory_with = step;
    ASSERT_EQ(ckpt_rt_step_create(planned, device, &given, &other), 0);
    tensors = tensorsOf(planned);
    ckpt_rt_program_destroy(std::exchange(program.handle, nullptr));
  }
  bind(step, tensors);
  ForwardHandle first, second;
  ASSERT_EQ(ckpt_rt_step_forward(step, &first), 0) << message();
  ASSERT_EQ(ckpt_rt_step_forward(step, &second), 0) << message();
  auto counts = sized<ckpt_rt_statistics>();
  ASSERT_EQ(ckpt_rt_step_statistics(step, &counts), 0);
  EXPECT_EQ(counts.open_forwards, 2);
  // Four slots each; the other step's four were there.
  EXPECT_EQ(counts.pool_misses, 8);
  EXPECT_EQ(counts.pool_buckets, 1);
  EXPECT_NE(ckpt_rt_step_backward(other, first), 0);
  EXPECT_EQ(ckpt_rt_step_backward(step, first), 0) << message();
  expectRight(tensors);
  EXPECT_NE(ckpt_rt_step_backward(step, first), 0);
  EXPECT_NE(message().find("already consumed"), std::string::npos);
  // The second is never run backwards, and outlives its step.
  ckpt_rt_step_destroy(std::exchange(step.handle, nullptr));
}

TEST_F(CApiTest, RefusesWithAMessage) {
  ckpt_rt_plan_options given = options("pytorch", CKPT_RT_UNSET);
  EXPECT_NE(refusal(given).find("pytorch"), std::string::npos);
  given = options("torch", 0);
  EXPECT_NE(refusal(given).find("interval"), std::string::npos);
  given = options("torch-ffn", CKPT_RT_UNSET);
  EXPECT_NE(refusal(given).find("torch-ffn"), std::string::npos);
  given = options("torch", CKPT_RT_UNSET);
  given.attention_once = 1;
  EXPECT_NE(refusal(given).find("attention"), std::string::npos);
  given = options("torch", CKPT_RT_UNSET);
  given.pin_memory_max_buckets = 3;
  EXPECT_NE(refusal(given).find("pin-memory-max-buckets"), std::string::npos);
  given = options("torch", CKPT_RT_UNSET);
  given.blocks = 0;
  EXPECT_NE(refusal(given).find("blocks"), std::string::npos);
  given = options("torch", CKPT_RT_UNSET);
  given.num_sizes = 0;
  EXPECT_NE(refusal(given).find("rows"), std::string::npos);
  for (int64_t bad : {int64_t(0), int64_t(-3), INT64_MAX / 2}) {
    values[0] = bad;
    refusal(options("torch", CKPT_RT_UNSET));
  }
  values[0] = rows;
  given = options("torch", CKPT_RT_UNSET);
  given.profile = "tpu";
  EXPECT_NE(refusal(given).find("tpu"), std::string::npos);
  const char *twice[] = {"rows", "rows"};
  int64_t two[] = {1, 2};
  given = options("torch", CKPT_RT_UNSET);
  given.size_names = twice;
  given.size_values = two;
  given.num_sizes = 2;
  EXPECT_NE(refusal(given).find("two"), std::string::npos);

  DeviceHandle gpu;
  EXPECT_NE(ckpt_rt_device_create("gpu", &gpu), 0);
  auto step = sized<ckpt_rt_step_options>();
  step.poison = 7;
  PlanHandle planned = plan("none");
  StepHandle made;
  EXPECT_NE(ckpt_rt_step_create(planned, device, &step, &made), 0);
  EXPECT_NE(message().find("poison"), std::string::npos);
}

TEST_F(CApiTest, StructSizesAreChecked) {
  auto costs = sized<ckpt_rt_costs>();
  PlanHandle planned = plan("none");
  costs.size = 0;
  EXPECT_NE(ckpt_rt_plan_costs(planned, &costs), 0);
  EXPECT_NE(message().find("ckpt_rt_costs"), std::string::npos);
  costs.size = sizeof(costs) + 8;
  EXPECT_NE(ckpt_rt_plan_costs(planned, &costs), 0);
  // A caller that knows the first two members gets them and nothing else.
  costs.size = offsetof(ckpt_rt_costs, external_bytes);
  costs.external_bytes = -5;
  ASSERT_EQ(ckpt_rt_plan_costs(planned, &costs), 0);
  EXPECT_GT(costs.peak_bytes, 0);
  EXPECT_EQ(costs.external_bytes, -5);
  // Options: what an old caller does not know keeps its default.
  ckpt_rt_plan_options given = options("torch", CKPT_RT_UNSET);
  given.blocks = 0;
  given.size = offsetof(ckpt_rt_plan_options, blocks);
  EXPECT_NE(refusal(given).find("rows"), std::string::npos);
}

TEST_F(CApiTest, NullIsAnErrorAndDestroyTakesIt) {
  PlanHandle made;
  StepHandle step;
  ForwardHandle forward;
  EXPECT_NE(ckpt_rt_program_load(nullptr, 3, &program), 0);
  EXPECT_NE(ckpt_rt_program_load_file(nullptr, &program), 0);
  EXPECT_NE(ckpt_rt_plan_options_init(nullptr, nullptr), 0);
  EXPECT_NE(ckpt_rt_plan_create(program, nullptr, &made), 0);
  EXPECT_NE(ckpt_rt_plan_tensor(nullptr, 0, nullptr), 0);
  EXPECT_NE(ckpt_rt_plan_costs(nullptr, nullptr), 0);
  EXPECT_NE(ckpt_rt_plan_command(nullptr, 0, nullptr), 0);
  EXPECT_NE(ckpt_rt_device_create(nullptr, nullptr), 0);
  EXPECT_NE(ckpt_rt_step_create(nullptr, device, nullptr, &step), 0);
  EXPECT_NE(ckpt_rt_step_bind(nullptr, "x", nullptr, 0), 0);
  EXPECT_NE(ckpt_rt_step_forward(nullptr, &forward), 0);
  EXPECT_NE(ckpt_rt_step_backward(nullptr, nullptr), 0);
  EXPECT_NE(ckpt_rt_step_run(nullptr), 0);
  EXPECT_NE(ckpt_rt_step_statistics(nullptr, nullptr), 0);
  EXPECT_NE(ckpt_rt_step_command_times(nullptr, 0, nullptr, nullptr), 0);
  EXPECT_NE(ckpt_rt_step_time_command(nullptr, 0, 1, nullptr), 0);
  EXPECT_EQ(ckpt_rt_plan_num_commands(nullptr), 0u);
  EXPECT_EQ(ckpt_rt_program_num_sizes(nullptr), 0u);
  EXPECT_EQ(ckpt_rt_plan_num_tensors(nullptr), 0u);
  EXPECT_NE(message().find("null"), std::string::npos);
}

TEST_F(CApiTest, FilesAreChecked) {
  std::string path = ::testing::TempDir() + "/capi-test.ckpt";
  ASSERT_TRUE(writeArtifact(path, adapterProgram()).ok());
  ProgramHandle good, bad;
  EXPECT_EQ(ckpt_rt_program_load_file(path.c_str(), &good), 0) << message();
  std::vector<uint8_t> bytes = serialize(adapterProgram());
  EXPECT_NE(ckpt_rt_program_load(bytes.data(), bytes.size() / 2, &bad), 0);
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_NE(ckpt_rt_program_load(bytes.data(), bytes.size(), &bad), 0);
  EXPECT_EQ(bad.handle, nullptr);
  std::remove(path.c_str());
  EXPECT_NE(ckpt_rt_program_load_file(path.c_str(), &bad), 0);
  EXPECT_NE(message().find("capi-test.ckpt"), std::string::npos);
}

} // namespace
