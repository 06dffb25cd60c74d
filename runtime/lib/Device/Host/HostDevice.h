//===- HostDevice.h - a device without a GPU --------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A stream is a thread with a queue, device memory is ordinary memory, a copy
/// is a memcpy on the stream's thread, a module is a shared object. Pinned
/// memory is ordinary memory too, counted apart. Faults can be injected, which
/// is how tests reach what a healthy machine does not do.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_HOST_HOSTDEVICE_H
#define CKPT_RT_DEVICE_HOST_HOSTDEVICE_H

#include "Device/Device.h"

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

namespace ckpt::rt {

/// Counts down to the one call that fails.
class Countdown {
public:
  /// The `n`-th call of `strike` from now fails, 1 being the next.
  void set(int64_t n) { left = n; }
  bool strike() { return left.fetch_sub(1) == 1; }

private:
  std::atomic<int64_t> left{0};
};

/// What goes wrong on purpose. May be changed while no command is under way.
struct HostFaults {
  Countdown pinnedAllocation, pageableAllocation, deviceAllocation;
  /// The launch is refused when it is enqueued.
  Countdown launch;
  /// The copy moves nothing and its stream reports it at `synchronise`.
  Countdown copy;
  /// Bytes that can be pinned at a time; 0 = none.
  std::atomic<int64_t> pinnedCapacity{std::numeric_limits<int64_t>::max()};
  /// Each copy spins for a random time up to this, before it, in its middle
  /// and after it, so that a missing wait shows. 0 = off.
  std::atomic<int64_t> copyDelayMicroseconds{0};
  /// Seed of those times.
  std::atomic<uint64_t> delaySeed{1};
};

/// Bytes allocated at this moment.
struct HostLedger {
  std::atomic<int64_t> device{0}, pinned{0}, pageable{0};
};

class HostDevice : public Device {
public:
  using KernelFunction = std::function<void(
      void *const *arguments, const int64_t *sizes, void *workspace)>;

  HostDevice();
  ~HostDevice() override;
  const char *name() const override { return "host"; }

  Result<std::unique_ptr<Stream>>
  createStream(const StreamLimits &limits) override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Result<double> secondsBetween(const Event &from, const Event &to) override;
  Result<std::unique_ptr<Module>>
  loadModule(std::shared_ptr<const Program> program) override;
  Result<void *> allocate(int64_t bytes) override;
  void free(void *device, int64_t bytes) override;
  Result<void *> allocateHost(int64_t bytes, bool pinned) override;
  void freeHost(void *host, int64_t bytes, bool pinned) override;

  /// Answers for `symbol` in every module from now on, before its object does;
  /// with it a program without an object runs. For tests.
  void registerKernel(const std::string &symbol, KernelFunction function);
  /// The registered kernel, or null.
  const KernelFunction *findRegistered(const std::string &symbol) const;

  HostFaults faults;
  HostLedger ledger;

private:
  mutable std::mutex mutex;
  std::map<std::string, KernelFunction> registered;
};

/// A shared object in memory, opened without a file left behind.
Result<std::unique_ptr<Module>> loadHostModule(const HostDevice &device,
                                               const Program &program);

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_HOST_HOSTDEVICE_H
