//===- CApi.cpp - run compiled training steps -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Wraps the runtime for C: checks pointers and struct sizes, translates, and
/// decides nothing.
///
//===----------------------------------------------------------------------===//

#include "ckpt_rt/ckpt_rt.h"

#include "Device/Devices.h"
#include "Executor/Step.h"
#include "Program/Artifact.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace ckpt::rt;

struct ckpt_rt_program {
  std::shared_ptr<const Program> program;
};

struct ckpt_rt_plan {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Schedule> schedule;
  Simulation simulation;
  /// One per external.
  std::vector<std::vector<int64_t>> shapes;
};

struct ckpt_rt_device {
  std::shared_ptr<Device> device;
};

struct ckpt_rt_step {
  Step step;
  std::shared_ptr<Device> device;
};

struct ckpt_rt_forward {
  OpenForward forward;
};

//===----------------------------------------------------------------------===//
// Failures and structs
//===----------------------------------------------------------------------===//

static std::string &lastMessage() {
  static thread_local std::string message;
  return message;
}

static int fail(std::string message) {
  lastMessage() = std::move(message);
  return 1;
}

static int failNull(const char *what) {
  return fail(std::string(what) + ": expected a pointer, got null");
}

/// The caller's struct in the library's layout; what an older caller does not
/// have stays as it is in `to`. False when the caller's is newer or has no
/// size.
template <typename T>
static bool readStruct(const T *from, T &to) {
  size_t size = from->size;
  if (size < sizeof(size_t) || size > sizeof(T))
    return false;
  std::memcpy(&to, from, size);
  to.size = sizeof(T);
  return true;
}

/// As much of `from` as the caller has room for.
template <typename T>
static bool writeStruct(const T &from, T *to) {
  size_t size = to->size;
  if (size < sizeof(size_t) || size > sizeof(T))
    return false;
  std::memcpy(to, &from, size);
  to->size = size;
  return true;
}

