//===- Trace.cpp - a step in a trace viewer -------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/Trace.h"

#include "Report/MemoryUse.h"

#include <nlohmann/json.hpp>
#include <ostream>

using nlohmann::json;
using namespace ckpt::rt;

namespace {

constexpr int process = 1;

json nameThread(int thread, const char *name) {
  return {{"ph", "M"},
          {"name", "thread_name"},
          {"pid", process},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

const char *phaseName(TableEntry::Phase phase) {
  switch (phase) {
  case TableEntry::Phase::Forward:
    return "forward";
  case TableEntry::Phase::Replay:
    return "replay";
  case TableEntry::Phase::Backward:
    return "backward";
  }
  return "";
}

int64_t bytesMoved(const Schedule &schedule, const Command &command) {
  return schedule.buffers[command.buffers[0]].bytes;
}

json slice(const Program &program, const Schedule &schedule,
           const Command &command, std::pair<double, double> time) {
  json event = {{"ph", "X"},
                {"pid", process},
                {"tid", int(command.stream)},
                {"name", command.label},
                {"cat", phaseName(command.phase)},
                // Microseconds.
                {"ts", time.first * 1e6},
                {"dur", (time.second - time.first) * 1e6}};
  json &args = event["args"];
  args["phase"] = phaseName(command.phase);
  if (command.block >= 0)
    args["block"] = command.block;
  if (command.kind == Command::Kind::Launch)
    args["kernel"] = program.kernels[command.kernel].symbol;
  else
    args["bytes"] = bytesMoved(schedule, command);
  return event;
}

} // namespace

void ckpt::rt::writeTrace(const Program &program, const Schedule &schedule,
                          const std::vector<std::pair<double, double>> &times,
                          std::ostream &os) {
  json events = json::array();
  events.push_back(nameThread(int(StreamKind::Compute), "compute"));
  events.push_back(nameThread(int(StreamKind::CopyOut), "copy out"));
  events.push_back(nameThread(int(StreamKind::CopyIn), "copy in"));
  std::vector<HeldBytes> use = memoryUse(schedule);
  for (size_t i = 0; i < schedule.commands.size() && i < times.size(); ++i) {
    const Command &command = schedule.commands[i];
    if (command.kind == Command::Kind::Record ||
        command.kind == Command::Kind::Wait)
      continue;
    events.push_back(slice(program, schedule, command, times[i]));
    if (command.stream != StreamKind::Compute)
      continue;
    json held;
    for (int h = 0; h < numHoldings; ++h)
      held[nameOf(Holding(h))] = use[i][h];
    events.push_back({{"ph", "C"},
                      {"pid", process},
                      {"name", "arena bytes"},
                      {"ts", times[i].first * 1e6},
                      {"args", held}});
  }
  json trace = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  // Names come from a user's file and need not be UTF-8.
  os << trace.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
}
