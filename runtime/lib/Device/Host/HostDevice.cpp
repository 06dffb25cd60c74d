//===- HostDevice.cpp - a device without a GPU ----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Host/HostDevice.h"
#include "Device/Host/HostStream.h"

#include <cstdlib>

using namespace ckpt::rt;

/// A page; a multiple of `arenaAlignment`.
static constexpr int64_t alignment = 4096;

static void *allocateAligned(int64_t bytes) {
  return std::aligned_alloc(alignment,
                            (bytes + alignment - 1) / alignment * alignment);
}

static Error outOfMemory(const char *what, int64_t bytes, const char *why) {
  return Error{std::string(what) + ": cannot allocate " +
               std::to_string(bytes) + " bytes" + why};
}

HostDevice::HostDevice() = default;
HostDevice::~HostDevice() = default;

Result<std::unique_ptr<Stream>>
HostDevice::createStream(const StreamLimits &limits) {
  auto stream = std::make_unique<HostStream>(*this, limits);
  Status started = stream->start();
  if (!started.ok())
    return Error{started.message()};
  return std::unique_ptr<Stream>(std::move(stream));
}

Result<std::unique_ptr<Event>> HostDevice::createEvent() {
  return std::unique_ptr<Event>(std::make_unique<HostEvent>());
}

Result<double> HostDevice::secondsBetween(const Event &from, const Event &to) {
  const auto &a = static_cast<const HostEvent &>(from);
  const auto &b = static_cast<const HostEvent &>(to);
  if (!a.announced() || !b.announced() || !a.done() || !b.done())
    return Error{"host device: expected two events that are done"};
  return std::chrono::duration<double>(b.reachedAt() - a.reachedAt()).count();
}

Result<std::unique_ptr<Module>>
HostDevice::loadModule(std::shared_ptr<const Program> program) {
  return loadHostModule(*this, *program);
}

Result<void *> HostDevice::allocate(int64_t bytes) {
  if (faults.deviceAllocation.strike())
    return outOfMemory("device memory", bytes, " (injected failure)");
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  void *data = allocateAligned(bytes);
  if (!data)
    return outOfMemory("device memory", bytes, "");
  ledger.device += bytes;
  return data;
}

void HostDevice::free(void *device, int64_t bytes) {
  if (device)
    ledger.device -= bytes;
  std::free(device);
}

Result<void *> HostDevice::allocateHost(int64_t bytes, bool pinned) {
  const char *what = pinned ? "pinned host memory" : "pageable host memory";
  Countdown &countdown =
      pinned ? faults.pinnedAllocation : faults.pageableAllocation;
  if (countdown.strike() ||
      (pinned && bytes > faults.pinnedCapacity - ledger.pinned))
    return outOfMemory(what, bytes, " (injected failure)");
  void *data = allocateAligned(bytes ? bytes : 1);
  if (!data)
    return outOfMemory(what, bytes, "");
  (pinned ? ledger.pinned : ledger.pageable) += bytes;
  return data;
}

void HostDevice::freeHost(void *host, int64_t bytes, bool pinned) {
  if (host)
    (pinned ? ledger.pinned : ledger.pageable) -= bytes;
  std::free(host);
}

void HostDevice::registerKernel(const std::string &symbol,
                                KernelFunction function) {
  std::lock_guard<std::mutex> lock(mutex);
  registered[symbol] = std::move(function);
}

const HostDevice::KernelFunction *
HostDevice::findRegistered(const std::string &symbol) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = registered.find(symbol);
  return found == registered.end() ? nullptr : &found->second;
}
