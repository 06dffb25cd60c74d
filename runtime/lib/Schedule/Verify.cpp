//===- Verify.cpp - proof that a schedule has no race ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One pass over the list with a vector clock per stream: for each stream, how
/// many commands of every stream are known to be done. Memory is followed by
/// what the commands do to bytes: a buffer can be read from its write
/// until another write covers any of its bytes. `Buffer::begin` and `end` play
/// no part in that; whether they agree with it is looked at apart.
///
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"

#include <algorithm>
#include <array>

using namespace ckpt::rt;

namespace {

using Clock = std::array<int, numStreams>;

/// The last command of each stream that names a buffer, and who wrote it.
struct History {
  int writer = -1;
  std::array<int, numStreams> lastUser{-1, -1, -1};
  /// The write that covered it, and the buffer of that write.
  int coveredBy = -1, coveringBuffer = -1;
};

class Verifier {
public:
  explicit Verifier(const Schedule &schedule)
      : schedule(schedule), history(schedule.buffers.size()),
        position(schedule.commands.size(), 0),
        startClock(schedule.commands.size()), eventClock(schedule.numEvents),
        recordOf(schedule.numEvents, -1),
        slotContents(schedule.slots.size(), -1),
        bufferOfExternal(schedule.externals.size(), -1) {}

  Status run();

private:
  using Message = std::optional<std::string>;

  Status checkShapes();
  Status checkCommand(int index);
  Status checkLifetimes();
  Status checkOverlaps();
  Status order(int index);
  Status access(int index);
  Status read(int index, int buffer);
  Status write(int index, int buffer);
  Status cover(int index, int written, int covered);
  bool mayShare(int index, int read, int written) const;

  /// `earlier` is done before `later` starts.
  bool isBefore(int earlier, int later) const {
    int stream = int(schedule.commands[earlier].stream);
    return startClock[later][stream] > position[earlier];
  }
  std::string commandName(int index) const;
  std::string bufferName(int buffer) const {
    return schedule.buffers[buffer].name;
  }

