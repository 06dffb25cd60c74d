//===- Print.cpp - a schedule as text -------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Alternatives.h"
#include "Schedule/Draft.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>

using namespace ckpt::rt;

namespace {

/// `#`, stream, command, waits, arena, note.
using Line = std::array<std::string, 6>;

std::string humanBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.4g %s", value,
                units[unit]);
  return text;
}

class Printer {
public:
  Printer(const Program &program, const Schedule &schedule,
          int64_t multiprocessors)
      : program(program), schedule(schedule), multiprocessors(multiprocessors),
        recordOf(schedule.numEvents, -1) {
    for (size_t c = 0; c < schedule.commands.size(); ++c)
      if (schedule.commands[c].kind == Command::Kind::Record)
        recordOf[schedule.commands[c].event] = int(c);
  }

  Line lineOf(int index) const;

private:
  std::string nameOf(int buffer) const {
    return buffer < 0 ? "-" : schedule.buffers[buffer].name;
  }
  std::string commandText(const Command &command) const;
  std::string arenaText(int buffer) const;

  const Program &program;
  const Schedule &schedule;
  const int64_t multiprocessors;
  std::vector<int> recordOf;
};

std::string Printer::commandText(const Command &command) const {
  switch (command.kind) {
  case Command::Kind::Launch: {
    std::string text = command.label;
    if (command.block >= 0)
      text += " b" + std::to_string(command.block);
    text += " ";
    for (int i = 0; i < command.numReads; ++i)
      text += " " + nameOf(command.buffers[i]);
    text += " ->";
    for (size_t i = command.numReads; i < command.buffers.size(); ++i)
      text += " " + nameOf(command.buffers[i]);
    return text;
  }
  case Command::Kind::Fill:
    return "zero  -> " + nameOf(command.buffers[0]);
  case Command::Kind::CopyOut:
    return "copy  " + nameOf(command.buffers[0]) + " -> slot " +
           std::to_string(schedule.buffers[command.buffers[1]].slot);
  case Command::Kind::CopyIn:
    return "copy  slot " +
           std::to_string(schedule.buffers[command.buffers[0]].slot) + " -> " +
           nameOf(command.buffers[1]);
  case Command::Kind::Record:
    return "record e" + std::to_string(command.event);
  case Command::Kind::Wait:
    return "wait e" + std::to_string(command.event);
  }
  return "";
}

std::string Printer::arenaText(int index) const {
  if (index < 0 || schedule.buffers[index].space != Space::Arena)
    return "";
  const Buffer &buffer = schedule.buffers[index];
  return nameOf(index) + "@" + std::to_string(buffer.offset) + ".." +
         std::to_string(buffer.offset + buffer.bytes) + " (" +
         humanBytes(buffer.bytes) + ")";
}

Line Printer::lineOf(int index) const {
  const Command &command = schedule.commands[index];
  const char *streams[] = {"compute", "out", "in"};
  Line line;
  line[0] = std::to_string(index);
  line[1] = streams[int(command.stream)];
  line[2] = commandText(command);
  if (command.kind == Command::Kind::Wait)
    line[3] = "after " + std::to_string(recordOf[command.event]);
  auto append = [](std::string &to, const std::string &text) {
    if (!text.empty())
      to += (to.empty() ? "" : ", ") + text;
  };
  bool isMemory = command.kind != Command::Kind::Record &&
                  command.kind != Command::Kind::Wait;
  if (isMemory)
    for (size_t i = command.numReads; i < command.buffers.size(); ++i)
      append(line[4], arenaText(command.buffers[i]));
  append(line[4], arenaText(command.workspace));

  if (command.kind == Command::Kind::Launch) {
    const Kernel &kernel = program.kernels[command.kernel];
    std::string alternative =
        chosenAlternative(kernel, schedule.sizeValues, multiprocessors);
    append(line[5], kernel.symbol);
    if (!alternative.empty())
      line[5] += " (" + alternative + ")";
    for (auto [read, write] : command.inPlace) {
      int to = command.buffers[command.numReads + write];
      append(line[5], command.buffers[read] == to
                          ? nameOf(to) + " adds up in place"
                          : nameOf(to) + " in place of " +
                                nameOf(command.buffers[read]));
    }
    if (command.phase == TableEntry::Phase::Replay)
      append(line[5], "replay");
  }
  if (command.kind == Command::Kind::CopyOut) {
    const Buffer &host = schedule.buffers[command.buffers[1]];
    append(line[5], schedule.slots[host.slot].pinned ? "pinned" : "pageable");
  }
  return line;
}

} // namespace

void ckpt::rt::print(const Program &program, const Schedule &schedule,
                     std::ostream &os, int64_t multiprocessors) {
  Printer printer(program, schedule, multiprocessors);
  std::vector<Line> lines{
      {"#", "stream", "command", "waits", "arena (bytes)", "note"}};
  for (size_t c = 0; c < schedule.commands.size(); ++c)
    lines.push_back(printer.lineOf(int(c)));
  std::array<size_t, 6> width{};
  for (const Line &line : lines)
    for (size_t column = 0; column < line.size(); ++column)
      width[column] = std::max(width[column], line[column].size());

  auto border = [&](const char *text) {
    os << std::string(width[0] + 2, ' ') << "---- " << text << " ----\n";
  };
  for (size_t l = 0; l < lines.size(); ++l) {
    if (int(l) == schedule.forwardEnd + 1)
      border("the forward ends, the gradients of the outputs come in");
    const Line &line = lines[l];
    // The number to the right, all else to the left, no blanks at the end.
    std::string text = std::string(width[0] - line[0].size(), ' ') + line[0];
    for (size_t column = 1; column < line.size(); ++column)
      text += "  " + line[column] +
              std::string(width[column] - line[column].size(), ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    os << text << "\n";
  }
  os << "arena " << schedule.arenaBytes << " bytes ("
     << humanBytes(schedule.arenaBytes) << "), " << schedule.slots.size()
     << " host slots, " << schedule.numEvents << " events\n";
}
