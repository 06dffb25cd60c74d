//===- Step.cpp - a schedule made to run ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Executor/Step.h"
#include "Executor/StepImpl.h"

#include <algorithm>

using namespace ckpt::rt;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static Status createEvents(Device &device,
                           std::vector<std::unique_ptr<Event>> &events,
                           size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Result<std::unique_ptr<Event>> event = device.createEvent();
    if (!event.ok())
      return Error{event.message()};
    events.push_back(std::move(*event));
  }
  return {};
}

Status StepImpl::prepareKernels(StreamLimits &limits) {
  Result<std::unique_ptr<Module>> loaded = device->loadModule(program);
  if (!loaded.ok())
    return Error{loaded.message()};
  module = std::move(*loaded);
  kernels.resize(program->kernels.size());
  limits.arguments = 1;
  limits.sizes = std::max<int>(1, int(schedule->sizes.size()));
  for (const Command &command : schedule->commands) {
    if (command.kind != Command::Kind::Launch)
      continue;
    limits.arguments = std::max(limits.arguments, int(command.buffers.size()));
    if (kernels[command.kernel])
      continue;
    // Called after what its first launch is given.
    std::vector<std::string> names;
    for (int buffer : command.buffers)
      names.push_back(buffer < 0 ? "" : schedule->buffers[buffer].name);
    Result<KernelHandle> found = module->find(program->kernels[command.kernel],
                                              schedule->sizeValues, names);
    if (!found.ok())
      return Error{found.message()};
    kernels[command.kernel] = *found;
  }
  launchArguments.resize(limits.arguments);
  return {};
}

Status StepImpl::prepareStreams(const StreamLimits &limits) {
  for (std::unique_ptr<Stream> &stream : streams) {
    Result<std::unique_ptr<Stream>> made = device->createStream(limits);
    if (!made.ok())
      return Error{made.message()};
    stream = std::move(*made);
    recorded.push_back(stream.get());
  }
  if (Status status = createEvents(*device, events, schedule->numEvents);
      !status.ok())
    return status;
  for (std::unique_ptr<Event> *event :
       {&begun, &ended, &border, &forked, &joinedOut, &joinedIn, &poisoned}) {
    Result<std::unique_ptr<Event>> made = device->createEvent();
    if (!made.ok())
      return Error{made.message()};
    *event = std::move(*made);
  }
  if (options.measure) {
    size_t count = schedule->commands.size();
    times.resize(count);
    for (auto *list : {&starts, &ends})
      if (Status status = createEvents(*device, *list, count); !status.ok())
        return status;
  }
  mayReplay =
      options.graph && !options.measure && options.poison != Poison::Freed;
  if (!mayReplay)
    return {};
  Result<std::unique_ptr<Recording>> recording = device->createRecording();
  if (!recording.ok())
    return Error{recording.message()};
  mayReplay = *recording != nullptr;
  replayAddresses.reserve(schedule->externals.size() + schedule->slots.size());
  return {};
}

void StepImpl::countWork() {
  for (size_t i = 0; i < schedule->commands.size(); ++i) {
    const Command &command = schedule->commands[i];
    Work &work = int(i) < schedule->forwardEnd ? forwardWork : backwardWork;
    switch (command.kind) {
    case Command::Kind::Launch:
      ++work.launches;
      work.replayedOps += command.phase == TableEntry::Phase::Replay;
      break;
    case Command::Kind::CopyOut:
      work.copiedToHost += schedule->buffers[command.buffers[0]].bytes;
      break;
    case Command::Kind::CopyIn:
      work.copiedToDevice += schedule->buffers[command.buffers[1]].bytes;
      break;
    case Command::Kind::Fill:
    case Command::Kind::Record:
    case Command::Kind::Wait:
      break;
    }
  }
}

