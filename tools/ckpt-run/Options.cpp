//===- Options.cpp - what the command line asks for -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "CommandLine/Controls.h"
#include "CommandLine/OutputPaths.h"
#include "Plan/Policy.h"

#include <CLI/CLI.hpp>

#include <iostream>

using namespace ckpt;
using namespace ckpt::run;

namespace {

constexpr const char *description =
    "Runs one checkpointed training step - forward, backward, every gradient - "
    "and says what it costs. FILE is an artifact of ckpt-compile or block IR "
    "(.mlir, text or bytecode), which is compiled first.";

constexpr const char *examples =
    "Examples:\n"
    "  Plan without executing: what is kept, and the peak to the byte\n"
    "    ckpt-run examples/dit-3072.mlir --dim image=16384 --backend=torch-ffn "
    "\\\n      --plan-only --profile=h200\n"
    "  All policies side by side\n"
    "    ckpt-run examples/wan-1.3b.mlir --dim image=512 --dim text=64 "
    "--plan-only --policies\n"
    "  Run two blocks and hold every gradient against PyTorch in float64\n"
    "    ckpt-run examples/twins/dit-3072.mlir --dim image=64 --blocks=2 \\\n"
    "      --backend=unsloth --interval=2 --check\n"
    "  Published weights, given inputs, a picture of memory over time\n"
    "    ckpt-run minilm.ckpt --weights=model.safetensors "
    "--inputs=x.safetensors \\\n      --save-outputs=y.safetensors "
    "--picture=memory.svg\n"
    "\nExit codes: 0 done; 1 a check is out or the machine failed; 2 bad "
    "input.";

/// As text, so that what is no number is refused in our words.
struct Texts {
  tools::ControlTexts controls;
  std::string blocks, steps, repeat, seed, report;
  bool noGraph = false;
  std::vector<std::string> dims;
};

rt::Status parseDims(const std::vector<std::string> &dims,
                     rt::SizeValues &sizes) {
  for (const std::string &dim : dims) {
    size_t equals = dim.find('=');
    if (equals == std::string::npos || equals == 0)
      return rt::Error{"--dim: expected name=value, found '" + dim + "'"};
    std::string name = dim.substr(0, equals);
    rt::Result<int64_t> value =
        tools::parseInteger("--dim " + name, dim.substr(equals + 1));
    if (!value.ok())
      return value.takeError();
    if (!sizes.insert({name, *value}).second)
      return rt::Error{"--dim " + name +
                       ": expected one value, found a second one"};
  }
  return {};
}

rt::Status parseRun(const Texts &texts, Options &options) {
  std::optional<int64_t> steps, repeat, seed;
  for (auto [flag, text, value] :
       {std::tuple{"--steps", &texts.steps, &steps},
        std::tuple{"--repeat", &texts.repeat, &repeat},
        std::tuple{"--seed", &texts.seed, &seed},
        std::tuple{"--blocks", &texts.blocks, &options.blocks}}) {
    rt::Result<std::optional<int64_t>> parsed =
        tools::parseOptionalInteger(flag, *text);
    if (!parsed.ok())
      return parsed.takeError();
    *value = *parsed;
  }
  options.steps = steps.value_or(1);
  if (options.steps < 1)
    return rt::Error{"--steps: expected at least 1, found " + texts.steps};
  if (repeat.value_or(1) < 1)
    return rt::Error{"--repeat: expected at least 1, found " + texts.repeat};
  options.repeat = repeat.value_or(0);
  options.graph = !texts.noGraph;
  if (!options.target.empty() && options.target != "host" &&
      options.target != "nvptx")
    return rt::Error{"--target: expected host or nvptx, found " +
                     options.target};
  if (seed.value_or(0) < 0)
    return rt::Error{"--seed: expected at least 0, found " + texts.seed};
  options.seed = uint64_t(seed.value_or(0));
  if (!texts.report.empty() && texts.report != "json")
    return rt::Error{"--report: expected json, found " + texts.report};
  options.json = texts.report == "json";
  if (!options.planOnly)
    return {};
  // A flag that cannot act is an error.
  for (auto [flag, given] : {std::pair{"--check", options.check},
                             {"--steps", !texts.steps.empty()},
                             {"--repeat", !texts.repeat.empty()},
                             {"--no-graph", texts.noGraph},
                             {"--seed", !texts.seed.empty()},
                             {"--weights", !options.weights.empty()},
                             {"--inputs", !options.inputs.empty()},
                             {"--save-outputs", !options.saveOutputs.empty()},
                             {"--results", !options.results.empty()}})
    if (given)
      return rt::Error{std::string(flag) +
                       ": expected a step that is executed, found "
                       "--plan-only; leave one of them out"};
  return {};
}

/// What is executed on another machine is only checked here.
rt::Status checkResultsFlag(const Texts &texts, const Options &options) {
  if (options.results.empty())
    return {};
  if (!options.check)
    return rt::Error{"--results: expected --check beside it, found none"};
  for (auto [flag, given] : {std::pair{"--steps", !texts.steps.empty()},
                             {"--repeat", !texts.repeat.empty()},
                             {"--no-graph", texts.noGraph},
                             {"--save-outputs", !options.saveOutputs.empty()}})
    if (given)
      return rt::Error{std::string(flag) +
                       ": expected a step that is executed, found --results; "
                       "leave one of them out"};
  return {};
}

rt::Status parseTexts(const Texts &texts, Options &options) {
  ControlFlags &controls = options.controls;
  if (!texts.controls.backend.empty()) {
    rt::Result<rt::Backend> backend = rt::parseBackend(texts.controls.backend);
    if (!backend.ok())
      return backend.takeError();
    controls.backend = *backend;
  }
  rt::Result<tools::ControlCounts> counts = tools::parseCounts(texts.controls);
  if (!counts.ok())
    return counts.takeError();
  controls.counts = *counts;
  controls.attentionOnce = texts.controls.attentionOnce;
  controls.offloadAttention = texts.controls.offloadAttention;
  if (rt::Status status = parseDims(texts.dims, options.sizes); !status.ok())
    return status;
  if (rt::Status status = checkResultsFlag(texts, options); !status.ok())
    return status;
  return parseRun(texts, options);
}

void addOptions(CLI::App &app, Options &options, Texts &texts) {
  app.add_option("FILE", options.file, "An artifact or block IR")->required();

  tools::addControlFlags(app, "What is saved and how", texts.controls);

  const char *group = "What is run";
  app.add_option("--dim", texts.dims,
                 "name=value of a named size; once for each size")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--blocks", texts.blocks, "The first N blocks of each stack")
      ->group(group);
  app.add_option("--steps", texts.steps,
                 "Repeat the step; all must give the same bits")
      ->group(group);
  app.add_option("--repeat", texts.repeat,
                 "Time N further steps, back to back after a warm-up; the time "
                 "that is shown is their median, by the device")
      ->group(group);
  app.add_flag("--no-graph", texts.noGraph,
               "On a GPU, issue every command of a step by itself and not all "
               "as one CUDA graph")
      ->group(group);
  app.add_option("--target", options.target,
                 "What block IR is compiled for: host, or nvptx for an NVIDIA "
                 "GPU (H100, H200, GH200)")
      ->group(group);
  app.add_flag("--deterministic", options.deterministic,
               "Compile for nvptx so that every run gives the same bits")
      ->group(group);
  app.add_option("--seed", texts.seed,
                 "Seed of every tensor that no file gives, 0 when not given")
      ->group(group);
  app.add_option("--weights", options.weights,
                 "Parameters, from a safetensors file")
      ->group(group);
  app.add_option("--inputs", options.inputs,
                 "States and inputs, from a safetensors file; also incoming "
                 "gradients (grad.out.NAME) if it has them")
      ->group(group);
  app.add_option("--save-outputs", options.saveOutputs,
                 "Write results and gradients to a safetensors file")
      ->group(group);
  app.add_flag("--check", options.check,
               "Compare every result and gradient with PyTorch in float64")
      ->group(group);
  app.add_option("--results", options.results,
                 "With --check: execute nothing and compare what "
                 "--save-outputs wrote, perhaps on a machine without PyTorch")
      ->group(group);

  group = "What is shown";
  app.add_flag("--plan-only", options.planOnly,
               "Plan and predict; compile no kernel and execute nothing")
      ->group(group);
  app.add_option("--profile", options.profile,
                 "The machine that times are predicted for: host or h200; the "
                 "target's when not given")
      ->group(group);
  app.add_flag("--policies", options.policies,
               "A table of all policies: time, peak, host bytes, replayed ops")
      ->group(group);
  app.add_flag("--print-schedule", options.printSchedule,
               "Every command of the schedule")
      ->group(group);
  app.add_option("--report", texts.report,
                 "json: one object on standard output instead of text")
      ->group(group);
  app.add_option("--trace", options.trace,
                 "Write a trace for ui.perfetto.dev, measured when executed")
      ->group(group);
  app.add_option("--picture", options.picture,
                 "Write memory over time as an SVG")
      ->group(group);
}

} // namespace

