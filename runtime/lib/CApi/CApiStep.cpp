//===- CApiStep.cpp - devices and steps for C -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CApi/Handles.h"

#include "Device/Devices.h"

#include <tuple>

using namespace ckpt::rt;
using namespace ckpt::rt::capi;

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
