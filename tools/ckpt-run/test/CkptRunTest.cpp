//===- CkptRunTest.cpp - the program as a user meets it -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the built ckpt-run on artifacts made here: exit codes, messages, the
/// JSON and the files. No compiler and no oracle: those are tested with them.
///
//===----------------------------------------------------------------------===//

#include "GpuProgram.h"
#include "Program/Artifact.h"
#include "Tensors/Safetensors.h"
#include "TestProgram.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

using nlohmann::json;
using namespace ckpt::rt;
namespace fs = std::filesystem;

namespace {

std::string readAll(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct Output {
  int code = -1;
  std::string out, err;
};

class CkptRun : public testing::Test {
protected:
  void SetUp() override {
    dir = fs::path(testing::TempDir()) /
          ("ckpt-run-" +
           std::string(
               testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(dir);
    fs::create_directories(dir);
  }
  void TearDown() override { fs::remove_all(dir); }

  /// A path in this test's directory.
  std::string at(const std::string &name) const {
    return (dir / name).string();
  }

  /// The artifact `dit.ckpt`, for planning only.
  std::string dit(int blocks = 4) {
    return write("dit.ckpt", makeDitProgram(blocks));
  }
  /// The artifact `adapter.ckpt`, which runs.
  std::string adapter(int blocks = 6) {
    Program program = makeAdapterProgram(blocks);
    std::string object = readAll(ADAPTER_KERNELS);
    program.object.assign(object.begin(), object.end());
    return write("adapter.ckpt", program);
  }
  /// The artifact `gpu.ckpt`, the same for a GPU.
  std::string gpuAdapter(int blocks = 6) {
    return write("gpu.ckpt", test::makeGpuAdapterProgram(blocks));
  }
  std::string write(const std::string &name, const Program &program) {
    Status status = writeArtifact(at(name), program);
    EXPECT_TRUE(status.ok());
    return at(name);
  }

  Output run(const std::string &arguments) {
    std::string command = std::string(CKPT_RUN) + " " + arguments + " >" +
                          at("out") + " 2>" + at("err");
    int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << command;
    return {WEXITSTATUS(status), readAll(at("out")), readAll(at("err"))};
  }

  json report(const std::string &arguments) {
    Output output = run(arguments + " --report=json");
    EXPECT_EQ(output.code, 0) << output.err;
    return json::parse(output.out, nullptr, false);
  }

  /// Exit code 2, the message alone, nothing on standard output.
  void refuses(const std::string &arguments, const std::string &message) {
    Output output = run(arguments);
    EXPECT_EQ(output.code, 2) << arguments;
    EXPECT_EQ(output.err, "ckpt-run: error: " + message + "\n") << arguments;
    EXPECT_EQ(output.out, "") << arguments;
  }

  fs::path dir;
};

/// On a driver that is none, so that it runs anywhere.
class CkptRunGpu : public CkptRun {
protected:
  void SetUp() override {
    CkptRun::SetUp();
    setenv("CKPT_CUDA_DRIVER", FAKE_CUDA, 1);
  }
  void TearDown() override {
    unsetenv("CKPT_CUDA_DRIVER");
    CkptRun::TearDown();
  }
};

TEST_F(CkptRun, HelpTeachesAndVersionTells) {
  Output help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char *flag : {"--backend",
                           "--interval",
                           "--segment-stride",
                           "--attention-once",
                           "--offload-attention",
                           "--pin-memory-max-buckets",
                           "--dim",
                           "--blocks",
                           "--steps",
                           "--seed",
                           "--weights",
                           "--inputs",
                           "--save-outputs",
                           "--results",
                           "--repeat",
                           "--no-graph",
                           "--target",
                           "--deterministic",
                           "--check",
                           "--trace",
                           "--picture",
                           "--plan-only",
                           "--print-schedule",
                           "--report",
                           "--profile",
                           "Examples:",
                           "Exit codes:"})
    EXPECT_NE(help.out.find(flag), std::string::npos) << flag;
  EXPECT_EQ(run("--version").out, "ckpt-run 0.1.0\n");
  EXPECT_EQ(run("").code, 2);
  refuses("x.ckpt --no-such-flag",
          "The following argument was not expected: --no-such-flag; see "
          "ckpt-run --help");
}

TEST_F(CkptRun, PlansWithoutExecuting) {
  std::string planned = dit() + " --dim image=16384 --plan-only ";
  json none = report(planned);
  EXPECT_EQ(none["peak"]["predicted"], none["peak"]["arena"]);
  EXPECT_TRUE(none["peak"]["touched"].is_null());
  EXPECT_EQ(none["segments"], json::array());
  json torch = report(planned + "--backend=torch --interval=3");
  EXPECT_EQ(torch["segments"], json::parse("[[0,2],[3,3]]"));
  EXPECT_LT(torch["peak"]["arena"], none["peak"]["arena"]);
  EXPECT_EQ(report(planned + "--blocks=2")["blocks"], 2);
  EXPECT_EQ(report(planned + "--policies")["policies"].size(), 12u);
  // Faster on the faster machine, the same bytes.
  json h200 = report(planned + "--profile=h200");
  EXPECT_LT(h200["time"]["predicted"], none["time"]["predicted"]);
  EXPECT_EQ(h200["peak"]["arena"], none["peak"]["arena"]);
}

TEST_F(CkptRun, PrintsScheduleAndTables) {
  Output text = run(dit(2) + " --dim image=64 --plan-only --print-schedule "
                             "--policies --backend=unsloth-ffn");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char *part :
       {"f0 b0", "@dit, first (block 0)", "operand of ckpt.ffn", "policy",
        "segments [0] [1]", "unsloth attention-once", "replayed"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part;
  // Beside JSON the schedule leaves standard output alone.
  Output both = run(dit(2) + " --dim image=64 --plan-only --print-schedule "
                             "--report=json");
  EXPECT_FALSE(json::parse(both.out, nullptr, false).is_discarded());
  EXPECT_NE(both.err.find("f0 b0"), std::string::npos);
}

TEST_F(CkptRun, GivesTheSameBitsUnderEveryPolicy) {
  std::string file = adapter() + " --dim rows=40 ";
  json none = report(file);
  EXPECT_EQ(none["digest"].get<std::string>().size(), 16u);
  EXPECT_GT(none["time"]["measured"], 0.0);
  for (const char *flags :
       {"--backend=torch", "--backend=torch --interval=2", "--backend=unsloth",
        "--backend=unsloth --interval=2",
        "--backend=unsloth --interval=2 --segment-stride=4 --steps=3",
        "--backend=unsloth --pin-memory-max-buckets=0"}) {
    json other = report(file + flags);
    EXPECT_EQ(other["digest"], none["digest"]) << flags;
    EXPECT_EQ(other["peak"]["touched"], other["peak"]["arena"]) << flags;
    EXPECT_EQ(other["peak"]["predicted"], other["peak"]["arena"]) << flags;
  }
  EXPECT_NE(report(file + "--seed=1")["digest"], none["digest"]);
  EXPECT_NE(report(file + "--blocks=5")["digest"], none["digest"]);
  // x of blocks 1 to 5, 40 rows of 8 floats, goes out and comes back.
  json unsloth = report(file + "--backend=unsloth --steps=2");
  EXPECT_EQ(unsloth["copied"]["to_host"], 5 * 40 * 8 * 4);
  EXPECT_EQ(unsloth["copied"]["to_device"], 5 * 40 * 8 * 4);
  EXPECT_GT(unsloth["pool"]["pinned_bytes"], 0);
  json pageable = report(file + "--backend=unsloth --pin-memory-max-buckets=0");
  EXPECT_EQ(pageable["pool"]["pinned_bytes"], 0);
  EXPECT_GT(pageable["pool"]["pageable"], 0);
}

TEST_F(CkptRun, BackendStartsAfreshOtherFlagsGoOverTheDefaults) {
  Program program = makeDitProgram(4);
  program.defaults.backend = Backend::Torch;
  program.defaults.interval = 2;
  std::string planned =
      write("torch.ckpt", program) + " --dim image=64 --plan-only ";
  EXPECT_EQ(report(planned)["segments"], json::parse("[[0,1],[2,3]]"));
  EXPECT_EQ(report(planned + "--interval=3")["segments"],
            json::parse("[[0,2],[3,3]]"));
  EXPECT_EQ(report(planned + "--backend=none")["segments"], json::array());
}

TEST_F(CkptRun, ResultsAndTensorsGoThroughFiles) {
  std::string file = adapter(2) + " --dim rows=3 ";
  json first = report(file + "--save-outputs=" + at("y.safetensors"));
  Result<SafetensorsFile> results = SafetensorsFile::open(at("y.safetensors"));
  ASSERT_TRUE(results.ok()) << results.message();
  std::vector<std::string> names;
  for (auto &entry : results->entries())
    names.push_back(entry.first);
  EXPECT_EQ(names, (std::vector<std::string>{"grad.bias", "grad.blocks.0.w",
                                             "grad.blocks.1.w", "grad.cond",
                                             "out.x"}));
  // y = x w + bias + cond: with every parameter zero it is cond.
  std::vector<float> zeros(64, 0.0f), x(24, 5.0f), cond(8);
  for (int i = 0; i < 8; ++i)
    cond[i] = float(i);
  Status weights = writeSafetensors(
      at("w.safetensors"), {{"blocks.0.w", {8, 8}, DType::F32, zeros.data()},
                            {"blocks.1.w", {8, 8}, DType::F32, zeros.data()},
                            {"bias", {1, 8}, DType::F32, zeros.data()}});
  Status inputs = writeSafetensors(at("x.safetensors"),
                                   {{"x", {3, 8}, DType::F32, x.data()},
                                    {"cond", {1, 8}, DType::F32, cond.data()}});
  ASSERT_TRUE(weights.ok() && inputs.ok());
  report(file + "--weights=" + at("w.safetensors") + " --inputs=" +
         at("x.safetensors") + " --save-outputs=" + at("y.safetensors"));
  results = SafetensorsFile::open(at("y.safetensors"));
  std::vector<float> y(24);
  ASSERT_TRUE(results->read("out.x", {3, 8}, DType::F32, y.data()).ok());
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(y[i], float(i % 8));

  // A file with a missing tensor is refused by name, nothing is written.
  fs::remove(at("y.safetensors"));
  Output missing = run(file + "--weights=" + at("x.safetensors") +
                       " --save-outputs=" + at("y.safetensors"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("blocks.0.w"), std::string::npos) << missing.err;
  EXPECT_FALSE(fs::exists(at("y.safetensors")));
}

TEST_F(CkptRunGpu, RunsTimesAndSaysWhatIsTaken) {
  std::string file = gpuAdapter() + " --dim rows=40 --backend=unsloth ";
  json plain = report(file + "--no-graph --steps=3");
  EXPECT_EQ(plain["target"], "nvptx");
  EXPECT_EQ(plain["profile"], "h200");
  EXPECT_EQ(plain["peak"]["touched"], plain["peak"]["arena"]);
  EXPECT_EQ(plain["device"]["name"], "Fake GPU");
  // The fake driver's context takes a mebibyte.
  EXPECT_EQ(plain["device"]["beside"], 1 << 20);
  json timed = report(file + "--repeat=5");
  EXPECT_EQ(timed["digest"], plain["digest"]);
  EXPECT_EQ(timed["time"]["steps"], 5);
  EXPECT_EQ(timed["time"]["graph"], true);
  EXPECT_LE(timed["time"]["least"], timed["time"]["measured"]);
  EXPECT_LE(timed["time"]["measured"], timed["time"]["most"]);
  EXPECT_GT(timed["time"]["issue"], 0.0);
  EXPECT_EQ(timed["device"]["beside"], 1 << 20);
  json single = report(file + "--repeat=2 --no-graph --trace=" + at("t.json"));
  EXPECT_EQ(single["digest"], plain["digest"]);
  EXPECT_EQ(single["time"]["graph"], false);
  EXPECT_TRUE(fs::exists(at("t.json")));
  Output text = run(file + "--repeat=2");
  EXPECT_NE(text.out.find(" in 2 steps, enqueued in "), std::string::npos);
  EXPECT_NE(text.out.find("device    Fake GPU, "), std::string::npos);
}

TEST_F(CkptRunGpu, SaysHowKernelsRun) {
  // 132 multiprocessors: the first way costs 132, the second as many as there
  // are rows.
  Program program = test::makeGpuAdapterProgram(2);
  for (Kernel &kernel : program.kernels) {
    Alternative alternative = kernel.alternatives.front();
    kernel.alternatives.front().name = "wide";
    kernel.alternatives.front().cost = Size::symbol(multiprocessors);
    alternative.name = "narrow";
    alternative.cost = Size::symbol("rows");
    kernel.alternatives.push_back(alternative);
  }
  std::string file = write("ways.ckpt", program) + " --plan-only --dim rows=";
  for (auto [rows, name] : {std::pair{"131", "narrow"}, {"132", "wide"}}) {
    json planned = report(file + rows);
    EXPECT_EQ(planned["alternatives"]["gemm_bias_add"], name);
    Output text = run(file + rows + " --print-schedule");
    EXPECT_NE(text.out.find(std::string("gemm_bias_add (") + name + ")"),
              std::string::npos)
        << text.out;
  }
  EXPECT_EQ(report(file + "131 --profile=host")["alternatives"],
            json::object());
}

TEST_F(CkptRunGpu, TakesFilesAndGivesThem) {
  // The first weight is zero, so y = bias + cond in every row.
  std::vector<float> zeros(64, 0.0f), x(24, 5.0f), cond(8), bias(8, 2.0f);
  for (int i = 0; i < 8; ++i)
    cond[i] = float(i);
  Status weights = writeSafetensors(
      at("w.safetensors"), {{"blocks.0.w", {8, 8}, DType::F32, zeros.data()},
                            {"bias", {1, 8}, DType::F32, bias.data()}});
  Status inputs = writeSafetensors(at("x.safetensors"),
                                   {{"x", {3, 8}, DType::F32, x.data()},
                                    {"cond", {1, 8}, DType::F32, cond.data()}});
  ASSERT_TRUE(weights.ok() && inputs.ok());
  report(gpuAdapter(1) + " --dim rows=3 --weights=" + at("w.safetensors") +
         " --inputs=" + at("x.safetensors") +
         " --save-outputs=" + at("y.safetensors"));
  Result<SafetensorsFile> results = SafetensorsFile::open(at("y.safetensors"));
  ASSERT_TRUE(results.ok()) << results.message();
  std::vector<float> y(24);
  ASSERT_TRUE(results->read("out.x", {3, 8}, DType::F32, y.data()).ok());
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(y[i], float(i % 8 + 2));
}

TEST_F(CkptRunGpu, SaysWhatIsMissing) {
  setenv("CKPT_CUDA_DRIVER", at("no-driver.so").c_str(), 1);
  Output missing = run(gpuAdapter() + " --dim rows=4");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err.rfind("ckpt-run: error: cuda device: expected NVIDIA's "
                              "driver " +
                                  at("no-driver.so") + ", found ",
                              0),
            0u)
      << missing.err;
  refuses(gpuAdapter() + " --dim rows=4 --target=host",
          at("gpu.ckpt") + ": expected an artifact for target host, found one "
                           "for nvptx; leave --target out or compile it again");
  Program program = test::makeGpuAdapterProgram(2);
  program.deterministic = false;
  refuses(write("free.ckpt", program) + " --dim rows=4 --deterministic",
          at("free.ckpt") +
              ": expected an artifact that gives the same bits every time, "
              "found another; compile it again with --deterministic");
}

#ifdef CKPT_HAS_ORACLE
TEST_F(CkptRunGpu, ResultsOfAnotherMachineAreChecked) {
  std::string file = gpuAdapter(3) + " --dim rows=12 ";
  json made = report(file + "--save-outputs=" + at("y.safetensors"));
  // Nothing of the device is needed.
  setenv("CKPT_CUDA_DRIVER", at("no-driver.so").c_str(), 1);
  json checked = report(file + "--check --results=" + at("y.safetensors"));
  EXPECT_EQ(checked["check"]["passed"], true);
  EXPECT_EQ(checked["check"]["tensors"].size(), 6u);
  EXPECT_EQ(checked["digest"], made["digest"]);
  Output other =
      run(file + "--seed=1 --check --results=" + at("y.safetensors"));
  EXPECT_EQ(other.code, 1) << other.err;
}
#endif

TEST_F(CkptRun, ChecksEveryResultAgainstTheOracle) {
#ifndef CKPT_HAS_ORACLE
  Output without = run(adapter() + " --dim rows=4 --check");
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(without.err.find("--check: expected the library "
                             "libckpt_reference.so as "),
            std::string::npos)
      << without.err;
#else
  std::string file = adapter(3) + " --dim rows=12 --check ";
  // out.x, grad.cond, grad.bias and one weight a block.
  for (auto [flags, count] :
       {std::pair{"", 6u}, {"--backend=unsloth", 6u}, {"--blocks=2", 5u}}) {
    json checked = report(file + flags)["check"];
    EXPECT_EQ(checked["passed"], true) << flags;
    EXPECT_EQ(checked["tensors"].size(), count);
    for (const json &tensor : checked["tensors"])
      EXPECT_LE(tensor["error"], tensor["bound"]);
  }
  EXPECT_NE(run(file).out.find("check     passed, all 6 tensors are within "
                               "their bounds"),
            std::string::npos);

  // A block graph that says something else than the kernels: no bias.
  Program program = makeAdapterProgram(3);
  std::string object = readAll(ADAPTER_KERNELS);
  program.object.assign(object.begin(), object.end());
  GraphOp &add = program.kinds[0].graph.ops[2];
  add.operands = {5, 5};
  Output out = run(write("wrong.ckpt", program) + " --dim rows=12 --check");
  EXPECT_EQ(out.code, 1);
  EXPECT_NE(out.out.find(" tensors are out of their bounds"), std::string::npos)
      << out.out;
#endif
}

TEST_F(CkptRun, WritesTraceAndPicture) {
  for (std::string how : {"", " --plan-only"}) {
    Output output =
        run(adapter() + " --dim rows=40 --backend=unsloth" + how +
            " --trace=" + at("t.json") + " --picture=" + at("m.svg"));
    EXPECT_EQ(output.code, 0) << output.err;
    json trace = json::parse(readAll(at("t.json")), nullptr, false);
    EXPECT_GT(trace["traceEvents"].size(), 20u);
    EXPECT_NE(readAll(at("m.svg")).find("adapter.ckpt, unsloth, 6 blocks"),
              std::string::npos);
  }
}

TEST_F(CkptRun, RefusesWithOneMessage) {
  std::string planned = dit() + " --dim image=64 --plan-only ";
  refuses(planned + "--backend=tourch",
          "--backend: expected none, torch, torch-ffn, unsloth or unsloth-ffn, "
          "found tourch");
  refuses(planned + "--backend=torch --interval=0",
          "--interval: expected at least 1, found 0");
  refuses(planned + "--backend=torch --interval=-1",
          "--interval: expected at least 1, found -1");
  refuses(planned + "--backend=torch --interval=two",
          "--interval: expected an integer, found 'two'");
  refuses(planned + "--backend=torch --interval=99999999999999999999",
          "--interval: expected an integer, found '99999999999999999999'");
  refuses(planned + "--backend=torch --interval ''",
          "--interval: expected a value, found nothing");
  refuses(planned + "--backend=torch --interval=2 --segment-stride=1",
          "--segment-stride: expected at least the interval 2, found 1");
  refuses(planned + "--interval=2",
          "--interval: expected a backend that checkpoints blocks (torch, "
          "torch-ffn, unsloth, unsloth-ffn), found --backend=none; choose one "
          "or leave --interval out");
  refuses(planned + "--backend=unsloth --pin-memory-max-buckets=1000000000",
          "--pin-memory-max-buckets: expected 0 to 65536, found 1000000000");
  refuses(planned + "--blocks=0", "--blocks: expected at least 1, found 0");
  refuses(planned + "--profile=a100",
          "--profile: expected host or h200, found a100");
  refuses(planned + "--report=xml", "--report: expected json, found xml");
  refuses(planned + "--target=tpu",
          "--target: expected host or nvptx, found tpu");
  refuses(dit() + " --dim image=64 --repeat=0",
          "--repeat: expected at least 1, found 0");
  refuses(dit() + " --dim image=64 --results=y.safetensors",
          "--results: expected --check beside it, found none");
  refuses(dit() + " --dim image=64 --check --results=y.safetensors --steps=2",
          "--steps: expected a step that is executed, found --results; leave "
          "one of them out");
  refuses(planned + "--check",
          "--check: expected a step that is executed, found --plan-only; "
          "leave one of them out");
  refuses(dit() + " --dim image=64 --steps=0",
          "--steps: expected at least 1, found 0");
  refuses(dit() + " --dim image=64 --seed=-1",
          "--seed: expected at least 0, found -1");
  refuses(adapter() + " --dim rows=4 --backend=torch-ffn",
          "--backend=torch-ffn: expected a ckpt.ffn in every block kind, found "
          "none in @adapter");
  refuses(dit() + " --dim image=64",
          at("dit.ckpt") + ": expected kernels, found an artifact that was "
                           "compiled for planning only; add --plan-only");
}

TEST_F(CkptRun, RefusesOutputsBeforeWork) {
  std::string file = adapter();
  std::string planned = file + " --dim rows=4 --plan-only ";
  std::string ran = file + " --dim rows=4 ";
  auto blocked = [](const std::string &flag, const std::string &path,
                    const std::string &why) {
    return flag + ": expected a file that can be written, found " + path +
           " (" + why + ")";
  };
  auto taken = [](const std::string &flag, const std::string &path,
                  const std::string &other) {
    return flag + ": expected a file of its own, found " + path +
           " also given as " + other + "; give one of them another path";
  };
  refuses(planned + "--trace=" + at("no/t.json"),
          blocked("--trace", at("no/t.json"), "No such file or directory"));
  refuses(planned + "--picture=" + at(""),
          blocked("--picture", at(""), "Is a directory"));
  refuses(planned + "--picture=" + at("new") + "/",
          blocked("--picture", at("new") + "/", "Is a directory"));
  refuses(ran + "--save-outputs=" + file + "/y",
          blocked("--save-outputs", file + "/y", "Not a directory"));
  refuses(planned + "--trace=" + at("a") + " --picture=" + at("./a"),
          taken("--picture", at("./a"), "--trace"));
  refuses(planned + "--trace=" + file, taken("--trace", file, "FILE"));
  // By another name of the same file.
  fs::create_symlink(file, at("link"));
  refuses(planned + "--picture=" + at("link"),
          taken("--picture", at("link"), "FILE"));
  std::ofstream(at("x.safetensors")) << "text";
  for (const char *flag : {"--weights", "--inputs"})
    refuses(ran + flag + "=" + at("x.safetensors") +
                " --save-outputs=" + at("x.safetensors"),
            taken("--save-outputs", at("x.safetensors"), flag));
  EXPECT_EQ(readAll(at("x.safetensors")), "text");
  EXPECT_FALSE(fs::exists(at("a")));
  // A device holds nothing that could be lost.
  EXPECT_EQ(run(planned + "--trace=/dev/null --picture=/dev/null").code, 0);
}

TEST_F(CkptRun, RefusesSizes) {
  std::string planned = dit() + " --plan-only ";
  refuses(planned,
          "size image: expected a value, found none; add --dim image=N");
  refuses(planned + "--dim image=64 --dim imgae=3",
          "--dim imgae: expected one of batch, image, found imgae");
  refuses(planned + "--dim image=0",
          "--dim image: expected at least 1, found 0");
  refuses(planned + "--dim image=x",
          "--dim image: expected an integer, found 'x'");
  refuses(planned + "--dim image", "--dim: expected name=value, found 'image'");
  refuses(planned + "--dim image=4 --dim image=5",
          "--dim image: expected one value, found a second one");
  // Beyond any number of bytes: a message, whoever finds it first.
  EXPECT_EQ(run(planned + "--dim image=9000000000000000000").code, 2);
}

TEST_F(CkptRun, RefusesDamagedArtifacts) {
  std::string file = dit();
  std::string bytes = readAll(file);
  auto damaged = [&](const std::string &content, const std::string &message) {
    std::ofstream(at("bad.ckpt"), std::ios::binary) << content;
    refuses(at("bad.ckpt") + " --dim image=64 --plan-only",
            at("bad.ckpt") + ": " + message);
  };
  std::string count = std::to_string(bytes.size());
  damaged(bytes.substr(0, bytes.size() / 2),
          "expected " + count + " bytes, found " +
              std::to_string(bytes.size() / 2) + "; the file is cut off");
  damaged("", "expected at least 28 bytes, found 0; the file is cut off");
  std::string other = bytes;
  other[4] = 1;
  damaged(other, "expected artifact version 2, found 1; compile it again with "
                 "this version's ckpt-compile");
  damaged("MLIR text", "expected an artifact, which begins with CKPT, found "
                       "other bytes");
  refuses(at("none.ckpt"),
          at("none.ckpt") + ": cannot be read: No such file or directory");
}

} // namespace
