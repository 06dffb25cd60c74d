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

#include "CApi/Handles.h"

#include "Program/Artifact.h"

#include <tuple>

using namespace ckpt::rt;
using namespace ckpt::rt::capi;

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static std::string &lastMessage() {
  static thread_local std::string message;
  return message;
}

int capi::fail(std::string message) {
  lastMessage() = std::move(message);
  return 1;
}

int capi::failNull(const char *what) {
  return fail(std::string(what) + ": expected a pointer, got null");
}

int capi::failIndex(const char *what, size_t count, size_t index) {
  return fail(std::string(what) + " index: expected less than " +
              std::to_string(count) + ", got " + std::to_string(index));
}

int capi::failSize(const char *type, size_t found, size_t known) {
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
