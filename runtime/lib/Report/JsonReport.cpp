//===- JsonReport.cpp - everything about a run in one object --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/JsonReport.h"

#include "Program/Alternatives.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using nlohmann::json;
using namespace ckpt::rt;

namespace {

template <typename T>
json orNull(const std::optional<T> &value) {
  return value ? json(*value) : json();
}

json controlsJson(const Controls &controls) {
  return {{"backend", nameOf(controls.backend)},
          {"interval", orNull(controls.interval)},
          {"segment_stride", orNull(controls.segmentStride)},
          {"attention_once", controls.attentionOnce},
          {"offload_attention", controls.offloadAttention},
          {"pin_memory_max_buckets", orNull(controls.pinMemoryMaxBuckets)}};
}

json fatesJson(const std::vector<FateGroup> &groups) {
  json all = json::array();
  for (const FateGroup &group : groups) {
    json values = json::array();
    for (const FateRow &row : group.rows)
      values.push_back({{"name", row.value},
                        {"bytes", row.bytes},
                        {"fate", nameOf(row.fate)},
                        {"reason", row.reason}});
    all.push_back({{"kind", group.kind},
                   {"role", group.role},
                   {"blocks", group.blocks},
                   {"values", values}});
  }
  return all;
}

json policiesJson(const std::vector<PolicyRow> &rows) {
  json all = json::array();
  for (const PolicyRow &row : rows)
    all.push_back({{"policy", formatControls(row.controls)},
                   {"controls", controlsJson(row.controls)},
                   {"time", row.seconds},
                   {"exposed", row.exposedSeconds},
                   {"peak", row.peakBytes},
                   {"host_bytes", row.hostBytes},
                   {"copied_to_host", row.copiedToHost},
                   {"replayed_ops", row.replayedOps}});
  return all;
}

json checkJson(const std::vector<CheckedTensor> &tensors) {
  // JSON has no infinity and no NaN, which an error may be.
  auto finite = [](double value) {
    return std::isfinite(value) ? json(value) : json();
  };
  json all = json::array();
  bool passed = true;
  for (const CheckedTensor &tensor : tensors) {
    passed &= tensor.passed;
    all.push_back({{"name", tensor.name},
                   {"error", finite(tensor.error)},
                   {"pytorch_error", finite(tensor.pytorchError)},
                   {"bound", finite(tensor.bound)},
                   {"passed", tensor.passed}});
  }
  return {{"passed", passed}, {"tensors", all}};
}

/// What executing adds to what planning knows.
void addRun(json &j, const StepStatistics &statistics) {
  const PoolStatistics &pool = statistics.pool;
  j["peak"]["touched"] = statistics.touched;
  // What was executed, of one step.
  if (int64_t steps = statistics.backwards) {
    j["copied"] = {{"to_host", statistics.copiedToHost / steps},
                   {"to_device", statistics.copiedToDevice / steps}};
    j["replayed_ops"] = statistics.replayedOps / steps;
  }
  j["pool"] = {{"pinned_bytes", pool.pinnedBytes},
               {"buckets", pool.buckets},
               {"hits", pool.hits},
               {"misses", pool.misses},
               {"pageable", pool.pageable},
               {"pageable_bytes", pool.pageableBytes},
               {"fallbacks", pool.fallbacks}};
}

/// How each kernel of the step runs on the profile's GPU.
json alternativesJson(const Program &program, const Schedule &schedule,
                      const Profile &profile) {
  json all = json::object();
  for (const Command &command : schedule.commands)
    if (command.kind == Command::Kind::Launch) {
      const Kernel &kernel = program.kernels[command.kernel];
      std::string name = chosenAlternative(kernel, schedule.sizeValues,
                                           profile.multiprocessors);
      if (!name.empty())
        all[kernel.symbol] = name;
    }
  return all;
}

} // namespace

std::string ckpt::rt::jsonReport(const Program &program,
                                 const Schedule &schedule,
                                 const RunReport &report) {
  const Simulation &simulation = report.simulation;
  json j;
  j["controls"] = controlsJson(report.controls);
  j["profile"] = report.profile.name;
  j["target"] = program.target;
  j["blocks"] = schedule.plan.blocks.size();
  j["sizes"] = schedule.sizeValues;
  j["segments"] = json::array();
  for (const Segment &segment : schedule.plan.segments)
    if (segment.checkpointed)
      j["segments"].push_back(
          {segment.first, segment.first + segment.count - 1});
  j["peak"] = {{"predicted", simulation.peakBytes},
               {"arena", schedule.arenaBytes},
               {"touched", nullptr},
               {"live", simulation.liveBytes},
               {"held", simulation.heldBytes}};
  j["external_bytes"] = simulation.externalBytes;
  j["host_bytes"] = hostBytesOf(schedule);
  j["copied"] = {{"to_host", simulation.copiedToHost},
                 {"to_device", simulation.copiedToDevice}};
  j["replayed_ops"] = simulation.replayedOps;
  j["commands"] = schedule.commands.size();
  j["pool"] = nullptr;
  if (report.statistics)
    addRun(j, *report.statistics);
  j["time"] = {{"predicted", simulation.seconds},
               {"exposed", simulation.exposedSeconds},
               {"measured", orNull(report.measuredSeconds)}};
  if (const std::optional<Timing> &timing = report.timing) {
    j["time"]["steps"] = timing->steps;
    j["time"]["least"] = timing->least;
    j["time"]["most"] = timing->most;
    j["time"]["issue"] = timing->issue;
    j["time"]["graph"] = timing->isGraph;
  }
  if (!report.device.empty())
    j["device"] = {{"name", report.device},
                   {"in_use", orNull(report.deviceBytes)},
                   {"beside", orNull(report.deviceBytesBeside)}};
  j["digest"] = orNull(report.digest);
  j["check"] = report.check ? checkJson(*report.check) : json();
  j["fates"] = fatesJson(report.fates);
  j["alternatives"] = alternativesJson(program, schedule, report.profile);
  if (report.policies)
    j["policies"] = policiesJson(*report.policies);
  // Names come from a user's file and need not be UTF-8.
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}
