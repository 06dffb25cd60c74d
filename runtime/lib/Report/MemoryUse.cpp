//===- MemoryUse.cpp - what the arena holds, and when ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/MemoryUse.h"

#include <algorithm>

using namespace ckpt::rt;

const char *ckpt::rt::nameOf(Holding holding) {
  switch (holding) {
  case Holding::Kept:
    return "kept for the backward";
  case Holding::Outgoing:
    return "going to the host";
  case Holding::Forward:
    return "between forward ops";
  case Holding::Incoming:
    return "back from the host";
  case Holding::Replayed:
    return "made again by a replay";
  case Holding::Gradients:
    return "gradients";
  case Holding::Workspace:
    return "kernel workspace";
  }
  return "";
}

std::vector<Holding> ckpt::rt::classifyBuffers(const Schedule &schedule) {
  std::vector<Holding> holdings(schedule.buffers.size(), Holding::Forward);
  std::vector<bool> isMade(schedule.buffers.size());
  for (const Command &command : schedule.commands) {
    using Kind = Command::Kind;
    if (command.kind == Kind::Record || command.kind == Kind::Wait)
      continue;
    if (command.workspace >= 0)
      holdings[command.workspace] = Holding::Workspace;
    if (command.kind == Kind::CopyOut) {
      // What also stays for the backward is kept, not going.
      Holding &source = holdings[command.buffers[0]];
      if (source == Holding::Forward)
        source = Holding::Outgoing;
      continue;
    }
    // A buffer is what its first writer made it for.
    for (size_t i = command.numReads; i < command.buffers.size(); ++i) {
      int buffer = command.buffers[i];
      if (buffer < 0 || isMade[buffer])
        continue;
      isMade[buffer] = true;
      bool stays = schedule.buffers[buffer].end > schedule.forwardEnd;
      if (command.kind == Kind::CopyIn)
        holdings[buffer] = Holding::Incoming;
      else if (command.kind == Kind::Fill)
        holdings[buffer] = Holding::Gradients;
      else if (command.phase == TableEntry::Phase::Replay)
        holdings[buffer] = Holding::Replayed;
      else if (command.phase == TableEntry::Phase::Backward)
        holdings[buffer] = Holding::Gradients;
      else
        holdings[buffer] = stays ? Holding::Kept : Holding::Forward;
    }
  }
  return holdings;
}

std::vector<HeldBytes> ckpt::rt::memoryUse(const Schedule &schedule) {
  std::vector<Holding> holdings = classifyBuffers(schedule);
  // Changes first, then their running sum.
  std::vector<HeldBytes> use(schedule.commands.size() + 1, HeldBytes{});
  for (size_t b = 0; b < schedule.buffers.size(); ++b) {
    const Buffer &buffer = schedule.buffers[b];
    if (buffer.space != Space::Arena || buffer.end <= buffer.begin)
      continue;
    int64_t bytes =
        (buffer.bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
    use[buffer.begin][int(holdings[b])] += bytes;
    use[std::min<size_t>(buffer.end, use.size() - 1)][int(holdings[b])] -=
        bytes;
  }
  for (size_t i = 1; i < use.size(); ++i)
    for (int h = 0; h < numHoldings; ++h)
      use[i][h] += use[i - 1][h];
  use.pop_back();
  return use;
}
