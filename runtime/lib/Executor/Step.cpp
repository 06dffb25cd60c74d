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

  Result<std::unique_ptr<Module>> loaded =
      device->loadModule(program->object.data(), program->object.size());
  if (!loaded.ok())
    return Error{loaded.message()};
  module = std::move(*loaded);
  kernels.resize(program->kernels.size());
  StreamLimits limits;
  limits.arguments = 1;
  limits.sizes = std::max<int>(1, int(schedule->sizes.size()));
  for (const Command &command : schedule->commands) {
    if (command.kind != Command::Kind::Launch)
      continue;
    limits.arguments = std::max(limits.arguments, int(command.buffers.size()));
    if (kernels[command.kernel])
      continue;
    Result<KernelHandle> found = module->find(program->kernels[command.kernel]);
    if (!found.ok())
      return Error{found.message()};
    kernels[command.kernel] = *found;
  }
  launchArguments.resize(limits.arguments);

  for (std::unique_ptr<Stream> &stream : streams) {
    Result<std::unique_ptr<Stream>> made = device->createStream(limits);
    if (!made.ok())
      return Error{made.message()};
    stream = std::move(*made);
  }
  if (Status status = createEvents(*device, events, schedule->numEvents);
      !status.ok())
    return status;
  std::vector<std::unique_ptr<Event>> single;
  if (Status status = createEvents(*device, single, 2); !status.ok())
    return status;
  origin = std::move(single[0]);
  poisoned = std::move(single[1]);
  if (options.measure) {
    size_t count = schedule->commands.size();
    times.resize(count);
    for (auto *list : {&starts, &ends})
      if (Status status = createEvents(*device, *list, count); !status.ok())
        return status;
  }
  planPoison();

  if (!pool)
    pool = std::make_shared<PinnedPool>(*device);
  // The first forward finds its memory here.
  Result<Lease *> lease = open();
  if (!lease.ok())
    return Error{lease.message()};
  returnSlots(**lease, schedule->slots.size());
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
  int64_t element = bytesOf(external.type.dtype);
  if (reinterpret_cast<uintptr_t>(pointer) % element != 0)
    return Error{"tensor '" + name + "': expected a pointer aligned to " +
                 std::to_string(element) + " bytes"};
  impl->bindingsChanged |= impl->bound[index] != pointer;
  impl->bound[index] = pointer;
  return {};
}

static bool belongsToBackward(ExternalKind kind) {
  return kind == ExternalKind::OutputGradient || kind == ExternalKind::Gradient;
}

static bool isWritten(ExternalKind kind) {
  return kind == ExternalKind::Output || kind == ExternalKind::Gradient;
}

Status StepImpl::takeBindings(Lease &lease, bool backward) const {
  for (size_t i = 0; i < bound.size(); ++i) {
    const External &external = schedule->externals[i];
    if (belongsToBackward(external.kind) != backward)
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

Result<OpenForward> Step::forward() {
  if (Status status = impl->checkOverlaps(); !status.ok())
    return Error{status.message()};
  Result<Lease *> lease = impl->open();
  if (!lease.ok())
    return lease.takeError();
  // From here on the handle gives the lease back.
  OpenForward handle;
  handle.step = impl;
  handle.lease = *lease;
  Status status = impl->takeBindings(**lease, /*backward=*/false);
  if (status.ok())
    status = impl->poisonStart(**lease, /*backward=*/false);
  if (status.ok())
    status =
        impl->issue(**lease, /*backward=*/false, impl->counts.forwardSeconds);
  if (!status.ok())
    return Error{"forward: " + status.message()};
  ++impl->counts.forwards;
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
    status =
        impl->issue(lease, /*backward=*/true, impl->counts.backwardSeconds);
  forward.drop();
  if (!status.ok())
    return Error{"backward: " + status.message()};
  ++impl->counts.backwards;
  return {};
}

Status Step::run() {
  Result<OpenForward> open = forward();
  if (!open.ok())
    return Error{open.message()};
  return backward(*open);
}

const Schedule &Step::schedule() const { return *impl->schedule; }

std::shared_ptr<PinnedPool> Step::hostMemory() const { return impl->pool; }

StepStatistics Step::statistics() const {
  StepStatistics counts = impl->counts;
  counts.pool = impl->pool->statistics();
  counts.arenaBytes = impl->schedule->arenaBytes;
  return counts;
}

const std::vector<std::pair<double, double>> &Step::times() const {
  return impl->times;
}
