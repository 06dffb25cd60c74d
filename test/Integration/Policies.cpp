//===- Policies.cpp - run a program under any controls --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"

#include "Device/Host/HostDevice.h"
#include "Plan/Policy.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace ckpt;

std::string test::describe(const rt::Controls &controls) {
  std::ostringstream text;
  text << "--backend=" << rt::nameOf(controls.backend);
  if (controls.interval)
    text << " --interval=" << *controls.interval;
  if (controls.segmentStride)
    text << " --segment-stride=" << *controls.segmentStride;
  text << (controls.attentionOnce ? " --attention-once" : "")
       << (controls.offloadAttention ? " --offload-attention" : "");
  if (controls.pinMemoryMaxBuckets)
    text << " --pin-memory-max-buckets=" << *controls.pinMemoryMaxBuckets;
  return text.str();
}

rt::Result<test::PolicyRun> test::runPolicy(const run::Loaded &loaded,
                                            const run::Options &options,
                                            const rt::Controls &controls) {
  const rt::Program &program = *loaded.program;
  rt::Result<rt::SizeValues> sizes = rt::bindSizes(program, options.sizes);
  if (!sizes.ok())
    return sizes.takeError();
  rt::Result<rt::PlannedStep> plan =
      rt::applyPolicy(program, controls, options.blocks);
  if (!plan.ok())
    return plan.takeError();
  rt::Profile profile = *rt::profileNamed("host");
  rt::Result<rt::Schedule> made =
      rt::instantiate(program, *plan, *sizes, controls, profile);
  if (!made.ok())
    return made.takeError();
  PolicyRun result;
  result.schedule = std::make_shared<rt::Schedule>(std::move(*made));
  result.simulation = rt::simulate(program, *result.schedule, profile);
  rt::Result<std::vector<run::Tensor>> tensors =
      run::makeTensors(*result.schedule, options);
  if (!tensors.ok())
    return tensors.takeError();
  result.tensors = std::move(*tensors);
  rt::StepOptions stepOptions;
  stepOptions.poison = rt::Poison::Freed;
  // Creating a step verifies its schedule.
  rt::Result<rt::Step> step =
      rt::Step::create(loaded.program, result.schedule,
                       std::make_shared<rt::HostDevice>(), stepOptions);
  if (!step.ok())
    return step.takeError();
  for (run::Tensor &tensor : result.tensors)
    if (rt::Status status =
            step->bind(tensor.external.name, tensor.data.get(), tensor.bytes);
        !status.ok())
      return rt::Error{status.message()};
  if (rt::Status status = step->run(); !status.ok())
    return rt::Error{status.message()};
  result.statistics = step->statistics();
  result.digest = run::digestOf(result.tensors);
  return result;
}

rt::Result<run::Loaded> test::compileText(const std::string &text,
                                          const std::string &name,
                                          run::Options &options) {
  std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("ckpt-" + name + "-" + std::to_string(getpid()) + ".mlir");
  std::ofstream(file) << text;
  options.file = file.string();
  rt::Result<run::Loaded> loaded = run::load(options);
  std::filesystem::remove(file);
  return loaded;
}
