//===- Cases.cpp - what the cases of the field share ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ckpt;
using namespace ckpt::test;

static std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Model test::compileModel(std::string text, const std::string &dtype,
                         const rt::SizeValues &sizes) {
  const std::string placeholder = "DTYPE";
  for (size_t at; (at = text.find(placeholder)) != std::string::npos;)
    text.replace(at, placeholder.size(), dtype);
  Model model;
  model.options.sizes = sizes;
  model.options.seed = 3;
  rt::Result<run::Loaded> loaded = compileText(text, "case", model.options);
  if (!loaded.ok())
    throw std::runtime_error(loaded.message() + "\n" + text);
  model.loaded = std::move(*loaded);
  return model;
}

std::string test::smallTransformer(int blocks) {
  return R"(
ckpt.size @batch default 1
ckpt.size @tokens

!x = !ckpt.tensor<batch x tokens x 16 x DTYPE>
!heads = !ckpt.tensor<batch x tokens x 2 x 8 x DTYPE>
!qkv = !ckpt.tensor<batch x tokens x 48 x DTYPE>
!hidden = !ckpt.tensor<batch x tokens x 32 x DTYPE>
!row = !ckpt.tensor<batch x 1 x 16 x DTYPE>
!g = !ckpt.tensor<16 x DTYPE>

ckpt.block @small
    states(%x : !x differentiable)
    inputs(%cond : !row differentiable)
    params(%g1 "blocks.{i}.norm1.weight" trainable : !g,
           %wqkv "blocks.{i}.qkv.weight" frozen : !ckpt.tensor<48 x 16 x DTYPE>,
           %wo "blocks.{i}.proj.weight" frozen : !ckpt.tensor<16 x 16 x DTYPE>,
           %w1 "blocks.{i}.fc1.weight" frozen : !ckpt.tensor<32 x 16 x DTYPE>,
           %w2 "blocks.{i}.fc2.weight" frozen : !ckpt.tensor<16 x 32 x DTYPE>) {
  %x1 = ckpt.attention {
    %n = ckpt.rms_norm %x, %g1 {eps = 1.0e-6} : !x, !g
    %qkv = ckpt.linear %n, %wqkv : !x, !ckpt.tensor<48 x 16 x DTYPE>
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "16"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "16", extent = "16"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "32", extent = "16"} : !qkv
    %q = ckpt.reshape %q0 {shape = ["batch", "tokens", "2", "8"]} : !x
    %k = ckpt.reshape %k0 {shape = ["batch", "tokens", "2", "8"]} : !x
    %v = ckpt.reshape %v0 {shape = ["batch", "tokens", "2", "8"]} : !x
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "tokens", "16"]} : !heads
    %p = ckpt.linear %o, %wo : !x, !ckpt.tensor<16 x 16 x DTYPE>
    %r = ckpt.add %x, %p : !x, !x
    ckpt.yield %r : !x
  } : !x
  %y = ckpt.ffn {
    %n = ckpt.layer_norm %x1 {eps = 1.0e-6} : !x
    %m = ckpt.mul %n, %cond : !x, !row
    %h = ckpt.linear %m, %w1 : !x, !ckpt.tensor<32 x 16 x DTYPE>
    %a = ckpt.gelu %h {approximate = tanh} : !hidden
    %o = ckpt.linear %a, %w2 : !hidden, !ckpt.tensor<16 x 32 x DTYPE>
    %r = ckpt.add %x1, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model {
  ckpt.repeat @small, )" +
         std::to_string(blocks) + "\n}\n";
}

rt::Controls test::controlsOf(rt::Backend backend,
                              std::optional<int64_t> interval,
                              std::optional<int64_t> stride) {
  rt::Controls controls;
  controls.backend = backend;
  controls.interval = interval;
  controls.segmentStride = stride;
  return controls;
}

rt::Controls test::withAttentionOffload(rt::Controls controls) {
  controls.offloadAttention = true;
  return controls;
}

PolicyRun test::runModel(const Model &model, const rt::Controls &controls) {
  rt::Result<PolicyRun> run = runPolicy(model.loaded, model.options, controls);
  if (!run.ok())
    throw std::runtime_error(describe(controls) + ": " + run.message());
  EXPECT_EQ(run->statistics.touched, run->schedule->arenaBytes);
  return std::move(*run);
}