  const Schedule &schedule;
  std::vector<History> history;
  std::vector<int> position;
  /// What a command's stream knows when the command starts.
  std::vector<Clock> startClock;
  std::vector<Clock> eventClock;
  std::vector<int> recordOf;
  std::array<Clock, numStreams> now{};
  /// The arena by offset: whose bytes are there. They never overlap; what is
  /// left of a buffer that was partly written over is here too.
  struct Piece {
    int64_t end;
    int buffer;
  };
  std::map<int64_t, Piece> pieces;
  std::vector<int> slotContents;
  std::vector<int> bufferOfExternal;
};

std::string Verifier::commandName(int index) const {
  const Command &command = schedule.commands[index];
  std::string text = "#" + std::to_string(index);
  if (!command.label.empty())
    text += " " + command.label;
  if (command.block >= 0)
    text += " b" + std::to_string(command.block);
  return text;
}

Status Verifier::checkCommand(int index) {
  const Command &command = schedule.commands[index];
  auto fault = [&](const std::string &expected, const std::string &found) {
    return Error{commandName(index) + ": expected " + expected + ", found " +
                 found};
  };
  int numBuffers = int(schedule.buffers.size());
  for (int buffer : command.buffers)
    if (buffer < -1 || buffer >= numBuffers)
      return fault("a buffer below " + std::to_string(numBuffers),
                   std::to_string(buffer));
  if (command.workspace < -1 || command.workspace >= numBuffers)
    return fault("a workspace below " + std::to_string(numBuffers),
                 std::to_string(command.workspace));
  using Kind = Command::Kind;
  StreamKind stream =
      command.kind == Kind::CopyOut  ? StreamKind::CopyOut
      : command.kind == Kind::CopyIn ? StreamKind::CopyIn
      : command.kind == Kind::Launch || command.kind == Kind::Fill
          ? StreamKind::Compute
          : command.stream;
  if (command.stream != stream)
    return fault("a command on its own stream", "another stream");
  switch (command.kind) {
  case Kind::Launch:
    if (command.numReads < 0 || command.numReads > int(command.buffers.size()))
      return fault("at most " + std::to_string(command.buffers.size()) +
                       " reads",
                   std::to_string(command.numReads));
    break;
  case Kind::Fill:
    if (command.buffers.size() != 1 || command.buffers[0] < 0 ||
        command.numReads != 0)
      return fault("one buffer to fill", "something else");
    break;
  case Kind::CopyOut:
  case Kind::CopyIn: {
    if (command.buffers.size() != 2 || command.numReads != 1 ||
        command.buffers[0] < 0 || command.buffers[1] < 0)
      return fault("a source and a destination", "something else");
    const Buffer &from = schedule.buffers[command.buffers[0]];
    const Buffer &to = schedule.buffers[command.buffers[1]];
    bool isOut = command.kind == Kind::CopyOut;
    if ((from.space == Space::Host) == isOut ||
        (to.space == Space::Host) != isOut)
      return fault(isOut ? "a copy from the device to the host"
                         : "a copy from the host to the device",
                   from.name + " to " + to.name);
    if (from.bytes != to.bytes)
      return fault("equal sizes", std::to_string(from.bytes) + " and " +
                                      std::to_string(to.bytes) + " bytes");
    break;
  }
  case Kind::Record:
  case Kind::Wait:
    if (command.event < 0 || command.event >= schedule.numEvents)
      return fault("an event below " + std::to_string(schedule.numEvents),
                   std::to_string(command.event));
    break;
  }
  return {};
}

Status Verifier::checkShapes() {
  for (const Buffer &buffer : schedule.buffers) {
    auto fault = [&](const std::string &expected, const std::string &found) {
      return Error{buffer.name + ": expected " + expected + ", found " + found};
    };
    if (buffer.bytes < 1)
      return fault("at least 1 byte", std::to_string(buffer.bytes));
    if (buffer.begin < 0 || buffer.end > int(schedule.commands.size()))
      return fault("a lifetime within " +
                       std::to_string(schedule.commands.size()) + " commands",
                   "[" + std::to_string(buffer.begin) + ", " +
                       std::to_string(buffer.end) + ")");
    switch (buffer.space) {
    case Space::Arena:
      if (buffer.offset < 0 || buffer.offset % arenaAlignment != 0)
        return fault("an offset that is a multiple of " +
                         std::to_string(arenaAlignment),
                     std::to_string(buffer.offset));
      if (buffer.bytes > schedule.arenaBytes - buffer.offset)
        return fault("an end within the arena of " +
                         std::to_string(schedule.arenaBytes) + " bytes",
                     std::to_string(buffer.offset) + " + " +
                         std::to_string(buffer.bytes));
      break;
    case Space::External:
      if (buffer.external < 0 ||
          buffer.external >= int(schedule.externals.size()))
        return fault("one of the caller's tensors",
                     std::to_string(buffer.external));
      if (bufferOfExternal[buffer.external] >= 0)
        return fault("one buffer per tensor of the caller",
                     "a second one beside " +
                         bufferName(bufferOfExternal[buffer.external]));
      bufferOfExternal[buffer.external] =
          int(&buffer - schedule.buffers.data());
      break;
    case Space::Host:
      if (buffer.slot < 0 || buffer.slot >= int(schedule.slots.size()))
        return fault("a host slot below " +
                         std::to_string(schedule.slots.size()),
                     std::to_string(buffer.slot));
      if (buffer.bytes > schedule.slots[buffer.slot].bytes)
        return fault("a slot of at least " + std::to_string(buffer.bytes) +
                         " bytes",
                     std::to_string(schedule.slots[buffer.slot].bytes));
      break;
    }
  }
  if (schedule.forwardEnd < 0 ||
      schedule.forwardEnd > int(schedule.commands.size()))
    return Error{"the schedule: expected the forward to end within " +
                 std::to_string(schedule.commands.size()) +
                 " commands, found " + std::to_string(schedule.forwardEnd)};
  for (size_t c = 0; c < schedule.commands.size(); ++c)
    if (Status status = checkCommand(int(c)); !status.ok())
      return status;
  return {};
}

// Advances the clock of the command's stream.
Status Verifier::order(int index) {
  const Command &command = schedule.commands[index];
  int stream = int(command.stream);
  Clock &clock = now[stream];
  if (command.kind == Command::Kind::Wait) {
    int record = recordOf[command.event];
    if (record < 0)
      return Error{commandName(index) + ": expected event " +
                   std::to_string(command.event) +
                   " to be recorded before, found no record"};
    for (int s = 0; s < numStreams; ++s)
      clock[s] = std::max(clock[s], eventClock[command.event][s]);
  }
  startClock[index] = clock;
  position[index] = clock[stream]++;
  if (command.kind == Command::Kind::Record) {
    int &record = recordOf[command.event];
    if (record >= 0)
      return Error{commandName(index) + ": expected event " +
                   std::to_string(command.event) +
                   " to be recorded once, found " + commandName(record) +
                   " before"};
    record = index;
    eventClock[command.event] = clock;
  }
  return {};
}

Status Verifier::read(int index, int buffer) {
  History &past = history[buffer];
  const Buffer &info = schedule.buffers[buffer];
  bool isGiven = false;
  if (info.space == Space::External) {
    ExternalKind kind = schedule.externals[info.external].kind;
    isGiven = kind != ExternalKind::Output && kind != ExternalKind::Gradient;
  }
  if (past.writer < 0 && !isGiven)
    return Error{commandName(index) + " reads " + info.name +
                 ": expected a write before it, found none"};
  if (past.coveredBy >= 0)
    return Error{commandName(index) + " reads " + info.name +
                 ": expected what " + commandName(past.writer) +
                 " wrote, found that " + commandName(past.coveredBy) +
                 " wrote " + bufferName(past.coveringBuffer) +
                 " over it before"};
  if (past.writer >= 0 && !isBefore(past.writer, index))
    return Error{commandName(index) + " reads " + info.name +
                 ": expected to run after " + commandName(past.writer) +
                 ", which writes it, found nothing that orders them"};
  int &last = past.lastUser[int(schedule.commands[index].stream)];
  last = index;
  return {};
}

bool Verifier::mayShare(int index, int read, int written) const {
  const Command &command = schedule.commands[index];
  const Buffer &from = schedule.buffers[read];
  const Buffer &to = schedule.buffers[written];
  if (from.bytes != to.bytes || from.offset != to.offset)
    return false;
  // Every position that reads it, against every one that writes.
  int numReads = command.numReads;
  for (int r = 0; r < numReads; ++r)
    for (size_t w = numReads; w < command.buffers.size(); ++w)
      if (command.buffers[r] == read && command.buffers[w] == written &&
          std::find(command.inPlace.begin(), command.inPlace.end(),
                    std::make_pair(r, int(w) - numReads)) ==
              command.inPlace.end())
        return false;
  return true;
}

// `index` writes `written` over bytes of `covered`.
Status Verifier::cover(int index, int written, int covered) {
  History &past = history[covered];
  for (int user : past.lastUser) {
    if (user < 0 || isBefore(user, index))
      continue;
    if (user == index) {
      if (past.writer != index && mayShare(index, covered, written))
        continue;
      return Error{commandName(index) + ": expected " + bufferName(written) +
                   " and " + bufferName(covered) +
                   " apart, as both are its operands, found them on the same "
                   "bytes"};
    }
    return Error{commandName(index) + " writes " + bufferName(written) +
                 ": expected to run after " + commandName(user) +
                 ", which uses " + bufferName(covered) +
                 " in the same place, found nothing that orders them"};
  }
  if (covered != written && past.coveredBy < 0) {
    past.coveredBy = index;
    past.coveringBuffer = written;
  }
  return {};
}

Status Verifier::write(int index, int buffer) {
  const Buffer &info = schedule.buffers[buffer];
  switch (info.space) {
  case Space::Arena: {
    int64_t begin = info.offset, end = info.offset + info.bytes;
    auto at = pieces.lower_bound(begin);
    if (at != pieces.begin() && std::prev(at)->second.end > begin)
      --at;
    while (at != pieces.end() && at->first < end) {
      auto [from, piece] = *at;
      if (Status status = cover(index, buffer, piece.buffer); !status.ok())
        return status;
      at = pieces.erase(at);
      // The users of what is left over still count for the next write there.
      if (from < begin)
        pieces[from] = {begin, piece.buffer};
      if (piece.end > end)
        at = pieces.insert(at, {end, {piece.end, piece.buffer}});
    }
    pieces[begin] = {end, buffer};
    break;
  }
  case Space::Host: {
    int &contents = slotContents[info.slot];
    if (contents >= 0)
      if (Status status = cover(index, buffer, contents); !status.ok())
        return status;
    contents = buffer;
    break;
  }
  case Space::External:
    if (Status status = cover(index, buffer, buffer); !status.ok())
      return status;
    break;
  }
  History &past = history[buffer];
  past = History();
  past.writer = index;
  past.lastUser[int(schedule.commands[index].stream)] = index;
  return {};
}

Status Verifier::access(int index) {
  const Command &command = schedule.commands[index];
  for (int i = 0; i < command.numReads; ++i)
    if (command.buffers[i] >= 0)
      if (Status status = read(index, command.buffers[i]); !status.ok())
        return status;
  if (command.workspace >= 0)
    if (Status status = write(index, command.workspace); !status.ok())
      return status;
  for (size_t i = command.numReads; i < command.buffers.size(); ++i)
    if (command.buffers[i] >= 0)
      if (Status status = write(index, command.buffers[i]); !status.ok())
        return status;
  return {};
}

// Begin and end say no less than what the commands do.
Status Verifier::checkLifetimes() {
  for (size_t c = 0; c < schedule.commands.size(); ++c) {
    const Command &command = schedule.commands[c];
    auto check = [&](int index, bool isReplaced) -> Status {
      if (index < 0)
        return {};
      const Buffer &buffer = schedule.buffers[index];
      int at = int(c);
      if (at >= buffer.begin && at < buffer.end + isReplaced)
        return {};
      return Error{commandName(at) + " uses " + buffer.name +
                   ": expected a lifetime that covers it, found [" +
                   std::to_string(buffer.begin) + ", " +
                   std::to_string(buffer.end) + ")"};
    };
    for (size_t i = 0; i < command.buffers.size(); ++i) {
      bool isReplaced = false;
      for (auto [read, write] : command.inPlace)
        isReplaced |= int(i) == read;
      if (Status status = check(command.buffers[i], isReplaced); !status.ok())
        return status;
    }
    if (Status status = check(command.workspace, false); !status.ok())
      return status;
  }
  return checkOverlaps();
}

Status Verifier::checkOverlaps() {
  std::vector<int> order;
  for (size_t b = 0; b < schedule.buffers.size(); ++b)
    if (schedule.buffers[b].space == Space::Arena &&
        schedule.buffers[b].begin < schedule.buffers[b].end)
      order.push_back(int(b));
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return schedule.buffers[a].begin < schedule.buffers[b].begin;
  });
  // What is held at the moment, by offset, and when it ends.
  std::map<int64_t, int> held;
  std::multimap<int, int> ends;
  for (int b : order) {
    const Buffer &buffer = schedule.buffers[b];
    while (!ends.empty() && ends.begin()->first <= buffer.begin) {
      held.erase(schedule.buffers[ends.begin()->second].offset);
      ends.erase(ends.begin());
    }
    auto above = held.lower_bound(buffer.offset);
    int other = -1;
    if (above != held.end() && above->first < buffer.offset + buffer.bytes)
      other = above->second;
    if (above != held.begin()) {
      int below = std::prev(above)->second;
      if (schedule.buffers[below].offset + schedule.buffers[below].bytes >
          buffer.offset)
        other = below;
    }
    if (other >= 0)
      return Error{
          commandName(buffer.begin) + " begins " + buffer.name +
          ": expected its bytes free, found " + bufferName(other) +
          " there, which " + commandName(schedule.buffers[other].begin) +
          " began, until #" + std::to_string(schedule.buffers[other].end)};
    held[buffer.offset] = b;
    ends.insert({buffer.end, b});
  }
  return {};
}

Status Verifier::run() {
  if (Status status = checkShapes(); !status.ok())
    return status;
  for (size_t c = 0; c < schedule.commands.size(); ++c) {
    if (Status status = order(int(c)); !status.ok())
      return status;
    if (Status status = access(int(c)); !status.ok())
      return status;
  }
  for (int event = 0; event < schedule.numEvents; ++event)
    if (recordOf[event] < 0)
      return Error{"event " + std::to_string(event) +
                   ": expected it to be recorded once, found no record"};
  return checkLifetimes();
}

} // namespace

Status ckpt::rt::verify(const Schedule &schedule) {
  if (schedule.numEvents < 0)
    return Error{"the schedule: expected at least 0 events, found " +
                 std::to_string(schedule.numEvents)};
  return Verifier(schedule).run();
}
