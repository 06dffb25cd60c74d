//===- PinnedPool.cpp - host memory for offloaded values ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/PinnedPool.h"

using namespace ckpt::rt;

PinnedPool::~PinnedPool() {
  for (auto &entry : buckets) {
    assert(entry.second.free.size() == entry.second.made &&
           "a pool outlives its buffers");
    for (const Free &free : entry.second.free)
      if (!free.buffer.pinned)
        device.freeHost(free.buffer.data, free.buffer.bytes, /*pinned=*/false);
  }
  for (const Slab &slab : slabs)
    device.freeHost(slab.data, slab.bytes, /*pinned=*/true);
}

//===----------------------------------------------------------------------===//
// Making buffers
//===----------------------------------------------------------------------===//

Result<void *> PinnedPool::pin(int64_t bytes) {
  Result<void *> data = device.allocateHost(bytes, /*pinned=*/true);
  if (data.ok()) {
    slabs.push_back({*data, bytes});
    counts.pinnedBytes += bytes;
  }
  return data;
}

/// Adds a buffer that was made to its bucket, as lent.
void PinnedPool::enter(const HostBuffer &buffer) {
  ++counts.misses;
  Bucket &bucket = buckets[{buffer.bytes, buffer.wantPinned}];
  ++bucket.made;
  // Room for all of them, so that `release` never allocates.
  bucket.free.reserve(bucket.made);
  if (buffer.pinned) {
    counts.buckets += bucket.pinned++ == 0;
    return;
  }
  ++counts.pageable;
  counts.pageableBytes += buffer.bytes;
  counts.fallbacks += buffer.wantPinned;
}

static bool isMissingPinned(const HostBuffer &buffer) {
  return !buffer.data && buffer.wantPinned;
}

static int64_t aligned(int64_t offset) {
  constexpr int64_t mask = PinnedPool::alignment - 1;
  return (offset + mask) & ~mask;
}

void PinnedPool::cutSlab(std::vector<HostBuffer> &buffers) {
  int64_t bytes = 0, count = 0;
  for (const HostBuffer &buffer : buffers) {
    if (!isMissingPinned(buffer))
      continue;
    bytes = aligned(bytes) + buffer.bytes;
    ++count;
  }
  // One alone is `make`'s: a slab of it that failed would be tried again.
  if (count < 2)
    return;
  Result<void *> slab = pin(bytes);
  if (!slab.ok())
    return;
  int64_t offset = 0;
  for (HostBuffer &buffer : buffers) {
    if (!isMissingPinned(buffer))
      continue;
    offset = aligned(offset);
    buffer.data = static_cast<uint8_t *>(*slab) + offset;
    buffer.pinned = true;
    enter(buffer);
    offset += buffer.bytes;
  }
}

/// One with memory of its own.
Status PinnedPool::make(HostBuffer &buffer) {
  Result<void *> data = buffer.wantPinned
                            ? pin(buffer.bytes)
                            : device.allocateHost(buffer.bytes, false);
  buffer.pinned = buffer.wantPinned && data.ok();
  if (!data.ok() && buffer.wantPinned)
    data = device.allocateHost(buffer.bytes, /*pinned=*/false);
  if (!data.ok())
    return Error{data.message()};
  buffer.data = *data;
  enter(buffer);
  return {};
}

//===----------------------------------------------------------------------===//
// Lending
//===----------------------------------------------------------------------===//

bool PinnedPool::take(HostBuffer &buffer) {
  buffer.data = nullptr;
  auto found = buckets.find({buffer.bytes, buffer.wantPinned});
  if (found == buckets.end())
    return false;
  std::vector<Free> &free = found->second.free;
  // The last one given back is the likeliest to be in a cache.
  for (size_t i = free.size(); i-- > 0;) {
    if (free[i].lastCopy && !free[i].lastCopy->done())
      continue;
    buffer = free[i].buffer;
    free.erase(free.begin() + i);
    return true;
  }
  return false;
}

void PinnedPool::giveBack(const std::vector<HostBuffer> &buffers,
                          const std::shared_ptr<const Event> &lastCopy) {
  // Backwards, so that who asks for them in the same order gets the same: what
  // came back last is lent first.
  for (size_t i = buffers.size(); i-- > 0;)
    if (buffers[i].data)
      buckets[{buffers[i].bytes, buffers[i].wantPinned}].free.push_back(
          {buffers[i], lastCopy});
}

Status PinnedPool::acquire(std::vector<HostBuffer> &buffers) {
  std::lock_guard<std::mutex> lock(mutex);
  for (HostBuffer &buffer : buffers)
    counts.hits += take(buffer);
  cutSlab(buffers);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].data)
      continue;
    if (Status status = make(buffers[i]); !status.ok()) {
      // What was made so far stays, for the next to ask.
      giveBack(buffers, nullptr);
      return Error{"host buffer " + std::to_string(i) + " of " +
                   std::to_string(buffers.size()) + ": " + status.message()};
    }
  }
  return {};
}

void PinnedPool::release(const std::vector<HostBuffer> &buffers,
                         std::shared_ptr<const Event> lastCopy) {
  std::lock_guard<std::mutex> lock(mutex);
  giveBack(buffers, lastCopy);
}

PoolStatistics PinnedPool::statistics() const {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}
