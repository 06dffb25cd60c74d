//===- Events.cpp - from dependencies to records and waits ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"

#include <algorithm>
#include <array>

using namespace ckpt::rt;

namespace {

/// Per stream: how many of its nodes are known to be done.
using Clock = std::array<int, numStreams>;

} // namespace

void ckpt::rt::emitCommands(const Draft &draft, Schedule &schedule) {
  size_t count = draft.nodes.size();
  // Which dependencies need an event: one that follows from what the stream
  // knows already needs none.
  std::vector<Clock> clockAfter(count);
  std::vector<int> position(count);
  std::vector<std::vector<int>> waits(count);
  std::vector<bool> isRecorded(count);
  std::array<Clock, numStreams> now{};
  for (size_t n = 0; n < count; ++n) {
    const Node &node = draft.nodes[n];
    int stream = int(node.command.stream);
    std::vector<int> sources = node.after;
    for (const Release &release : node.releases)
      if (release.isNeeded)
        sources.push_back(release.copy);
    // The latest first: it may imply the others.
    std::sort(sources.rbegin(), sources.rend());
    for (int source : sources) {
      int other = int(draft.nodes[source].command.stream);
      if (other == stream || now[stream][other] > position[source])
        continue;
      waits[n].push_back(source);
      isRecorded[source] = true;
      for (int s = 0; s < numStreams; ++s)
        now[stream][s] = std::max(now[stream][s], clockAfter[source][s]);
    }
    position[n] = now[stream][stream]++;
    clockAfter[n] = now[stream];
  }

  std::vector<int> eventOf(count, -1);
  std::vector<int> at(count + 1);
  auto mark = [&](Command::Kind kind, const Node &node, int event) {
    Command command;
    command.kind = kind;
    command.stream = node.command.stream;
    command.event = event;
    command.block = node.command.block;
    command.phase = node.command.phase;
    command.label = kind == Command::Kind::Record ? "record" : "wait";
    schedule.commands.push_back(std::move(command));
  };
  for (size_t n = 0; n < count; ++n) {
    const Node &node = draft.nodes[n];
    if (int(n) == draft.forwardEnd)
      schedule.forwardEnd = int(schedule.commands.size());
    for (int source : waits[n])
      mark(Command::Kind::Wait, node, eventOf[source]);
    at[n] = int(schedule.commands.size());
    if (!node.isJoin)
      schedule.commands.push_back(node.command);
    if (isRecorded[n]) {
      eventOf[n] = schedule.numEvents++;
      mark(Command::Kind::Record, node, eventOf[n]);
    }
  }
  at[count] = int(schedule.commands.size());
  if (draft.forwardEnd == int(count))
    schedule.forwardEnd = at[count];
  schedule.buffers = draft.buffers;
  setLifetimes(draft, at, schedule.buffers);
}