Status StepImpl::prepare() {
  if (Status status = verify(*schedule); !status.ok())
    return status;

  for (size_t i = 0; i < schedule->externals.size(); ++i) {
    const External &external = schedule->externals[i];
    std::optional<int64_t> bytes =
        external.type.bytes().evaluate(schedule->sizeValues);
    if (!bytes)
      return Error{"tensor '" + external.name + "': " + external.type.str() +
                   " has no size in bytes under the sizes of the schedule"};
    externalIndex[external.name] = int(i);
    externalBytes.push_back(*bytes);
  }
  bound.resize(schedule->externals.size());
  order.reserve(schedule->externals.size());

  StreamLimits limits;
  if (Status status = prepareKernels(limits); !status.ok())
    return status;
  if (Status status = prepareStreams(limits); !status.ok())
    return status;
  countWork();
  planPoison();

  if (!pool)
    pool = std::make_shared<PinnedPool>(*device);
  // The first forward finds its memory here.
  Result<Lease *> lease = open();
  if (!lease.ok())
    return Error{lease.message()};
  pool->release((*lease)->slots, (*lease)->lastCopy);
  freeLeases.push_back(*lease);
  --counts.openForwards;
  return {};
}

Result<Step> Step::create(std::shared_ptr<const Program> program,
                          std::shared_ptr<const Schedule> schedule,
                          std::shared_ptr<Device> device,
                          const StepOptions &options) {
  auto impl = std::make_shared<StepImpl>();
  impl->program = std::move(program);
  impl->schedule = std::move(schedule);
  impl->device = std::move(device);
  impl->pool = options.pool;
  impl->options = options;
  if (Status status = impl->prepare(); !status.ok())
    return Error{status.message()};
  return Step(std::move(impl));
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

Status Step::bind(const std::string &name, void *pointer, int64_t bytes) {
  auto found = impl->externalIndex.find(name);
  if (found == impl->externalIndex.end())
    return Error{"tensor '" + name + "': the step has no tensor of that name"};
  int index = found->second;
  const External &external = impl->schedule->externals[index];
  if (!pointer)
    return Error{"tensor '" + name + "': expected a pointer, got null"};
  if (bytes != impl->externalBytes[index])
    return Error{"tensor '" + name + "': expected " +
                 std::to_string(impl->externalBytes[index]) + " bytes (" +
                 external.type.str() + "), got " + std::to_string(bytes)};
  int64_t alignment =
      std::max(bytesOf(external.type.dtype), impl->device->tensorAlignment());
  if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0)
    return Error{"tensor '" + name + "': expected a pointer aligned to " +
                 std::to_string(alignment) + " bytes"};
  impl->bindingsChanged |= impl->bound[index] != pointer;
  impl->bound[index] = pointer;
  return {};
}

static bool isWritten(ExternalKind kind) {
  return kind == ExternalKind::Output || kind == ExternalKind::Gradient;
}

Status StepImpl::takeBindings(Lease &lease, bool backward) const {
  for (size_t i = 0; i < bound.size(); ++i) {
    const External &external = schedule->externals[i];
    if (isForwards(external.kind) == backward)
      continue;
    if (!bound[i])
      return Error{"tensor '" + external.name + "' (" + external.type.str() +
                   "): not bound; bind it before the " +
                   (backward ? "backward" : "forward")};
    lease.externals[i] = bound[i];
  }
  resolve(lease);
  return {};
}

