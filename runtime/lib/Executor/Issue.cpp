//===- Issue.cpp - commands onto streams ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Executor/StepImpl.h"

#include <algorithm>
#include <chrono>

using namespace ckpt::rt;

Status StepImpl::synchronise() {
  Status first;
  for (const std::unique_ptr<Stream> &stream : streams)
    if (Status status = stream->synchronise(); !status.ok() && first.ok())
      first = status;
  return first;
}

Status StepImpl::issueOne(Lease &lease, int index) {
  const Command &command = schedule->commands[index];
  Stream &stream = on(command.stream);
  auto pointer = [&](int buffer) {
    return buffer < 0 ? nullptr : lease.pointers[buffer];
  };
  if (options.poison != Poison::None) {
    for (int buffer : command.buffers)
      account(buffer);
    account(command.workspace);
  }
  switch (command.kind) {
  case Command::Kind::Launch: {
    for (size_t i = 0; i < command.buffers.size(); ++i)
      launchArguments[i] = pointer(command.buffers[i]);
    Launch launch;
    launch.kernel = kernels[command.kernel];
    launch.arguments = launchArguments.data();
    launch.numArguments = int(command.buffers.size());
    launch.sizes = schedule->sizes.data();
    launch.numSizes = int(schedule->sizes.size());
    launch.workspace = pointer(command.workspace);
    ++counts.launches;
    counts.replayedOps += command.phase == TableEntry::Phase::Replay;
    return stream.launch(launch);
  }
  case Command::Kind::Fill:
    return stream.fill(pointer(command.buffers[0]), 0,
                       schedule->buffers[command.buffers[0]].bytes);
  case Command::Kind::CopyOut: {
    int64_t bytes = schedule->buffers[command.buffers[0]].bytes;
    counts.copiedToHost += bytes;
    return stream.copyToHost(pointer(command.buffers[1]),
                             pointer(command.buffers[0]), bytes);
  }
  case Command::Kind::CopyIn: {
    int64_t bytes = schedule->buffers[command.buffers[1]].bytes;
    counts.copiedToDevice += bytes;
    return stream.copyToDevice(pointer(command.buffers[1]),
                               pointer(command.buffers[0]), bytes);
  }
  case Command::Kind::Record:
    return stream.record(*events[command.event]);
  case Command::Kind::Wait:
    return stream.wait(*events[command.event]);
  }
  return {};
}

Status StepImpl::issue(Lease &lease, bool backward, double &seconds) {
  auto began = std::chrono::steady_clock::now();
  int begin = backward ? schedule->forwardEnd : 0;
  int end = backward ? int(schedule->commands.size()) : schedule->forwardEnd;
  Status status;
  if (options.measure)
    status = recordOrigin();
  for (int i = begin; i < end && status.ok(); ++i) {
    // What dies at the border the forward has poisoned.
    if (i != schedule->forwardEnd)
      status = poisonDead(lease, i);
    Stream &stream = on(schedule->commands[i].stream);
    if (status.ok() && options.measure)
      status = stream.record(*starts[i]);
    if (status.ok())
      status = issueOne(lease, i);
    if (status.ok() && options.measure)
      status = stream.record(*ends[i]);
    if (!status.ok()) {
      const Command &command = schedule->commands[i];
      status = Error{"command " + std::to_string(i) + " (" + command.label +
                     ", block " + std::to_string(command.block) +
                     "): " + status.message()};
    }
  }
  // The slots' last user: copies in come after copies out.
  StreamKind last = backward ? StreamKind::CopyIn : StreamKind::CopyOut;
  if (status.ok())
    status = on(last).record(*lease.lastCopy);
  // In every case: nothing may be under way when the caller goes on.
  Status drained = synchronise();
  seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began)
          .count();
  if (status.ok())
    status = drained;
  // Only now are the last copies done.
  if (status.ok())
    status = poisonDead(lease, end);
  if (status.ok())
    status = synchronise();
  if (status.ok() && options.measure)
    status = takeTimes(begin, end);
  return status;
}

Status StepImpl::recordOrigin() {
  Status status = on(StreamKind::Compute).record(*origin);
  for (StreamKind kind : {StreamKind::CopyOut, StreamKind::CopyIn})
    if (status.ok())
      status = on(kind).wait(*origin);
  return status;
}

Status StepImpl::takeTimes(int begin, int end) {
  double offset = begin ? measuredForward : 0, last = 0;
  for (int i = begin; i < end; ++i) {
    Result<double> start = device->secondsBetween(*origin, *starts[i]);
    Result<double> stop = device->secondsBetween(*origin, *ends[i]);
    if (!start.ok() || !stop.ok())
      return Error{start.ok() ? stop.message() : start.message()};
    times[i] = {offset + *start, offset + *stop};
    last = std::max(last, *stop);
  }
  if (!begin)
    measuredForward = last;
  return {};
}
