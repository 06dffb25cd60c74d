//===- Print.cpp - what a run shows ---------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Print.h"

#include "Program/OutputFile.h"
#include "Report/MemoryPicture.h"
#include "Report/MemoryUse.h"
#include "Report/TextTable.h"
#include "Report/Trace.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <tuple>

using namespace ckpt;
using namespace ckpt::run;

namespace {

/// `[0-1] 2-3 [4]`: brackets around what is checkpointed together.
std::string formatSegments(const std::vector<rt::Segment> &segments) {
  std::string text;
  std::vector<int> plain;
  auto flush = [&] {
    if (!plain.empty())
      text += (text.empty() ? "" : " ") + rt::formatBlocks(plain);
    plain.clear();
  };
  for (const rt::Segment &segment : segments) {
    std::vector<int> blocks;
    for (int i = 0; i < segment.count; ++i)
      blocks.push_back(segment.first + i);
    if (!segment.checkpointed) {
      plain.insert(plain.end(), blocks.begin(), blocks.end());
      continue;
    }
    flush();
    text += (text.empty() ? "[" : " [") + rt::formatBlocks(blocks) + "]";
  }
  flush();
  return text;
}

std::string formatSizes(const rt::SizeValues &sizes) {
  std::string text;
  for (auto &[name, value] : sizes)
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  return text;
}

/// What the arena holds where it is fullest.
std::string formatPeak(const rt::Schedule &schedule,
                       const rt::Simulation &simulation) {
  if (schedule.commands.empty())
    return "";
  const rt::Command &command = schedule.commands[simulation.peakCommand];
  const char *phases[] = {"forward", "replay", "backward"};
  std::string text = "at " + command.label;
  if (command.block >= 0)
    text += " of block " + std::to_string(command.block);
  text += std::string(" (") + phases[int(command.phase)] + ")";
  rt::HeldBytes held = rt::memoryUse(schedule)[simulation.peakCommand];
  for (int h = 0; h < rt::numHoldings; ++h)
    if (held[h])
      text +=
          ", " + rt::formatBytes(held[h]) + " " + rt::nameOf(rt::Holding(h));
  return text;
}

void printCheck(const std::vector<rt::CheckedTensor> &tensors) {
  // Worst first; many gradients are alike.
  std::vector<rt::CheckedTensor> sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
    double aShare = a.error / a.bound, bShare = b.error / b.bound;
    return std::tuple(a.passed, -aShare, a.name) <
           std::tuple(b.passed, -bShare, b.name);
  });
  rt::TextTable table({"tensor", "error", "bound", "PyTorch's own", ""});
  auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", value);
    return std::string(text);
  };
  int out = 0;
  for (const rt::CheckedTensor &tensor : sorted) {
    out += !tensor.passed;
    table.add({tensor.name, number(tensor.error), number(tensor.bound),
               number(tensor.pytorchError), tensor.passed ? "ok" : "OUT"});
  }
  table.print(std::cout, "  ");
  std::cout << "check     "
            << (out ? std::to_string(out) + " of " : "passed, all ")
            << tensors.size() << " tensors "
            << (out ? "are out of their bounds" : "are within their bounds")
            << "\n";
}

void printText(const Outcome &outcome) {
  const rt::RunReport &report = outcome.report;
  const rt::Simulation &simulation = report.simulation;
  const rt::Schedule &schedule = *outcome.schedule;
  rt::printFates(report.fates, std::cout);
  std::cout << "\npolicy    " << rt::formatControls(report.controls)
            << "\nblocks    " << schedule.plan.blocks.size() << ", segments "
            << formatSegments(schedule.plan.segments) << "\nsizes     "
            << formatSizes(schedule.sizeValues) << "\nmemory    arena "
            << rt::formatBytes(schedule.arenaBytes) << " ("
            << schedule.arenaBytes << " bytes), the caller's tensors "
            << rt::formatBytes(simulation.externalBytes)
            << "\n          fullest " << formatPeak(schedule, simulation)
            << "\ncopies    " << rt::formatBytes(simulation.copiedToHost)
            << " to the host, " << rt::formatBytes(simulation.copiedToDevice)
            << " back\nreplayed  " << simulation.replayedOps
            << " ops\ntime      predicted "
            << rt::formatSeconds(simulation.seconds) << " on "
            << report.profile.name << ", of it waiting for copies "
            << rt::formatSeconds(simulation.exposedSeconds) << "\n";
  if (report.measuredSeconds)
    std::cout << "          measured "
              << rt::formatSeconds(*report.measuredSeconds) << " here";
  if (const std::optional<rt::Timing> &timing = report.timing)
    std::cout << ", " << rt::formatSeconds(timing->least) << " to "
              << rt::formatSeconds(timing->most) << " in " << timing->steps
              << " steps, enqueued in " << rt::formatSeconds(timing->issue)
              << (timing->isGraph ? " as a graph" : "");
  if (report.measuredSeconds)
    std::cout << "\n";
  if (report.deviceBytes)
    std::cout << "device    " << report.device << ", "
              << rt::formatBytes(*report.deviceBytes) << " in use, "
              << rt::formatBytes(*report.deviceBytesBeside) << " ("
              << *report.deviceBytesBeside
              << " bytes) of it beside arena and tensors\n";
  if (report.statistics) {
    const rt::PoolStatistics &pool = report.statistics->pool;
    std::cout << "touched   " << report.statistics->touched
              << " bytes of the arena\npool      "
              << rt::formatBytes(pool.pinnedBytes) << " pinned in "
              << pool.buckets << " sizes, " << pool.pageable
              << " pageable buffers, " << pool.hits << " hits, " << pool.misses
              << " misses, " << pool.fallbacks << " fallbacks\n";
  }
  if (report.digest)
    std::cout << "digest    " << *report.digest << "\n";
  if (report.policies) {
    std::cout << "\n";
    rt::printPolicies(*report.policies, std::cout);
  }
  if (report.check) {
    std::cout << "\n";
    printCheck(*report.check);
  }
}

rt::Status writeFile(const std::string &path, const std::string &text) {
  return rt::writeFile(path, text.data(), text.size());
}

} // namespace

bool run::printOutcome(const Options &options, const Outcome &outcome) {
  if (options.printSchedule)
    rt::print(*outcome.program, *outcome.schedule,
              options.json ? std::cerr : std::cout,
              outcome.report.profile.multiprocessors);
  if (options.json)
    std::cout << rt::jsonReport(*outcome.program, *outcome.schedule,
                                outcome.report)
              << "\n";
  else
    printText(outcome);
  return bool(std::cout.flush());
}

rt::Status run::writeFiles(const Options &options, const Outcome &outcome) {
  if (!options.trace.empty()) {
    std::ostringstream text;
    rt::writeTrace(*outcome.program, *outcome.schedule, outcome.times, text);
    if (rt::Status status = writeFile(options.trace, text.str()); !status.ok())
      return status;
  }
  if (options.picture.empty())
    return {};
  std::ostringstream text;
  std::string title = options.file.substr(options.file.rfind('/') + 1) + ", " +
                      rt::formatControls(outcome.report.controls) + ", " +
                      std::to_string(outcome.schedule->plan.blocks.size()) +
                      " blocks";
  rt::drawMemory(*outcome.schedule, outcome.times, title, text);
  return writeFile(options.picture, text.str());
}
