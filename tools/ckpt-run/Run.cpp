//===- Run.cpp - plan, execute, check -------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "Execute.h"
#include "Progress.h"

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
  rt::Result<rt::Profile> profile = rt::profileNamed(
      options.profile.empty() ? rt::defaultProfile(program.target)
                              : options.profile);
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
  // Results of another run are checked without kernels.
  if (!loaded->program->hasCode() && options.results.empty()) {
    loaded = load(options);
    if (!loaded.ok())
      return badInput(loaded.message());
    outcome.program = loaded->program;
  }
  return execute(options, *loaded, outcome);
}