static int failSize(const char *type, size_t found, size_t known) {
  return fail(std::string(type) + ".size: expected 8 to " +
              std::to_string(known) + ", got " + std::to_string(found) +
              "; set it to sizeof(" + type +
              "), and use a header that is not newer than the library");
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

int ckpt_rt_api_version(void) { return CKPT_RT_API_VERSION; }

const char *ckpt_rt_message(void) { return lastMessage().c_str(); }

static int take(Result<Program> read, ckpt_rt_program **program) {
  if (!read.ok())
    return fail(read.message());
  *program =
      new ckpt_rt_program{std::make_shared<const Program>(std::move(*read))};
  return 0;
}

int ckpt_rt_program_load(const void *artifact, size_t bytes,
                         ckpt_rt_program **program) {
  if (!artifact || !program)
    return failNull(artifact ? "program" : "artifact");
  return take(deserialize(static_cast<const uint8_t *>(artifact), bytes),
              program);
}

int ckpt_rt_program_load_file(const char *path, ckpt_rt_program **program) {
  if (!path || !program)
    return failNull(path ? "program" : "path");
  return take(readArtifact(path), program);
}

void ckpt_rt_program_destroy(ckpt_rt_program *program) { delete program; }

const char *ckpt_rt_program_target(const ckpt_rt_program *program) {
  return program ? program->program->target.c_str() : nullptr;
}

size_t ckpt_rt_program_num_sizes(const ckpt_rt_program *program) {
  return program ? program->program->sizes.size() : 0;
}

const char *ckpt_rt_program_size_name(const ckpt_rt_program *program,
                                      size_t index) {
  if (index >= ckpt_rt_program_num_sizes(program))
    return nullptr;
  return program->program->sizes[index].name.c_str();
}

int64_t ckpt_rt_program_size_default(const ckpt_rt_program *program,
                                     size_t index) {
  if (index >= ckpt_rt_program_num_sizes(program))
    return CKPT_RT_UNSET;
  return program->program->sizes[index].defaultValue.value_or(CKPT_RT_UNSET);
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

int ckpt_rt_plan_options_init(const ckpt_rt_program *program,
                              ckpt_rt_plan_options *options) {
  if (!program || !options)
    return failNull(program ? "options" : "program");
  const Controls &controls = program->program->defaults;
  ckpt_rt_plan_options made = {};
  made.backend = nameOf(controls.backend);
  made.interval = controls.interval.value_or(CKPT_RT_UNSET);
  made.segment_stride = controls.segmentStride.value_or(CKPT_RT_UNSET);
  made.attention_once = controls.attentionOnce;
  made.offload_attention = controls.offloadAttention;
  made.pin_memory_max_buckets =
      controls.pinMemoryMaxBuckets.value_or(CKPT_RT_UNSET);
  made.blocks = CKPT_RT_UNSET;
  made.profile = defaultProfile(program->program->target);
  if (!writeStruct(made, options))
    return failSize("ckpt_rt_plan_options", options->size, sizeof(made));
  return 0;
}

static std::optional<int64_t> optional(int64_t value) {
  if (value == CKPT_RT_UNSET)
    return std::nullopt;
  return value;
}

static Result<Schedule> planOf(const Program &program, const Profile &profile,
                               const ckpt_rt_plan_options &options) {
  Result<Backend> backend = parseBackend(options.backend);
  if (!backend.ok())
    return backend.takeError();
  Controls controls;
  controls.backend = *backend;
  controls.interval = optional(options.interval);
  controls.segmentStride = optional(options.segment_stride);
  controls.attentionOnce = options.attention_once;
  controls.offloadAttention = options.offload_attention;
  controls.pinMemoryMaxBuckets = optional(options.pin_memory_max_buckets);
  SizeValues given;
  for (size_t i = 0; i < options.num_sizes; ++i) {
    if (!options.size_names[i])
      return Error{"size_names[" + std::to_string(i) +
                   "]: expected a pointer, got null"};
    if (!given.emplace(options.size_names[i], options.size_values[i]).second)
      return Error{std::string("size '") + options.size_names[i] +
                   "': expected one value, got two"};
  }
  Result<SizeValues> sizes = bindSizes(program, given);
  if (!sizes.ok())
    return sizes.takeError();
  Result<PlannedStep> plan =
      applyPolicy(program, controls, optional(options.blocks));
  if (!plan.ok())
    return plan.takeError();
  return instantiate(program, *plan, *sizes, controls, profile);
}

int ckpt_rt_plan_create(const ckpt_rt_program *program,
                        const ckpt_rt_plan_options *given,
                        ckpt_rt_plan **plan) {
  if (!program || !given || !plan)
    return failNull(!program ? "program" : !given ? "options" : "plan");
  ckpt_rt_plan_options options = {};
  options.size = sizeof(options);
  if (int failed = ckpt_rt_plan_options_init(program, &options))
    return failed;
  if (!readStruct(given, options))
    return failSize("ckpt_rt_plan_options", given->size, sizeof(options));
  if (!options.backend || !options.profile)
    return failNull(options.backend ? "profile" : "backend");
  if (options.num_sizes && (!options.size_names || !options.size_values))
    return failNull(options.size_names ? "size_values" : "size_names");
  Result<Profile> profile = profileNamed(options.profile);
  if (!profile.ok())
    return fail(profile.message());
  Result<Schedule> schedule = planOf(*program->program, *profile, options);
  if (!schedule.ok())
    return fail(schedule.message());

  auto made = std::make_unique<ckpt_rt_plan>();
  made->program = program->program;
  made->simulation = simulate(*program->program, *schedule, *profile);
  for (const External &external : schedule->externals) {
    std::vector<int64_t> shape;
    for (const Size &dim : external.type.dims) {
      std::optional<int64_t> extent = dim.evaluate(schedule->sizeValues);
      if (!extent)
        return fail("tensor '" + external.name + "': " + dim.str() +
                    " has no value under the sizes of the plan");
      shape.push_back(*extent);
    }
    made->shapes.push_back(std::move(shape));
  }
  made->schedule = std::make_shared<const Schedule>(std::move(*schedule));
  *plan = made.release();
  return 0;
}

void ckpt_rt_plan_destroy(ckpt_rt_plan *plan) { delete plan; }

size_t ckpt_rt_plan_num_tensors(const ckpt_rt_plan *plan) {
  return plan ? plan->shapes.size() : 0;
}

static ckpt_rt_tensor_kind kindOf(ExternalKind kind) {
  switch (kind) {
  case ExternalKind::State:
    return CKPT_RT_STATE;
  case ExternalKind::Input:
    return CKPT_RT_INPUT;
  case ExternalKind::Param:
    return CKPT_RT_PARAM;
  case ExternalKind::Output:
    return CKPT_RT_OUTPUT;
  case ExternalKind::OutputGradient:
    return CKPT_RT_OUTPUT_GRADIENT;
  case ExternalKind::Gradient:
    return CKPT_RT_GRADIENT;
  }
  return CKPT_RT_STATE;
}

static ckpt_rt_dtype dtypeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return CKPT_RT_F32;
  case DType::BF16:
    return CKPT_RT_BF16;
  case DType::F16:
    return CKPT_RT_F16;
  }
  return CKPT_RT_F32;
}

