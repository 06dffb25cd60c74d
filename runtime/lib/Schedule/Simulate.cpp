//===- Simulate.cpp - time and memory of a schedule -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"

#include <algorithm>
#include <array>

using namespace ckpt::rt;

namespace {

void simulateMemory(const Schedule &schedule, Simulation &result) {
  size_t count = schedule.commands.size();
  std::vector<int64_t> held(count + 1, 0);
  for (const Buffer &buffer : schedule.buffers) {
    if (buffer.space == Space::External)
      result.externalBytes += buffer.bytes;
    if (buffer.space != Space::Arena || buffer.begin >= buffer.end)
      continue;
    held[buffer.begin] += alignedBytes(buffer.bytes);
    held[buffer.end] -= alignedBytes(buffer.bytes);
  }
  // What crosses is written by the forward and named by the backward; its end
  // may be the backward's first command, which replaces it in place.
  std::vector<bool> isCrossing(schedule.buffers.size());
  int64_t live = 0;
  for (size_t c = 0; c < count; ++c) {
    live += held[c];
    if (live > result.liveBytes) {
      result.liveBytes = live;
      result.peakCommand = int(c);
    }
    // What the command names, not what the lifetimes say.
    const Command &command = schedule.commands[c];
    auto touch = [&](int index) {
      if (index < 0 || schedule.buffers[index].space != Space::Arena)
        return;
      const Buffer &buffer = schedule.buffers[index];
      result.peakBytes =
          std::max(result.peakBytes, buffer.offset + buffer.bytes);
      if (int(c) < schedule.forwardEnd || isCrossing[index] ||
          buffer.begin >= schedule.forwardEnd)
        return;
      isCrossing[index] = true;
      result.heldBytes += alignedBytes(buffer.bytes);
    };
    for (int buffer : command.buffers)
      touch(buffer);
    touch(command.workspace);
  }
}

} // namespace

// Each stream is a queue; a command starts when the one before it in its
// stream is done. A copy that begins while the other direction is busy moves at
// the rate of both for all of its bytes: exact when copies overlap entirely or
// not at all, which is how the entry points leave them.
Simulation ckpt::rt::simulate(const Program &program, const Schedule &schedule,
                              const Profile &profile) {
  Simulation result;
  simulateMemory(schedule, result);

  std::array<double, numStreams> now{};
  std::vector<double> eventTime(schedule.numEvents, 0);
  std::vector<double> kernelSeconds(program.kernels.size(), -1);
  double &compute = now[int(StreamKind::Compute)];
  auto drain = [&] {
    double end = *std::max_element(now.begin(), now.end());
    result.exposedSeconds += end - compute;
    now.fill(end);
    return end;
  };
  for (size_t c = 0; c < schedule.commands.size(); ++c) {
    if (int(c) == schedule.forwardEnd)
      result.forwardSeconds = drain();
    const Command &command = schedule.commands[c];
    double &stream = now[int(command.stream)];
    double begin = stream;
    switch (command.kind) {
    case Command::Kind::Launch:
      if (kernelSeconds[command.kernel] < 0)
        kernelSeconds[command.kernel] = secondsOf(
            program.kernels[command.kernel], schedule.sizeValues, profile);
      stream += kernelSeconds[command.kernel];
      result.replayedOps += command.phase == TableEntry::Phase::Replay;
      break;
    case Command::Kind::Fill:
      stream += schedule.buffers[command.buffers[0]].bytes / profile.memory +
                profile.launchSeconds;
      break;
    case Command::Kind::CopyOut:
    case Command::Kind::CopyIn: {
      bool isOut = command.kind == Command::Kind::CopyOut;
      int64_t bytes = schedule.buffers[command.buffers[0]].bytes;
      double other = now[int(isOut ? StreamKind::CopyIn : StreamKind::CopyOut)];
      stream += bytes / (other > begin ? profile.linkBoth : profile.link);
      (isOut ? result.copiedToHost : result.copiedToDevice) += bytes;
      break;
    }
    case Command::Kind::Record:
      eventTime[command.event] = stream;
      break;
    case Command::Kind::Wait:
      stream = std::max(stream, eventTime[command.event]);
      if (command.stream == StreamKind::Compute)
        result.exposedSeconds += stream - begin;
      break;
    }
    result.times.push_back({begin, stream});
  }
  if (schedule.forwardEnd == int(schedule.commands.size()))
    result.forwardSeconds = drain();
  result.seconds = drain();
  return result;
}
