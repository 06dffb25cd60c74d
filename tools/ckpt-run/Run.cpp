//===- Run.cpp - plan, execute, check -------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "Check.h"
#include "Device/Host/HostDevice.h"
#include "Progress.h"
#include "Tensors.h"

#include <algorithm>

using namespace ckpt;
using namespace ckpt::run;

namespace {

Failure badInput(const std::string &message) { return {message, exitBadInput}; }
Failure failed(const std::string &message) { return {message, exitFailed}; }

std::optional<Failure> plan(const Options &options, const Loaded &loaded,
                            Outcome &outcome) {
  const rt::Program &program = *loaded.program;
  rt::RunReport &report = outcome.report;
  report.controls = controlsOf(options.controls, program.defaults);
  rt::Result<rt::Profile> profile = rt::profileNamed(options.profile);
  if (!profile.ok())
    return badInput(profile.message());
  report.profile = *profile;
  rt::Result<rt::SizeValues> sizes = rt::bindSizes(program, options.sizes);
  if (!sizes.ok())
    return badInput(sizes.message());
  rt::Result<rt::PlannedStep> planned =
      rt::applyPolicy(program, report.controls, options.blocks);
  if (!planned.ok())
    return badInput(planned.message());
  rt::Result<rt::Schedule> schedule = rt::instantiate(
      program, *planned, *sizes, report.controls, report.profile);
  if (!schedule.ok())
    return badInput(schedule.message());
  outcome.program = loaded.program;
  outcome.schedule = std::make_shared<rt::Schedule>(std::move(*schedule));
  if (rt::Status status = rt::verify(*outcome.schedule); !status.ok())
    return failed(status.message());
  report.simulation = rt::simulate(program, *outcome.schedule, report.profile);
  outcome.times = report.simulation.times;
  report.fates = rt::fateTable(program, *planned, *sizes, report.controls);
  if (!options.policies)
    return std::nullopt;
  Progress progress("comparing policies");
  rt::Result<std::vector<rt::PolicyRow>> rows = rt::comparePolicies(
      program, report.controls, options.blocks, *sizes, report.profile);
  if (!rows.ok())
    return badInput(rows.message());
  report.policies = *rows;
  return std::nullopt;
}

/// Steps with the same tensors must give the same bits and are each measured.
std::optional<Failure> runSteps(const Options &options, rt::Step &step,
                                std::vector<Tensor> &tensors,
                                rt::RunReport &report) {
  std::vector<double> seconds;
  for (int64_t i = 0; i < options.steps; ++i) {
    {
      Progress progress("executing step " + std::to_string(i + 1) + " of " +
                            std::to_string(options.steps),
                        report.simulation.seconds);
      if (rt::Status status = step.run(); !status.ok())
        return failed(status.message());
    }
    rt::StepStatistics statistics = step.statistics();
    seconds.push_back(statistics.forwardSeconds + statistics.backwardSeconds);
    std::string digest = digestOf(tensors);
    if (report.digest && *report.digest != digest)
      return failed("step " + std::to_string(i + 1) + ": expected the bits " +
                    *report.digest + " of the steps before, found " + digest);
    report.digest = digest;
  }
  std::sort(seconds.begin(), seconds.end());
  report.measuredSeconds = seconds[seconds.size() / 2];
  report.statistics = step.statistics();
  return std::nullopt;
}

std::optional<Failure> execute(const Options &options, const Loaded &loaded,
                               Outcome &outcome) {
  if (loaded.program->object.empty())
    return badInput(options.file +
                    ": expected kernels, found an artifact that was compiled "
                    "for planning only; add --plan-only");
  rt::Result<std::vector<Tensor>> tensors =
      makeTensors(*outcome.schedule, options);
  if (!tensors.ok())
    return badInput(tensors.message());
  rt::StepOptions stepOptions;
  // What was touched is always measured; a check also proves that nothing is
  // read after its life has ended.
  stepOptions.poison = options.check ? rt::Poison::Freed : rt::Poison::Start;
  stepOptions.measure = !options.trace.empty() || !options.picture.empty();
  rt::Result<rt::Step> step =
      rt::Step::create(loaded.program, outcome.schedule,
                       std::make_shared<rt::HostDevice>(), stepOptions);
  if (!step.ok())
    return failed(step.message());
  for (Tensor &tensor : *tensors)
    if (rt::Status status =
            step->bind(tensor.external.name, tensor.data.get(), tensor.bytes);
        !status.ok())
      return failed(status.message());
  if (std::optional<Failure> failure =
          runSteps(options, *step, *tensors, outcome.report))
    return failure;
  if (stepOptions.measure)
    outcome.times = step->times();
  if (!options.saveOutputs.empty())
    if (rt::Status status = saveResults(*tensors, options.saveOutputs);
        !status.ok())
      return failed(status.message());
  if (!options.check)
    return std::nullopt;
  rt::Result<std::vector<rt::CheckedTensor>> checked =
      checkResults(loaded, options, *outcome.schedule, *tensors);
  if (!checked.ok())
    return failed(checked.message());
  outcome.report.check = *checked;
  return std::nullopt;
}

} // namespace

std::optional<Failure> run::run(const Options &options, Outcome &outcome) {
  // What needs no program is refused before one is compiled.
  if (options.controls.backend)
    if (rt::Status status = rt::checkControls(controlsOf(options.controls, {}));
        !status.ok())
      return badInput(status.message());
  // So is what needs no kernels: those of block IR take long to compile.
  Options planning = options;
  planning.planOnly = true;
  rt::Result<Loaded> loaded = load(planning);
  if (!loaded.ok())
    return badInput(loaded.message());
  if (std::optional<Failure> failure = plan(options, *loaded, outcome))
    return failure;
  if (options.planOnly)
    return std::nullopt;
  if (loaded->program->object.empty()) {
    loaded = load(options);
    if (!loaded.ok())
      return badInput(loaded.message());
    outcome.program = loaded->program;
  }
  return execute(options, *loaded, outcome);
}