static int failIndex(const char *what, size_t count, size_t index) {
  return fail(std::string(what) + " index: expected less than " +
              std::to_string(count) + ", got " + std::to_string(index));
}

int ckpt_rt_plan_tensor(const ckpt_rt_plan *plan, size_t index,
                        ckpt_rt_tensor *tensor) {
  if (!plan || !tensor)
    return failNull(plan ? "tensor" : "plan");
  if (index >= plan->shapes.size())
    return failIndex("tensor", plan->shapes.size(), index);
  const External &external = plan->schedule->externals[index];
  ckpt_rt_tensor made = {};
  made.name = external.name.c_str();
  made.kind = kindOf(external.kind);
  made.dtype = dtypeOf(external.type.dtype);
  made.shape = plan->shapes[index].data();
  made.rank = plan->shapes[index].size();
  made.bytes = bytesOf(external.type.dtype);
  for (int64_t extent : plan->shapes[index])
    made.bytes *= extent;
  if (!writeStruct(made, tensor))
    return failSize("ckpt_rt_tensor", tensor->size, sizeof(made));
  return 0;
}

int ckpt_rt_plan_costs(const ckpt_rt_plan *plan, ckpt_rt_costs *costs) {
  if (!plan || !costs)
    return failNull(plan ? "costs" : "plan");
  const Simulation &simulation = plan->simulation;
  ckpt_rt_costs made = {};
  made.peak_bytes = simulation.peakBytes;
  made.external_bytes = simulation.externalBytes;
  for (const HostSlot &slot : plan->schedule->slots) {
    made.host_bytes += slot.bytes;
    made.pinned_bytes += slot.pinned ? slot.bytes : 0;
  }
  made.copied_to_host = simulation.copiedToHost;
  made.copied_to_device = simulation.copiedToDevice;
  made.replayed_ops = simulation.replayedOps;
  made.seconds = simulation.seconds;
  made.forward_seconds = simulation.forwardSeconds;
  made.exposed_seconds = simulation.exposedSeconds;
  if (!writeStruct(made, costs))
    return failSize("ckpt_rt_costs", costs->size, sizeof(made));
  return 0;
}

size_t ckpt_rt_plan_num_commands(const ckpt_rt_plan *plan) {
  return plan ? plan->schedule->commands.size() : 0;
}

static ckpt_rt_command_kind kindOf(Command::Kind kind) {
  switch (kind) {
  case Command::Kind::Launch:
    return CKPT_RT_LAUNCH;
  case Command::Kind::Fill:
    return CKPT_RT_FILL;
  case Command::Kind::CopyOut:
    return CKPT_RT_COPY_OUT;
  case Command::Kind::CopyIn:
    return CKPT_RT_COPY_IN;
  case Command::Kind::Record:
    return CKPT_RT_RECORD;
  case Command::Kind::Wait:
    return CKPT_RT_WAIT;
  }
  return CKPT_RT_LAUNCH;
}

static ckpt_rt_kernel_class classOf(KernelClass cls) {
  switch (cls) {
  case KernelClass::Gemm:
    return CKPT_RT_GEMM;
  case KernelClass::AttentionForward:
    return CKPT_RT_ATTENTION_FORWARD;
  case KernelClass::AttentionBackward:
    return CKPT_RT_ATTENTION_BACKWARD;
  case KernelClass::RowWise:
    return CKPT_RT_ROW_WISE;
  }
  return CKPT_RT_ROW_WISE;
}

