//===- Poison.cpp - overwriting what nobody may read ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Executor/StepImpl.h"

#include <algorithm>

using namespace ckpt::rt;

/// NaN in f32 and bf16.
static constexpr uint8_t poison = 0xff;
/// Bytes compared at a time.
static constexpr int64_t chunk = 1 << 20;

/// A buffer is poisoned on the compute stream before the command at which its
/// life ends: by then compute waited for every copy that used it. Not when the
/// bytes are already another buffer's, as after an operation in place.
void StepImpl::planPoison() {
  if (options.poison == Poison::None)
    return;
  scanned.resize(std::min(chunk, schedule->arenaBytes + arenaMargin));
  if (options.poison != Poison::Freed)
    return;
  deaths.resize(schedule->commands.size() + 1);
  const std::vector<Buffer> &buffers = schedule->buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer &dead = buffers[i];
    if (dead.space != Space::Arena || dead.bytes == 0)
      continue;
    bool taken =
        std::any_of(buffers.begin(), buffers.end(), [&](const Buffer &other) {
          return &other != &dead && other.space == Space::Arena &&
                 other.begin <= dead.end && dead.end < other.end &&
                 other.offset < dead.offset + dead.bytes &&
                 dead.offset < other.offset + other.bytes;
        });
    if (!taken)
      deaths[dead.end].push_back(int(i));
  }
}

Status StepImpl::poisonStart(Lease &lease, bool backward) {
  if (options.poison == Poison::None)
    return {};
  Stream &compute = on(StreamKind::Compute);
  if (!backward) {
    for (const HostBuffer &slot : lease.slots)
      std::fill_n(static_cast<uint8_t *>(slot.data), slot.bytes, poison);
    if (Status status = compute.fill(lease.arena, poison,
                                     schedule->arenaBytes + arenaMargin);
        !status.ok())
      return status;
  }
  for (size_t i = 0; i < schedule->externals.size(); ++i) {
    ExternalKind kind = schedule->externals[i].kind;
    if (kind != (backward ? ExternalKind::Gradient : ExternalKind::Output))
      continue;
    if (Status status =
            compute.fill(lease.externals[i], poison, externalBytes[i]);
        !status.ok())
      return status;
  }
  return compute.synchronise();
}

Status StepImpl::poisonDead(Lease &lease, int index) {
  if (options.poison != Poison::Freed || deaths[index].empty())
    return {};
  Stream &compute = on(StreamKind::Compute);
  for (int buffer : deaths[index])
    if (Status status = compute.fill(lease.pointers[buffer], poison,
                                     schedule->buffers[buffer].bytes);
        !status.ok())
      return status;
  // The schedule knows nothing of these writes: a copy in that takes the bytes
  // next must not be overwritten.
  if (Status status = compute.record(*poisoned); !status.ok())
    return status;
  for (StreamKind kind : {StreamKind::CopyOut, StreamKind::CopyIn})
    if (Status status = on(kind).wait(*poisoned); !status.ok())
      return status;
  return {};
}

void StepImpl::account(int buffer) {
  if (buffer < 0 || schedule->buffers[buffer].space != Space::Arena)
    return;
  const Buffer &used = schedule->buffers[buffer];
  counts.touched = std::max(counts.touched, used.offset + used.bytes);
}

Status StepImpl::measureTouched(Lease &lease) {
  const uint8_t *arena = static_cast<const uint8_t *>(lease.arena);
  Stream &out = on(StreamKind::CopyOut);
  // From the top down, so that little is read.
  int64_t end = schedule->arenaBytes + arenaMargin;
  while (end > 0) {
    int64_t begin = std::max<int64_t>(0, end - int64_t(scanned.size()));
    Status status = out.copyToHost(scanned.data(), arena + begin, end - begin);
    if (status.ok())
      status = out.synchronise();
    if (!status.ok())
      return status;
    int64_t last = end - begin;
    while (last > 0 && scanned[last - 1] == poison)
      --last;
    end = begin + last;
    if (last > 0)
      break;
  }
  counts.written = std::max(counts.written, end);
  counts.touched = std::max(counts.touched, end);
  return {};
}
