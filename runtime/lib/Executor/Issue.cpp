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
    return stream.launch(launch);
  }
  case Command::Kind::Fill:
    return stream.fill(pointer(command.buffers[0]), 0,
                       schedule->buffers[command.buffers[0]].bytes);
  case Command::Kind::CopyOut:
    return stream.copyToHost(pointer(command.buffers[1]),
                             pointer(command.buffers[0]),
                             schedule->buffers[command.buffers[0]].bytes);
  case Command::Kind::CopyIn:
    return stream.copyToDevice(pointer(command.buffers[1]),
                               pointer(command.buffers[0]),
                               schedule->buffers[command.buffers[1]].bytes);
  case Command::Kind::Record:
    return stream.record(*events[command.event]);
  case Command::Kind::Wait:
    return stream.wait(*events[command.event]);
  }
  return {};
}

Status StepImpl::fork() {
  Status status = on(StreamKind::Compute).record(*forked);
  for (StreamKind kind : {StreamKind::CopyOut, StreamKind::CopyIn})
    if (status.ok())
      status = on(kind).wait(*forked);
  return status;
}

Status StepImpl::join() {
  Status status;
  for (auto [kind, event] : {std::pair{StreamKind::CopyOut, joinedOut.get()},
                             std::pair{StreamKind::CopyIn, joinedIn.get()}}) {
    if (status.ok())
      status = on(kind).record(*event);
    if (status.ok())
      status = on(StreamKind::Compute).wait(*event);
  }
  return status;
}

Status StepImpl::enqueue(Lease &lease, int begin, int end) {
  Status status = fork();
  for (int i = begin; i < end && status.ok(); ++i) {
    // Nothing of the backward runs beside the forward: the schedule counts on
    // it.
    if (i == schedule->forwardEnd && i != begin) {
      status = join();
      if (status.ok())
        status = on(StreamKind::Compute).mark(*border);
      if (status.ok())
        status = fork();
    }
    // What dies at the border the forward has poisoned.
    if (status.ok() && i != schedule->forwardEnd)
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
  return status.ok() ? join() : status;
}

Status StepImpl::issue(Lease &lease, Entry entry) {
  auto enqueuing = std::chrono::steady_clock::now();
  int begin = beginOf(entry), end = endOf(entry);
  Stream &compute = on(StreamKind::Compute);
  Status status = compute.record(*begun);
  // Nothing is no recording.
  if (status.ok())
    status = replays(lease) && begin < end ? replay(lease, entry)
                                           : enqueue(lease, begin, end);
  if (status.ok())
    status = compute.record(*ended);
  // The slots' last user: compute has joined the copies.
  if (status.ok())
    status = compute.record(*lease.lastCopy);
  counts.issueSeconds = std::chrono::duration<double>(
                            std::chrono::steady_clock::now() - enqueuing)
                            .count();
  // In every case: nothing may be under way when the caller goes on.
  Status drained = synchronise();
  if (status.ok())
    status = drained;
  // Only now are the last copies done.
  if (status.ok() && options.poison == Poison::Freed) {
    status = poisonDead(lease, end);
    if (status.ok())
      status = synchronise();
  }
  if (status.ok() && options.measure)
    status = takeTimes(begin, end);
  if (status.ok())
    status = takeSeconds(entry);
  if (!status.ok())
    return status;
  for (auto [work, other] : {std::pair{&forwardWork, Entry::Backward},
                             std::pair{&backwardWork, Entry::Forward}}) {
    if (entry == other)
      continue;
    counts.launches += work->launches;
    counts.replayedOps += work->replayedOps;
    counts.copiedToHost += work->copiedToHost;
    counts.copiedToDevice += work->copiedToDevice;
  }
  return {};
}

Status StepImpl::takeSeconds(Entry entry) {
  bool isWhole = entry == Entry::Whole;
  auto take = [&](const Event &from, const Event &to, double &seconds) {
    Result<double> between = device->secondsBetween(from, to);
    if (!between.ok())
      return Status(between.takeError());
    seconds = *between;
    return Status();
  };
  Status status;
  if (entry != Entry::Backward)
    status = take(*begun, isWhole ? *border : *ended, counts.forwardSeconds);
  if (status.ok() && entry != Entry::Forward)
    status = take(isWhole ? *border : *begun, *ended, counts.backwardSeconds);
  return status;
}

Status StepImpl::takeTimes(int begin, int end) {
  double offset = begin ? measuredForward : 0, last = 0;
  for (int i = begin; i < end; ++i) {
    Result<double> start = device->secondsBetween(*begun, *starts[i]);
    Result<double> stop = device->secondsBetween(*begun, *ends[i]);
    if (!start.ok() || !stop.ok())
      return Error{start.ok() ? stop.message() : start.message()};
    times[i] = {offset + *start, offset + *stop};
    last = std::max(last, *stop);
  }
  if (!begin)
    measuredForward = last;
  return {};
}