int ckpt_rt_plan_command(const ckpt_rt_plan *plan, size_t index,
                         ckpt_rt_command *command) {
  if (!plan || !command)
    return failNull(plan ? "command" : "plan");
  const Schedule &schedule = *plan->schedule;
  if (index >= schedule.commands.size())
    return failIndex("command", schedule.commands.size(), index);
  const Command &from = schedule.commands[index];
  ckpt_rt_command made = {};
  made.kind = kindOf(from.kind);
  made.stream = int(from.stream);
  made.backward = int(index) >= schedule.forwardEnd;
  made.block = from.block;
  made.label = from.label.c_str();
  if (from.kind == Command::Kind::Launch) {
    const Kernel &kernel = plan->program->kernels[from.kernel];
    made.kernel = kernel.symbol.c_str();
    made.kernel_class = classOf(kernel.cls);
    made.flops = kernel.flops.evaluate(schedule.sizeValues).value_or(0);
    made.bytes = kernel.trafficBytes.evaluate(schedule.sizeValues).value_or(0);
  } else if (!from.buffers.empty()) {
    made.bytes = schedule.buffers[from.buffers[0]].bytes;
  }
  std::tie(made.begin_seconds, made.end_seconds) =
      plan->simulation.times[index];
  if (!writeStruct(made, command))
    return failSize("ckpt_rt_command", command->size, sizeof(made));
  return 0;
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

int ckpt_rt_device_create(const char *name, ckpt_rt_device **device) {
  if (!name || !device)
    return failNull(name ? "device" : "name");
  Result<std::shared_ptr<Device>> made = createDevice(name);
  if (!made.ok())
    return fail(made.message());
  *device = new ckpt_rt_device{*made};
  return 0;
}

void ckpt_rt_device_destroy(ckpt_rt_device *device) { delete device; }

int ckpt_rt_device_allocate(ckpt_rt_device *device, int64_t bytes,
                            void **memory) {
  if (!device || !memory)
    return failNull(device ? "memory" : "device");
  if (bytes < 0)
    return fail("bytes: expected at least 0, got " + std::to_string(bytes));
  Result<void *> made = device->device->allocate(bytes);
  if (!made.ok())
    return fail(made.message());
  *memory = *made;
  return 0;
}

void ckpt_rt_device_free(ckpt_rt_device *device, void *memory, int64_t bytes) {
  if (device)
    device->device->free(memory, bytes);
}

/// Enqueues by `copy` on a stream of its own and waits.
template <typename Copy>
static int copyNow(ckpt_rt_device *device, const void *to, const void *from,
                   int64_t bytes, Copy copy) {
  if (!device || (bytes && (!to || !from)))
    return failNull(!device ? "device" : !to ? "to" : "from");
  if (bytes < 0)
    return fail("bytes: expected at least 0, got " + std::to_string(bytes));
  Result<std::unique_ptr<Stream>> stream = device->device->createStream({});
  if (!stream.ok())
    return fail(stream.message());
  Status status = copy(**stream);
  if (status.ok())
    status = (*stream)->synchronise();
  return status.ok() ? 0 : fail(status.message());
}

int ckpt_rt_device_copy_to(ckpt_rt_device *device, void *device_to,
                           const void *host_from, int64_t bytes) {
  return copyNow(device, device_to, host_from, bytes, [&](Stream &stream) {
    return stream.copyToDevice(device_to, host_from, bytes);
  });
}

int ckpt_rt_device_copy_from(ckpt_rt_device *device, void *host_to,
                             const void *device_from, int64_t bytes) {
  return copyNow(device, host_to, device_from, bytes, [&](Stream &stream) {
    return stream.copyToHost(host_to, device_from, bytes);
  });
}

int ckpt_rt_device_bytes_in_use(ckpt_rt_device *device, int64_t *bytes) {
  if (!device || !bytes)
    return failNull(device ? "bytes" : "device");
  *bytes = device->device->bytesInUse().value_or(CKPT_RT_UNSET);
  return 0;
}

//===----------------------------------------------------------------------===//
// Step
//===----------------------------------------------------------------------===//

static std::optional<Poison> poisonOf(int poison) {
  switch (poison) {
  case CKPT_RT_POISON_NONE:
    return Poison::None;
  case CKPT_RT_POISON_START:
    return Poison::Start;
  case CKPT_RT_POISON_FREED:
    return Poison::Freed;
  }
  return std::nullopt;
}

int ckpt_rt_step_create(const ckpt_rt_plan *plan, ckpt_rt_device *device,
                        const ckpt_rt_step_options *given,
                        ckpt_rt_step **step) {
  if (!plan || !device || !step)
    return failNull(!plan ? "plan" : !device ? "device" : "step");
  ckpt_rt_step_options options = {};
  if (given && !readStruct(given, options))
    return failSize("ckpt_rt_step_options", given->size, sizeof(options));
  StepOptions stepOptions;
  std::optional<Poison> poison = poisonOf(options.poison);
  if (!poison)
    return fail("poison: expected 0 to 2, got " +
                std::to_string(options.poison));
  stepOptions.poison = *poison;
  stepOptions.measure = options.measure;
  stepOptions.graph = options.graph;
  if (const ckpt_rt_step *other = options.share_host_memory_with) {
    if (other->device != device->device)
      return fail("share_host_memory_with: expected a step on the same device");
    stepOptions.pool = other->step.hostMemory();
  }
  Result<Step> made =
      Step::create(plan->program, plan->schedule, device->device, stepOptions);
  if (!made.ok())
    return fail(made.message());
  *step = new ckpt_rt_step{std::move(*made), device->device};
  return 0;
}

void ckpt_rt_step_destroy(ckpt_rt_step *step) { delete step; }

static int done(const Status &status) {
  return status.ok() ? 0 : fail(status.message());
}

int ckpt_rt_step_bind(ckpt_rt_step *step, const char *name, void *pointer,
                      int64_t bytes) {
  if (!step || !name)
    return failNull(step ? "name" : "step");
  return done(step->step.bind(name, pointer, bytes));
}

int ckpt_rt_step_forward(ckpt_rt_step *step, ckpt_rt_forward **forward) {
  if (!step || !forward)
    return failNull(step ? "forward" : "step");
  Result<OpenForward> made = step->step.forward();
  if (!made.ok())
    return fail(made.message());
  *forward = new ckpt_rt_forward{std::move(*made)};
  return 0;
}

int ckpt_rt_step_backward(ckpt_rt_step *step, ckpt_rt_forward *forward) {
  if (!step || !forward)
    return failNull(step ? "forward" : "step");
  return done(step->step.backward(forward->forward));
}

void ckpt_rt_forward_destroy(ckpt_rt_forward *forward) { delete forward; }

int ckpt_rt_step_run(ckpt_rt_step *step) {
  if (!step)
    return failNull("step");
  return done(step->step.run());
}

int ckpt_rt_step_statistics(const ckpt_rt_step *step,
                            ckpt_rt_statistics *statistics) {
  if (!step || !statistics)
    return failNull(step ? "statistics" : "step");
  StepStatistics counts = step->step.statistics();
  ckpt_rt_statistics made = {};
  made.arena_bytes = counts.arenaBytes;
  made.arenas = counts.arenas;
  made.touched_bytes = counts.touched;
  made.open_forwards = counts.openForwards;
  made.forwards = counts.forwards;
  made.backwards = counts.backwards;
  made.launches = counts.launches;
  made.replayed_ops = counts.replayedOps;
  made.copied_to_host = counts.copiedToHost;
  made.copied_to_device = counts.copiedToDevice;
  made.forward_seconds = counts.forwardSeconds;
  made.backward_seconds = counts.backwardSeconds;
  made.graph_runs = counts.graphRuns;
  made.graph_recordings = counts.graphRecordings;
  made.issue_seconds = counts.issueSeconds;
  made.pool_pinned_bytes = counts.pool.pinnedBytes;
  made.pool_buckets = counts.pool.buckets;
  made.pool_hits = counts.pool.hits;
  made.pool_misses = counts.pool.misses;
  made.pool_pageable = counts.pool.pageable;
  made.pool_fallbacks = counts.pool.fallbacks;
  if (!writeStruct(made, statistics))
    return failSize("ckpt_rt_statistics", statistics->size, sizeof(made));
  return 0;
}

int ckpt_rt_step_command_times(const ckpt_rt_step *step, size_t index,
                               double *begin_seconds, double *end_seconds) {
  if (!step || !begin_seconds || !end_seconds)
    return failNull(!step            ? "step"
                    : !begin_seconds ? "begin_seconds"
                                     : "end_seconds");
  const std::vector<std::pair<double, double>> &times = step->step.times();
  if (times.empty())
    return fail("command times: expected a step made with `measure`");
  if (index >= times.size())
    return failIndex("command", times.size(), index);
  std::tie(*begin_seconds, *end_seconds) = times[index];
  return 0;
}

int ckpt_rt_step_time_command(ckpt_rt_step *step, size_t index, int64_t repeats,
                              double *seconds) {
  if (!step || !seconds)
    return failNull(step ? "seconds" : "step");
  size_t count = step->step.schedule().commands.size();
  if (index >= count)
    return failIndex("command", count, index);
  Result<double> timed = step->step.timeCommand(int(index), repeats);
  if (!timed.ok())
    return fail(timed.message());
  *seconds = *timed;
  return 0;
}
