//===- PinnedPool.h - host memory for offloaded values ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Host buffers in buckets of one exact size each. Pinned memory comes in
/// slabs: what a step asks for and the pool does not have is one call of the
/// device, cut into buffers, because a driver takes long to pin and rounds
/// every call up. Buffers are not rounded up, but for `alignment` between two,
/// so that the bytes pinned are the bytes asked for. Which sizes are pinned is
/// the schedule's decision (`HostSlot::pinned`, from `pin-memory-max-buckets`);
/// the pool does as it is told and counts.
///
/// A pool may serve several steps; every function may be called from any
/// thread. It must outlive its buffers, and goes before its device. What it
/// holds, lent or free, it keeps until then.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_PINNEDPOOL_H
#define CKPT_RT_DEVICE_PINNEDPOOL_H

#include "Device/Device.h"

#include <map>
#include <mutex>
#include <vector>

namespace ckpt::rt {

/// A host buffer on loan from a pool, or what is asked of one.
struct HostBuffer {
  /// Set by the pool.
  void *data = nullptr;
  int64_t bytes = 0;
  /// What was asked for: the bucket it belongs to.
  bool wantPinned = false;
  /// What it is, set by the pool; false with `wantPinned` when pinning failed.
  bool pinned = false;
};

struct PoolStatistics {
  /// Pinned memory held, in use or not, with what alignment adds.
  int64_t pinnedBytes = 0;
  /// Distinct sizes of its buffers.
  int64_t buckets = 0;
  /// Buffers lent that were there; that were made for it.
  int64_t hits = 0, misses = 0;
  /// Buffers held that are pageable, and their bytes.
  int64_t pageable = 0, pageableBytes = 0;
  /// Buffers that could not be pinned; each is a pageable one instead.
  int64_t fallbacks = 0;
};

class PinnedPool {
public:
  /// Of the buffers in a slab, as in the arena: a copy begins on the same
  /// boundary at both of its ends, no transfer over PCIe (256 bytes of it at
  /// most) crosses a page, and no two buffers share a cache line. A page each
  /// would gain nothing, the slab being pinned as a whole.
  static constexpr int64_t alignment = 256;

  explicit PinnedPool(Device &device) : device(device) {}
  /// Frees every slab and pageable buffer. All buffers must be back, and their
  /// last copies done: a slab goes as a whole, one that is lent with it.
  ~PinnedPool();
  PinnedPool(const PinnedPool &) = delete;
  PinnedPool &operator=(const PinnedPool &) = delete;

  /// Lends all of `buffers`, each of exactly its `bytes` and as `wantPinned`
  /// says. Those that are not there are made for good: the pinned ones as one
  /// slab; where that cannot be had, one by one; and where one cannot be
  /// pinned, a pageable one takes its place and is counted as a fallback.
  /// Fails only when there is no pageable memory either, and lends none then.
  /// Allocates only what is not there.
  Status acquire(std::vector<HostBuffer> &buffers);

  /// Takes buffers back. They are not lent again before `lastCopy`, when given,
  /// is done. Waits for no copy and allocates nothing. Who asks for the same
  /// buffers next finds each where it was.
  void release(const std::vector<HostBuffer> &buffers,
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
  /// One pinned allocation, of one buffer or several.
  struct Slab {
    void *data;
    int64_t bytes;
  };

  // All under the mutex.
  /// Whether a buffer was there; it has no data otherwise.
  bool take(HostBuffer &buffer);
  /// Gives the missing pinned buffers memory, or leaves all of them missing.
  void cutSlab(std::vector<HostBuffer> &buffers);
  Status make(HostBuffer &buffer);
  Result<void *> pin(int64_t bytes);
  void enter(const HostBuffer &buffer);
  void giveBack(const std::vector<HostBuffer> &buffers,
                const std::shared_ptr<const Event> &lastCopy);

  Device &device;
  mutable std::mutex mutex;
  /// By bytes and `wantPinned`.
  std::map<std::pair<int64_t, bool>, Bucket> buckets;
  std::vector<Slab> slabs;
  PoolStatistics counts;
};

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_PINNEDPOOL_H
