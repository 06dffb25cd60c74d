//===- PolicyTable.cpp - all policies side by side ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/PolicyTable.h"

#include "Report/TextTable.h"

#include <ostream>

using namespace ckpt::rt;

namespace {

/// The legal combinations; an implied one (attention-once beside
/// offload-attention) would only repeat a row.
std::vector<Controls> candidates(const Program &program,
                                 const Controls &given) {
  std::vector<Controls> all;
  for (Backend backend : {Backend::None, Backend::TorchFfn, Backend::UnslothFfn,
                          Backend::Torch, Backend::Unsloth}) {
    for (int flag = 0; flag < 3; ++flag) {
      Controls controls;
      controls.backend = backend;
      controls.attentionOnce = flag == 1;
      controls.offloadAttention = flag == 2;
      if (backend != Backend::None) {
        controls.interval = given.interval;
        controls.segmentStride = given.segmentStride;
      }
      if (checkControls(controls).ok() && checkControls(controls, program).ok())
        all.push_back(controls);
    }
  }
  return all;
}

} // namespace

std::string ckpt::rt::formatControls(const Controls &controls) {
  std::string text = nameOf(controls.backend);
  auto number = [&](const char *name, const std::optional<int64_t> &value) {
    if (value)
      text += std::string(" ") + name + "=" + std::to_string(*value);
  };
  number("interval", controls.interval);
  number("segment-stride", controls.segmentStride);
  if (controls.attentionOnce)
    text += " attention-once";
  if (controls.offloadAttention)
    text += " offload-attention";
  number("pin-memory-max-buckets", controls.pinMemoryMaxBuckets);
  return text;
}

int64_t ckpt::rt::hostBytesOf(const Schedule &schedule) {
  int64_t bytes = 0;
  for (const HostSlot &slot : schedule.slots)
    bytes += slot.bytes;
  return bytes;
}

Result<std::vector<PolicyRow>>
ckpt::rt::comparePolicies(const Program &program, const Controls &given,
                          std::optional<int64_t> limit, const SizeValues &sizes,
                          const Profile &profile) {
  std::vector<PolicyRow> rows;
  for (const Controls &controls : candidates(program, given)) {
    Result<PlannedStep> plan = applyPolicy(program, controls, limit);
    if (!plan.ok())
      return plan.takeError();
    Result<Schedule> schedule =
        instantiate(program, *plan, sizes, controls, profile);
    if (!schedule.ok())
      return schedule.takeError();
    Simulation simulation = simulate(program, *schedule, profile);
    PolicyRow row;
    row.controls = controls;
    row.seconds = simulation.seconds;
    row.exposedSeconds = simulation.exposedSeconds;
    row.peakBytes = simulation.peakBytes;
    row.hostBytes = hostBytesOf(*schedule);
    row.copiedToHost = simulation.copiedToHost;
    row.replayedOps = simulation.replayedOps;
    rows.push_back(row);
  }
  return rows;
}

void ckpt::rt::printPolicies(const std::vector<PolicyRow> &rows,
                             std::ostream &os) {
  TextTable table({"policy", "time", "waiting for copies", "peak",
                   "on the host", "replayed ops"});
  for (const PolicyRow &row : rows)
    table.add({formatControls(row.controls), formatSeconds(row.seconds),
               formatSeconds(row.exposedSeconds), formatBytes(row.peakBytes),
               formatBytes(row.hostBytes), std::to_string(row.replayedOps)});
  table.print(os);
}