void test::expectOracle(const Model &model, const PolicyRun &run) {
  auto checked = run::checkResults(model.loaded, model.options, *run.schedule,
                                   run.tensors);
  ASSERT_TRUE(checked.ok()) << checked.message();
  EXPECT_FALSE(checked->empty());
  for (const rt::CheckedTensor &tensor : *checked) {
    const run::Tensor *result = find(run, tensor.name);
    ASSERT_TRUE(result) << tensor.name;
    bool isF32 = result->external.type.dtype == rt::DType::F32;
    double bound =
        isF32 ? tensor.bound : 4 * tensor.pytorchError + std::ldexp(1.0, -10);
    EXPECT_LE(tensor.error, bound)
        << tensor.name << ", PyTorch's own " << tensor.pytorchError;
  }
}

void test::expectSameBits(const PolicyRun &run, const PolicyRun &expected) {
  ASSERT_EQ(run.tensors.size(), expected.tensors.size());
  int results = 0;
  for (size_t i = 0; i < run.tensors.size(); ++i) {
    const std::string &name = run.tensors[i].external.name;
    ASSERT_EQ(name, expected.tensors[i].external.name);
    if (!run.tensors[i].isResult())
      continue;
    ++results;
    EXPECT_TRUE(bytesOf(run, name) == bytesOf(expected, name)) << name;
  }
  EXPECT_GE(results, 2);
  EXPECT_EQ(run.digest, expected.digest);
}

const run::Tensor *test::find(const PolicyRun &run, const std::string &name) {
  for (const run::Tensor &tensor : run.tensors)
    if (tensor.external.name == name)
      return &tensor;
  return nullptr;
}

std::string test::bytesOf(const PolicyRun &run, const std::string &name) {
  const run::Tensor *tensor = find(run, name);
  EXPECT_TRUE(tensor) << name;
  if (!tensor)
    return "";
  return std::string(static_cast<const char *>(tensor->data.get()),
                     size_t(tensor->bytes));
}

bool test::isAllZero(const std::string &bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

int test::countLaunches(const rt::Schedule &schedule, Phase phase,
                        std::optional<int> block) {
  return int(std::count_if(schedule.commands.begin(), schedule.commands.end(),
                           [&](const rt::Command &command) {
                             return command.kind == rt::Command::Kind::Launch &&
                                    command.phase == phase &&
                                    (!block || command.block == *block);
                           }));
}

int test::countLaunches(const Model &model, const rt::Schedule &schedule,
                        rt::KernelClass cls) {
  const std::vector<rt::Kernel> &kernels = model.loaded.program->kernels;
  return int(std::count_if(schedule.commands.begin(), schedule.commands.end(),
                           [&](const rt::Command &command) {
                             return command.kind == rt::Command::Kind::Launch &&
                                    kernels[command.kernel].cls == cls;
                           }));
}

std::string test::segmentsOf(const rt::Schedule &schedule) {
  std::string text;
  for (const rt::Segment &segment : schedule.plan.segments) {
    text += text.empty() ? "" : " ";
    text += segment.checkpointed ? "[" : "";
    for (int i = 0; i < segment.count; ++i)
      text += (i ? "," : "") + std::to_string(segment.first + i);
    text += segment.checkpointed ? "]" : "";
  }
  return text;
}

TemporaryFile::TemporaryFile(const std::string &name, const std::string &text)
    : path((std::filesystem::temp_directory_path() /
            ("ckpt-case-" + std::to_string(getpid()) + "-" + name))
               .string()) {
  if (!text.empty())
    std::ofstream(path, std::ios::binary) << text;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

ProgramRun test::runProgram(const std::string &command) {
  TemporaryFile out("out"), err("err");
  auto childSeconds = [] {
    rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return double(usage.ru_utime.tv_sec) + double(usage.ru_utime.tv_usec) / 1e6;
  };
  double before = childSeconds();
  auto begin = std::chrono::steady_clock::now();
  int status =
      std::system((command + " >" + out.path + " 2>" + err.path).c_str());
  ProgramRun run;
  run.wallSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  run.userSeconds = childSeconds() - before;
  // A shell that its program's signal does not kill exits with 128 plus it.
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 128) << command;
  run.code = WEXITSTATUS(status);
  run.out = readFile(out.path);
  run.err = readFile(err.path);
  return run;
}
