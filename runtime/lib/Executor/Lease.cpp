//===- Lease.cpp - memory of an open forward ------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Executor/StepImpl.h"

#include <algorithm>

using namespace ckpt::rt;

int64_t StepImpl::arenaAllocation() const {
  int64_t bytes = schedule->arenaBytes;
  return options.poison == Poison::None ? bytes : bytes + arenaMargin;
}

StepImpl::~StepImpl() {
  // Open forwards hold the step, so every lease is back.
  for (const std::unique_ptr<Lease> &lease : leases)
    device->free(lease->arena, arenaAllocation());
}

Result<std::unique_ptr<Lease>> StepImpl::makeLease() {
  auto lease = std::make_unique<Lease>();
  Result<std::unique_ptr<Event>> event = device->createEvent();
  if (!event.ok())
    return event.takeError();
  lease->lastCopy = std::move(*event);
  for (const HostSlot &slot : schedule->slots)
    lease->slots.push_back({nullptr, slot.bytes, slot.pinned});
  lease->externals.resize(schedule->externals.size());
  lease->pointers.resize(schedule->buffers.size());
  for (Replay &replay : lease->replays) {
    if (!mayReplay)
      break;
    Result<std::unique_ptr<Recording>> recording = device->createRecording();
    if (!recording.ok())
      return recording.takeError();
    replay.recording = std::move(*recording);
    replay.addresses.reserve(schedule->externals.size() +
                             schedule->slots.size());
  }
  // Last: nothing can fail after it.
  Result<void *> arena = device->allocate(arenaAllocation());
  if (!arena.ok())
    return Error{"arena of a forward (" + std::to_string(leases.size()) +
                 " held so far): " + arena.message()};
  lease->arena = *arena;
  return lease;
}

Result<Lease *> StepImpl::open() {
  if (freeLeases.empty()) {
    Result<std::unique_ptr<Lease>> made = makeLease();
    if (!made.ok())
      return made.takeError();
    freeLeases.reserve(leases.size() + 1);
    freeLeases.push_back(made->get());
    leases.push_back(std::move(*made));
    ++counts.arenas;
  }
  Lease *lease = freeLeases.back();
  if (Status status = pool->acquire(lease->slots); !status.ok())
    return Error{status.message()};
  freeLeases.pop_back();
  ++counts.openForwards;
  return lease;
}

void StepImpl::close(Lease *lease) {
  if (options.poison != Poison::None) {
    // A lease that cannot be read measures nothing; closing cannot fail.
    (void)measureTouched(*lease).ok();
    if (options.poison == Poison::Freed)
      for (const HostBuffer &slot : lease->slots)
        std::fill_n(static_cast<uint8_t *>(slot.data), slot.bytes, 0xff);
  }
  pool->release(lease->slots, lease->lastCopy);
  freeLeases.push_back(lease);
  --counts.openForwards;
}

void StepImpl::resolve(Lease &lease) const {
  for (size_t i = 0; i < schedule->buffers.size(); ++i) {
    const Buffer &buffer = schedule->buffers[i];
    switch (buffer.space) {
    case Space::Arena:
      lease.pointers[i] = static_cast<uint8_t *>(lease.arena) + buffer.offset;
      break;
    case Space::External:
      lease.pointers[i] = lease.externals[buffer.external];
      break;
    case Space::Host:
      lease.pointers[i] = lease.slots[buffer.slot].data;
      break;
    }
  }
}

OpenForward &OpenForward::operator=(OpenForward &&other) noexcept {
  if (this == &other)
    return *this;
  drop();
  step = std::move(other.step);
  lease = std::exchange(other.lease, nullptr);
  return *this;
}

void OpenForward::drop() {
  if (lease)
    step->close(std::exchange(lease, nullptr));
}