Status StepImpl::checkOverlaps() {
  if (!bindingsChanged)
    return {};
  order.clear();
  for (size_t i = 0; i < bound.size(); ++i)
    if (bound[i] && externalBytes[i])
      order.push_back(int(i));
  auto begin = [&](int i) { return static_cast<const char *>(bound[i]); };
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::less<>()(begin(a), begin(b)); });
  // The tensor that reaches furthest so far, of all and of those written: if
  // one overlaps, these do.
  int furthest = -1, furthestWritten = -1;
  auto end = [&](int i) { return begin(i) + externalBytes[i]; };
  for (int i : order) {
    bool written = isWritten(schedule->externals[i].kind);
    int before = written ? furthest : furthestWritten;
    if (before >= 0 && std::less<>()(begin(i), end(before)))
      return Error{"tensors '" + schedule->externals[before].name + "' and '" +
                   schedule->externals[i].name +
                   "': expected memory of their own because one is written, "
                   "found that they overlap"};
    if (furthest < 0 || std::less<>()(end(furthest), end(i)))
      furthest = i;
    if (written &&
        (furthestWritten < 0 || std::less<>()(end(furthestWritten), end(i))))
      furthestWritten = i;
  }
  bindingsChanged = false;
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// A handle that gives its lease back.
Result<OpenForward> Step::open() {
  if (Status status = impl->checkOverlaps(); !status.ok())
    return Error{status.message()};
  Result<Lease *> lease = impl->open();
  if (!lease.ok())
    return lease.takeError();
  OpenForward handle;
  handle.step = impl;
  handle.lease = *lease;
  return handle;
}

/// The lease is the caller's to give back, as in `runWhole`.
Status StepImpl::runForward(Lease &lease) {
  Status status = takeBindings(lease, /*backward=*/false);
  if (status.ok())
    status = poisonStart(lease, /*backward=*/false);
  if (status.ok())
    status = issue(lease, Entry::Forward);
  if (!status.ok())
    return Error{"forward: " + status.message()};
  ++counts.forwards;
  return {};
}

Result<OpenForward> Step::forward() {
  Result<OpenForward> handle = open();
  if (!handle.ok())
    return handle;
  if (Status status = impl->runForward(*handle->lease); !status.ok())
    return Error{status.message()};
  return handle;
}

Status Step::backward(OpenForward &forward) {
  if (!forward.isOpen())
    return Error{forward.step ? "backward: this forward is already consumed; "
                                "run the forward again"
                              : "backward: expected an open forward, got none"};
  if (forward.step != impl)
    return Error{"backward: this forward belongs to another step"};
  Lease &lease = *forward.lease;
  Status status = impl->checkOverlaps();
  if (status.ok())
    status = impl->takeBindings(lease, /*backward=*/true);
  // What is not bound can be bound, and the backward asked for again.
  if (!status.ok())
    return Error{"backward: " + status.message()};
  status = impl->poisonStart(lease, /*backward=*/true);
  if (status.ok())
    status = impl->issue(lease, Entry::Backward);
  forward.drop();
  if (!status.ok())
    return Error{"backward: " + status.message()};
  ++impl->counts.backwards;
  return {};
}

Status StepImpl::runWhole(Lease &lease) {
  for (bool backward : {false, true}) {
    Status status = takeBindings(lease, backward);
    if (status.ok())
      status = poisonStart(lease, backward);
    if (!status.ok())
      return Error{"step: " + status.message()};
  }
  if (Status status = issue(lease, Entry::Whole); !status.ok())
    return Error{"step: " + status.message()};
  ++counts.forwards;
  ++counts.backwards;
  return {};
}

Status Step::run() {
  Result<OpenForward> handle = open();
  if (!handle.ok())
    return Error{handle.message()};
  // Only now is it known whether the host memory is pinned. A whole has a
  // border: something before and behind it.
  int border = schedule().forwardEnd, end = int(schedule().commands.size());
  if (impl->replays(*handle->lease) && 0 < border && border < end)
    return impl->runWhole(*handle->lease);
  if (Status status = impl->runForward(*handle->lease); !status.ok())
    return status;
  return backward(*handle);
}

const Schedule &Step::schedule() const { return *impl->schedule; }

std::shared_ptr<PinnedPool> Step::hostMemory() const { return impl->pool; }

StepStatistics Step::statistics() const {
  StepStatistics counts = impl->counts;
  counts.pool = impl->pool->statistics();
  counts.arenaBytes = impl->schedule->arenaBytes;
  counts.allocatedBytes = counts.arenas * impl->arenaAllocation();
  return counts;
}

const std::vector<std::pair<double, double>> &Step::times() const {
  return impl->times;
}
