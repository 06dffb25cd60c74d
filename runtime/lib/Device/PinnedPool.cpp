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
      device.freeHost(free.buffer.data, free.buffer.bytes, free.buffer.pinned);
  }
}

Result<HostBuffer> PinnedPool::make(int64_t bytes, bool pinned) {
  HostBuffer buffer;
  buffer.bytes = bytes;
  buffer.wantPinned = buffer.pinned = pinned;
  Result<void *> data = device.allocateHost(bytes, pinned);
  if (!data.ok() && pinned) {
    buffer.pinned = false;
    data = device.allocateHost(bytes, /*pinned=*/false);
  }
  if (!data.ok())
    return data.takeError();
  buffer.data = *data;
  counts.fallbacks += pinned && !buffer.pinned;

  Bucket &bucket = buckets[{bytes, pinned}];
  ++bucket.made;
  // Room for all of them, so that `release` never allocates.
  bucket.free.reserve(bucket.made);
  if (!buffer.pinned) {
    ++counts.pageable;
    counts.pageableBytes += bytes;
    return buffer;
  }
  counts.pinnedBytes += bytes;
  if (++bucket.pinned == 1)
    ++counts.buckets;
  return buffer;
}

Result<HostBuffer> PinnedPool::acquire(int64_t bytes, bool pinned) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = buckets.find({bytes, pinned});
  if (found != buckets.end()) {
    std::vector<Free> &free = found->second.free;
    // The last one given back is the likeliest to be in a cache.
    for (size_t i = free.size(); i-- > 0;) {
      if (free[i].lastCopy && !free[i].lastCopy->done())
        continue;
      HostBuffer buffer = free[i].buffer;
      free.erase(free.begin() + i);
      ++counts.hits;
      return buffer;
    }
  }
  Result<HostBuffer> buffer = make(bytes, pinned);
  if (buffer.ok())
    ++counts.misses;
  return buffer;
}

void PinnedPool::release(const HostBuffer &buffer,
                         std::shared_ptr<const Event> lastCopy) {
  std::lock_guard<std::mutex> lock(mutex);
  buckets[{buffer.bytes, buffer.wantPinned}].free.push_back(
      {buffer, std::move(lastCopy)});
}

PoolStatistics PinnedPool::statistics() const {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}
