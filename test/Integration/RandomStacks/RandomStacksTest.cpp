//===- RandomStacksTest.cpp - every policy on random stacks ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Sixty stacks, each compiled once and run under every legal combination of
// controls that is worth telling apart: the bits of all outputs and gradients
// are those of `none`, and those are within the oracle's bound. A failure
// prints the seed and the blocks; --gtest_filter=*/17 runs seed 17 alone.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Device/Host/HostDevice.h"
#include "Executor/Step.h"
#include "Load.h"
#include "Plan/Policy.h"
#include "RandomStack.h"
#include "Tensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace ckpt;

namespace {

constexpr int numStacks = 60;

/// Every backend x interval and stride x attention flags that the program
/// allows; `none` first.
std::vector<rt::Controls> legalControls(const rt::Program &program) {
  using Count = std::optional<int64_t>;
  const std::pair<Count, Count> groupings[] = {
      {std::nullopt, std::nullopt}, {2, std::nullopt}, {2, 3}};
  std::vector<rt::Controls> legal;
  for (rt::Backend backend :
       {rt::Backend::None, rt::Backend::Torch, rt::Backend::TorchFfn,
        rt::Backend::Unsloth, rt::Backend::UnslothFfn})
    for (auto [interval, stride] : groupings)
      for (int attention = 0; attention < 3; ++attention) {
        rt::Controls controls;
        controls.backend = backend;
        controls.interval = interval;
        controls.segmentStride = stride;
        controls.attentionOnce = attention == 1;
        controls.offloadAttention = attention == 2;
        if (rt::checkControls(controls).ok() &&
            rt::checkControls(controls, program).ok())
          legal.push_back(controls);
      }
  return legal;
}

std::string describe(const rt::Controls &controls) {
  std::ostringstream text;
  text << "--backend=" << rt::nameOf(controls.backend);
  if (controls.interval)
    text << " --interval=" << *controls.interval;
  if (controls.segmentStride)
    text << " --segment-stride=" << *controls.segmentStride;
  text << (controls.attentionOnce ? " --attention-once" : "")
       << (controls.offloadAttention ? " --offload-attention" : "");
  return text.str();
}

class RandomStacks : public testing::TestWithParam<int> {
protected:
  /// Results of a step under `controls`; none after a failure.
  std::vector<run::Tensor> execute(const rt::Controls &controls);

  run::Options options;
  run::Loaded loaded;
  std::shared_ptr<rt::Schedule> schedule;
};

std::vector<run::Tensor> RandomStacks::execute(const rt::Controls &controls) {
  const rt::Program &program = *loaded.program;
  auto fail = [](const std::string &message) {
    ADD_FAILURE() << message;
    return std::vector<run::Tensor>();
  };
  rt::Result<rt::SizeValues> sizes = rt::bindSizes(program, options.sizes);
  if (!sizes.ok())
    return fail(sizes.message());
  rt::Result<rt::PlannedStep> plan =
      rt::applyPolicy(program, controls, std::nullopt);
  if (!plan.ok())
    return fail(plan.message());
  rt::Result<rt::Schedule> made = rt::instantiate(
      program, *plan, *sizes, controls, *rt::profileNamed("host"));
  if (!made.ok())
    return fail(made.message());
  schedule = std::make_shared<rt::Schedule>(std::move(*made));
  rt::Result<std::vector<run::Tensor>> tensors =
      run::makeTensors(*schedule, options);
  if (!tensors.ok())
    return fail(tensors.message());
  rt::StepOptions stepOptions;
  stepOptions.poison = rt::Poison::Freed;
  rt::Result<rt::Step> step = rt::Step::create(
      loaded.program, schedule, std::make_shared<rt::HostDevice>(),
      stepOptions);
  if (!step.ok())
    return fail(step.message());
  for (run::Tensor &tensor : *tensors)
    if (rt::Status status =
            step->bind(tensor.external.name, tensor.data.get(), tensor.bytes);
        !status.ok())
      return fail(status.message());
  if (rt::Status status = step->run(); !status.ok())
    return fail(status.message());
  EXPECT_LE(step->statistics().touched, schedule->arenaBytes);
  return std::move(*tensors);
}

TEST_P(RandomStacks, EveryPolicyHasTheBitsOfNone) {
  test::RandomStack stack = test::makeRandomStack(GetParam());
  std::ostringstream trace;
  trace << "seed " << GetParam() << ", sizes";
  for (auto &[name, value] : stack.sizes)
    trace << " " << name << "=" << value;
  SCOPED_TRACE(trace.str() + "\n" + stack.text);

  std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("ckpt-random-" + std::to_string(getpid()) + ".mlir");
  std::ofstream(file) << stack.text;
  options.file = file.string();
  options.sizes = stack.sizes;
  options.seed = GetParam();
  rt::Result<run::Loaded> compiled = run::load(options);
  std::filesystem::remove(file);
  ASSERT_TRUE(compiled.ok()) << compiled.message();
  loaded = *compiled;

  std::string expected;
  for (const rt::Controls &controls : legalControls(*loaded.program)) {
    SCOPED_TRACE(describe(controls));
    std::vector<run::Tensor> tensors = execute(controls);
    ASSERT_FALSE(HasFailure());
    std::string digest = run::digestOf(tensors);
    if (!expected.empty()) {
      EXPECT_EQ(digest, expected);
      continue;
    }
    expected = digest;
    auto checked = run::checkResults(loaded, options, *schedule, tensors);
    ASSERT_TRUE(checked.ok()) << checked.message();
    for (const rt::CheckedTensor &tensor : *checked)
      EXPECT_TRUE(tensor.passed)
          << tensor.name << ": error " << tensor.error << ", bound "
          << tensor.bound << ", PyTorch's own " << tensor.pytorchError;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStacks, testing::Range(0, numStacks),
                         [](const testing::TestParamInfo<int> &info) {
                           return std::to_string(info.param);
                         });

} // namespace