std::optional<int> run::parseOptions(int argc, char **argv, Options &options) {
  CLI::App app(description);
  app.name("ckpt-run");
  app.set_version_flag("--version", "ckpt-run " CKPT_VERSION);
  app.footer(examples);
  Texts texts;
  addOptions(app, options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::cerr << "ckpt-run: error: " << error.what()
              << "; see ckpt-run --help\n";
    return exitBadInput;
  }
  rt::Status status = tools::checkValuesGiven(app);
  if (status.ok())
    status = parseTexts(texts, options);
  if (status.ok())
    status = tools::checkOutputs({{"--save-outputs", options.saveOutputs},
                                  {"--trace", options.trace},
                                  {"--picture", options.picture}},
                                 {{"FILE", options.file},
                                  {"--weights", options.weights},
                                  {"--inputs", options.inputs},
                                  {"--results", options.results}});
  if (status.ok())
    return std::nullopt;
  std::cerr << "ckpt-run: error: " << status.message() << "\n";
  return exitBadInput;
}

rt::Controls run::controlsOf(const ControlFlags &flags,
                             const rt::Controls &defaults) {
  rt::Controls controls = flags.backend ? rt::Controls() : defaults;
  if (flags.backend)
    controls.backend = *flags.backend;
  if (flags.counts.interval)
    controls.interval = flags.counts.interval;
  if (flags.counts.segmentStride)
    controls.segmentStride = flags.counts.segmentStride;
  if (flags.counts.pinMemoryMaxBuckets)
    controls.pinMemoryMaxBuckets = flags.counts.pinMemoryMaxBuckets;
  controls.attentionOnce |= flags.attentionOnce;
  controls.offloadAttention |= flags.offloadAttention;
  return controls;
}
