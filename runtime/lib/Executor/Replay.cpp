//===- Replay.cpp - commands as recordings --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Executor/StepImpl.h"

#include <algorithm>

using namespace ckpt::rt;

bool StepImpl::replays(const Lease &lease) const {
  return mayReplay &&
         std::all_of(lease.slots.begin(), lease.slots.end(),
                     [](const HostBuffer &slot) { return slot.pinned; });
}

Status StepImpl::recordCommands(Lease &lease, Entry entry,
                                Recording &recording) {
  if (Status status = recording.begin(recorded); !status.ok())
    return status;
  Status status = enqueue(lease, beginOf(entry), endOf(entry));
  if (status.ok())
    return recording.end();
  recording.abandon();
  return status;
}

Status StepImpl::replay(Lease &lease, Entry entry) {
  // The arena stays where it is. The forward's recording holds no address of
  // the backward's tensors.
  replayAddresses.clear();
  for (size_t i = 0; i < schedule->externals.size(); ++i)
    if (entry != Entry::Forward || isForwards(schedule->externals[i].kind))
      replayAddresses.push_back(lease.externals[i]);
  for (const HostBuffer &slot : lease.slots)
    replayAddresses.push_back(slot.data);

  Replay &replay = lease.replays[int(entry)];
  if (replay.addresses != replayAddresses) {
    replay.addresses.clear();
    if (Status status = recordCommands(lease, entry, *replay.recording);
        !status.ok())
      return status;
    replay.addresses = replayAddresses;
    ++counts.graphRecordings;
  }
  ++counts.graphRuns;
  return replay.recording->issue();
}
