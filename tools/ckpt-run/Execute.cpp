//===- Execute.cpp - the step on its device -------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Execute.h"

#include "Check.h"
#include "Device/Devices.h"
#include "DeviceTensors.h"
#include "Progress.h"

#include <algorithm>

using namespace ckpt;
using namespace ckpt::run;

namespace {

/// Steps before those that are timed: they record the graph, and bring caches
/// and clocks to where they stay.
constexpr int64_t warmUpSteps = 3;

Failure failed(const std::string &message) { return {message, exitFailed}; }

double secondsOf(const rt::StepStatistics &statistics) {
  return statistics.forwardSeconds + statistics.backwardSeconds;
}

/// A step on the device with its tensors.
struct Execution {
  const Options &options;
  const Loaded &loaded;
  Outcome &outcome;
  std::shared_ptr<rt::Device> device;
  std::vector<Tensor> tensors;
  std::unique_ptr<DeviceTensors> onDevice;

  std::optional<Failure> run();
  std::optional<Failure> execute();
  rt::Result<rt::Step> make(const rt::StepOptions &stepOptions);
  std::optional<Failure> runSteps(rt::Step &step);
  std::optional<Failure> timeSteps();
  void takeMemory(const rt::Step &step);
};

rt::Result<rt::Step> Execution::make(const rt::StepOptions &stepOptions) {
  Progress progress("loading kernels");
  rt::Result<rt::Step> step =
      rt::Step::create(loaded.program, outcome.schedule, device, stepOptions);
  if (!step.ok())
    return step;
  if (rt::Status status = onDevice->bindTo(*step); !status.ok())
    return rt::Error{status.message()};
  return step;
}

/// Steps with the same tensors must give the same bits, where the program
/// promises that, and are each measured.
std::optional<Failure> Execution::runSteps(rt::Step &step) {
  rt::RunReport &report = outcome.report;
  std::vector<double> seconds;
  for (int64_t i = 0; i < options.steps; ++i) {
    {
      Progress progress("executing step " + std::to_string(i + 1) + " of " +
                            std::to_string(options.steps),
                        report.simulation.seconds);
      if (rt::Status status = step.run(); !status.ok())
        return failed(status.message());
    }
    seconds.push_back(secondsOf(step.statistics()));
    if (rt::Status status = onDevice->download(); !status.ok())
      return failed(status.message());
    std::string digest = digestOf(tensors);
    if (loaded.program->deterministic && report.digest &&
        *report.digest != digest)
      return failed("step " + std::to_string(i + 1) + ": expected the bits " +
                    *report.digest + " of the steps before, found " + digest);
    report.digest = digest;
  }
  std::sort(seconds.begin(), seconds.end());
  report.measuredSeconds = seconds[seconds.size() / 2];
  report.statistics = step.statistics();
  return std::nullopt;
}

/// On a step of its own, which poisons nothing.
std::optional<Failure> Execution::timeSteps() {
  rt::StepOptions stepOptions;
  stepOptions.graph = options.graph;
  rt::Result<rt::Step> step = make(stepOptions);
  if (!step.ok())
    return failed(step.message());
  std::vector<double> seconds, issue;
  Progress progress("timing steps");
  for (int64_t i = -warmUpSteps; i < options.repeat; ++i) {
    if (rt::Status status = step->run(); !status.ok())
      return failed(status.message());
    progress.set(i + warmUpSteps + 1, options.repeat + warmUpSteps);
    if (i < 0)
      continue;
    rt::StepStatistics statistics = step->statistics();
    seconds.push_back(secondsOf(statistics));
    issue.push_back(statistics.issueSeconds);
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(issue.begin(), issue.end());
  rt::Timing timing;
  timing.steps = options.repeat;
  timing.least = seconds.front();
  timing.most = seconds.back();
  timing.issue = issue[issue.size() / 2];
  timing.isGraph = step->statistics().graphRuns > 0;
  outcome.report.timing = timing;
  outcome.report.measuredSeconds = seconds[seconds.size() / 2];
  takeMemory(*step);
  return std::nullopt;
}

void Execution::takeMemory(const rt::Step &step) {
  std::optional<int64_t> inUse = device->bytesInUse();
  if (!inUse)
    return;
  outcome.report.deviceBytes = *inUse;
  outcome.report.deviceBytesBeside =
      *inUse - step.statistics().allocatedBytes - onDevice->bytes();
}

std::optional<Failure> Execution::execute() {
  rt::Result<std::shared_ptr<rt::Device>> made =
      rt::createDevice(rt::deviceFor(loaded.program->target));
  if (!made.ok())
    return failed(made.message());
  device = *made;
  outcome.report.device = device->name();
  onDevice = std::make_unique<DeviceTensors>(device, tensors,
                                             loaded.program->target == "host");
  if (rt::Status status = onDevice->upload(); !status.ok())
    return failed(status.message());

  rt::StepOptions stepOptions;
  // What was touched is always measured; a check also proves that nothing is
  // read after its life has ended.
  stepOptions.poison = options.check ? rt::Poison::Freed : rt::Poison::Start;
  stepOptions.measure = !options.trace.empty() || !options.picture.empty();
  stepOptions.graph = options.graph;
  {
    // Gives its memory back before the steps that are timed.
    rt::Result<rt::Step> step = make(stepOptions);
    if (!step.ok())
      return failed(step.message());
    if (std::optional<Failure> failure = runSteps(*step))
      return failure;
    if (stepOptions.measure)
      outcome.times = step->times();
    takeMemory(*step);
  }
  if (options.repeat)
    if (std::optional<Failure> failure = timeSteps())
      return failure;
  if (!options.saveOutputs.empty())
    if (rt::Status status = saveResults(tensors, options.saveOutputs);
        !status.ok())
      return failed(status.message());
  return std::nullopt;
}

std::optional<Failure> Execution::run() {
  rt::Result<std::vector<Tensor>> filled =
      makeTensors(*outcome.schedule, options);
  if (!filled.ok())
    return Failure{filled.message(), exitBadInput};
  tensors = std::move(*filled);
  if (options.results.empty()) {
    if (std::optional<Failure> failure = execute())
      return failure;
  } else {
    if (rt::Status status = readResults(tensors, options.results); !status.ok())
      return Failure{status.message(), exitBadInput};
    outcome.report.digest = digestOf(tensors);
  }
  if (!options.check)
    return std::nullopt;
  rt::Result<std::vector<rt::CheckedTensor>> checked =
      checkResults(loaded, options, *outcome.schedule, tensors);
  if (!checked.ok())
    return failed(checked.message());
  outcome.report.check = *checked;
  return std::nullopt;
}

} // namespace

std::optional<Failure> run::execute(const Options &options,
                                    const Loaded &loaded, Outcome &outcome) {
  if (!loaded.program->hasCode() && options.results.empty())
    return Failure{options.file +
                       ": expected kernels, found an artifact that was "
                       "compiled for planning only; add --plan-only",
                   exitBadInput};
  Execution execution{options, loaded, outcome, {}, {}, {}};
  return execution.run();
}
