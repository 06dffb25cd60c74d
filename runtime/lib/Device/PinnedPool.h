//===- PinnedPool.h - host memory for offloaded values ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Host buffers in buckets of one exact size each: nothing is rounded up, so
/// that the bytes pinned are the bytes asked for. Which sizes are pinned is the
/// schedule's decision (`HostSlot::pinned`, from `pin-memory-max-buckets`); the
/// pool does as it is told and counts.
///
/// A pool may serve several steps; every function may be called from any
/// thread. It must outlive its buffers, and goes before its device.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_PINNEDPOOL_H
#define CKPT_RT_DEVICE_PINNEDPOOL_H

#include "Device/Device.h"

#include <map>
#include <mutex>
#include <vector>

namespace ckpt::rt {

/// A host buffer on loan from a pool.
struct HostBuffer {
  void *data = nullptr;
  int64_t bytes = 0;
  /// What was asked for: the bucket it belongs to.
  bool wantPinned = false;
  /// What it is; false with `wantPinned` when pinning failed.
  bool pinned = false;
};

struct PoolStatistics {
  /// Pinned memory held, in use or not.
  int64_t pinnedBytes = 0;
  /// Distinct sizes of it.
  int64_t buckets = 0;
  /// Requests answered with a buffer that was there; with a new one.
  int64_t hits = 0, misses = 0;
  /// Buffers held that are pageable, and their bytes.
  int64_t pageable = 0, pageableBytes = 0;
  /// Pinned allocations that failed; each is a pageable buffer instead.
  int64_t fallbacks = 0;
};

class PinnedPool {
public:
  explicit PinnedPool(Device &device) : device(device) {}
  /// Frees every buffer. All must be back, and their last copies done.
  ~PinnedPool();
  PinnedPool(const PinnedPool &) = delete;
  PinnedPool &operator=(const PinnedPool &) = delete;

  /// A buffer of exactly `bytes`. When a pinned one cannot be made, a pageable
  /// one takes its place for good and is counted as a fallback. Fails only
  /// when there is no pageable memory either. Allocates only on a miss.
  Result<HostBuffer> acquire(int64_t bytes, bool pinned);

  /// Takes a buffer back. It is not lent again before `lastCopy`, when given,
  /// is done. Never waits or allocates.
  void release(const HostBuffer &buffer,
               std::shared_ptr<const Event> lastCopy = nullptr);

  PoolStatistics statistics() const;

private:
  struct Free {
    HostBuffer buffer;
    std::shared_ptr<const Event> lastCopy;
  };
  struct Bucket {
    std::vector<Free> free;
    /// Buffers made, free or lent: what `free` has room for.
    size_t made = 0;
    /// How many of them are pinned.
    size_t pinned = 0;
  };
  Result<HostBuffer> make(int64_t bytes, bool pinned);

  Device &device;
  mutable std::mutex mutex;
  /// By bytes and `wantPinned`.
  std::map<std::pair<int64_t, bool>, Bucket> buckets;
  PoolStatistics counts;
};

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_PINNEDPOOL_H
