//===- RefusalsTest.cpp - what the built tools refuse on block IR ---------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Case S5 of the field (Cases.h), and what tools/ckpt-run/test does not reach
/// because it has no compiler: refusals on block IR, and files that are damaged
/// or halfway there. Each is one message that names the flag or thing, what was
/// expected and what was found; exit code 2; nothing on standard output and no
/// file left behind.
///
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Tensors/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace ckpt;
using namespace ckpt::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string twin = CKPT_EXAMPLES "/twins/dit-3072.mlir";

/// `message` as the whole of what is said.
void refuses(const std::string &arguments, const std::string &message) {
  ProgramRun run = runProgram(std::string(CKPT_RUN) + " " + arguments);
  EXPECT_EQ(run.code, 2) << arguments;
  EXPECT_EQ(run.err, "ckpt-run: error: " + message + "\n") << arguments;
  EXPECT_EQ(run.out, "") << arguments;
}

// Interval 0 and -1, a stride below the interval, pinned buckets -1 and a
// thousand million are refused with flag, range and value; 0 buckets are legal
// and pin nothing.
TEST(S5, ValuesOutOfRange) {
  std::string step = twin + " --dim image=5 --blocks=2 ";
  refuses(step + "--backend=torch --interval=0",
          "--interval: expected at least 1, found 0");
  refuses(step + "--backend=torch --interval=-1",
          "--interval: expected at least 1, found -1");
  refuses(step + "--backend=torch --interval=3 --segment-stride=2",
          "--segment-stride: expected at least the interval 3, found 2");
  refuses(step + "--backend=unsloth --pin-memory-max-buckets=-1",
          "--pin-memory-max-buckets: expected 0 to 65536, found -1");
  refuses(step + "--backend=unsloth --pin-memory-max-buckets=1000000000",
          "--pin-memory-max-buckets: expected 0 to 65536, found 1000000000");
  json reports[2];
  for (int i = 0; i < 2; ++i) {
    ProgramRun run = runProgram(std::string(CKPT_RUN) + " " + step +
                                "--backend=unsloth --report=json" +
                                (i ? " --pin-memory-max-buckets=0" : ""));
    ASSERT_EQ(run.code, 0) << run.err;
    reports[i] = json::parse(run.out, nullptr, false);
    ASSERT_FALSE(reports[i].is_discarded());
  }
  EXPECT_EQ(reports[1]["digest"], reports[0]["digest"]);
  // x of block 1, 5 rows of 384 bf16.
  EXPECT_EQ(reports[0]["pool"]["pinned_bytes"], 5 * 384 * 2);
  EXPECT_EQ(reports[1]["pool"]["pinned_bytes"], 0);
  EXPECT_EQ(reports[1]["pool"]["pageable"], 1);
  EXPECT_EQ(reports[1]["copied"]["to_host"], 5 * 384 * 2);
}

// Refused before kernels are compiled: no progress stands before the message.
TEST(Refusals, ControlsOnBlockIR) {
  std::string step = twin + " --dim image=5 ";
  refuses(step + "--backend=unslot",
          "--backend: expected none, torch, torch-ffn, unsloth or unsloth-ffn, "
          "found unslot");
  refuses(step + "--backend=torch --interval=two",
          "--interval: expected an integer, found 'two'");
  refuses(step + "--interval=2",
          "--interval: expected a backend that checkpoints blocks (torch, "
          "torch-ffn, unsloth, unsloth-ffn), found --backend=none; choose one "
          "or leave --interval out");
  refuses(step + "--backend=torch-ffn --attention-once",
          "--attention-once: expected --backend=torch or --backend=unsloth, "
          "found --backend=torch-ffn; attention already runs once there");
  refuses(twin, "size image: expected a value, found none; add --dim image=N");
  refuses(step + "--dim text=4",
          "--dim text: expected one of batch, image, found text");
  refuses(twin + " --dim image=0", "--dim image: expected at least 1, found 0");
}

TEST(Refusals, ABlockWithoutTheRegion) {
  TemporaryFile plain("plain.mlir", R"(
ckpt.size @tokens
!x = !ckpt.tensor<tokens x 8 x f32>
ckpt.block @plain states(%x : !x differentiable) {
  %y = ckpt.silu %x : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @plain, 2 }
)");
  std::string step = plain.path + " --dim tokens=4 ";
  refuses(step + "--backend=torch-ffn",
          "--backend=torch-ffn: expected a ckpt.ffn in every block kind, found "
          "none in @plain");
  refuses(step + "--offload-attention",
          "--offload-attention: expected a ckpt.attention in every block kind, "
          "found none in @plain");
}

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Runs and wants exit code 2, one line of error and nothing at `output`.
ProgramRun refused(const std::string &command, const std::string &output) {
  ProgramRun run = runProgram(command);
  EXPECT_EQ(run.code, 2) << command << "\n" << run.err;
  EXPECT_EQ(run.out, "") << command;
  EXPECT_NE(run.err.find("error: "), std::string::npos) << run.err;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(fs::path(output).parent_path()))
    EXPECT_NE(entry.path().string().compare(0, output.size(), output), 0)
        << entry.path();
  return run;
}

// Block IR that ends in the middle, wherever that is, is a message with its
// line and never a step of what was there.
TEST(Refusals, BlockIRThatIsCutOff) {
  std::string text = readAll(twin);
  ASSERT_GT(text.size(), 2000u);
  TemporaryFile output("cut.ckpt");
  for (size_t size = 700; size + 3 < text.size(); size += 331) {
    TemporaryFile cut("cut.mlir", text.substr(0, size));
    SCOPED_TRACE(size);
    ProgramRun compiled = refused(std::string(CKPT_COMPILE) + " " + cut.path +
                                      " -o " + output.path,
                                  output.path);
    EXPECT_NE(compiled.err.find(cut.path + ":"), std::string::npos)
        << compiled.err;
    ProgramRun run = runProgram(std::string(CKPT_RUN) + " " + cut.path +
                                " --dim image=4 --plan-only");
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("ckpt-run: error: " + cut.path +
                           ": expected block IR that compiles, found the "
                           "errors above\n"),
              std::string::npos)
        << run.err;
  }
}

TEST(Refusals, ByTheCompiler) {
  TemporaryFile output("refused.ckpt");
  std::string tail = " -o " + output.path + " " + twin + " ";
  struct Case {
    const char *flags, *message;
  };
  for (const Case &c :
       {Case{"--backend=tourch", "--backend: expected none, torch, torch-ffn, "
                                 "unsloth or unsloth-ffn, found tourch"},
        Case{"--backend=torch --interval=0",
             "--interval: expected at least 1, found 0"},
        Case{"--backend=torch --interval=-3",
             "--interval: expected at least 1, found -3"},
        Case{"--backend=torch --interval=x",
             "--interval: expected an integer, found 'x'"},
        Case{"--backend=torch --interval=4 --segment-stride=3",
             "--segment-stride: expected at least the interval 4, found 3"},
        Case{"--interval=2",
             "--interval: expected a backend that checkpoints blocks"},
        Case{"--backend=unsloth --pin-memory-max-buckets=-1",
             "--pin-memory-max-buckets: expected 0 to 65536, found -1"},
        Case{"--backend=torch --interval ''",
             "--interval: expected a value, found nothing"},
        Case{"--intervals=2", "The following argument was not expected: "
                              "--intervals=2; see ckpt-compile --help"},
        Case{"--target=cuda",
             "--target: expected host or nvptx, found 'cuda'"}}) {
    ProgramRun run =
        refused(std::string(CKPT_COMPILE) + tail + c.flags, output.path);
    std::string start = std::string("ckpt-compile: error: ") + c.message;
    EXPECT_EQ(run.err.substr(0, start.size()), start);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

// An artifact made here, cut off at any place or of another version.
TEST(Refusals, ArtifactsThatAreDamaged) {
  TemporaryFile artifact("whole.ckpt");
  ASSERT_EQ(runProgram(std::string(CKPT_COMPILE) + " --plan-only -o " +
                       artifact.path + " " + twin)
                .code,
            0);
  std::string bytes = readAll(artifact.path);
  std::string count = std::to_string(bytes.size());
  for (size_t size :
       {size_t(3), size_t(10), bytes.size() / 3, bytes.size() - 1}) {
    TemporaryFile cut("cut.ckpt", bytes.substr(0, size));
    refuses(cut.path + " --dim image=4 --plan-only",
            cut.path + ": expected " + (size < 28 ? "at least 28" : count) +
                " bytes, found " + std::to_string(size) +
                "; the file is cut off");
  }
  std::string other = bytes;
  ++other[4];
  TemporaryFile version("version.ckpt", other);
  refuses(version.path + " --dim image=4 --plan-only",
          version.path + ": expected artifact version 2, found 3; compile it "
                         "again with this version's ckpt-compile");
}

// Weights that lack a tensor or are cut off: nothing runs, nothing is written.
TEST(Refusals, WeightsThatAreNotThere) {
  Model model = compileModel(smallTransformer(2), "f32", {{"tokens", 4}});
  PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
  std::vector<rt::SafetensorsTensor> tensors;
  for (const run::Tensor &tensor : none.tensors)
    if (tensor.external.kind == rt::ExternalKind::Param)
      tensors.push_back({tensor.external.name, tensor.shape,
                         tensor.external.type.dtype, tensor.data.get()});
  TemporaryFile artifact("weights.ckpt"), results("results.safetensors");
  std::ofstream(artifact.path, std::ios::binary)
      .write(reinterpret_cast<const char *>(model.loaded.artifact.data()),
             std::streamsize(model.loaded.artifact.size()));
  TemporaryFile whole("whole.safetensors"), lacking("lacking.safetensors");
  ASSERT_TRUE(rt::writeSafetensors(whole.path, tensors).ok());
  std::string run = std::string(CKPT_RUN) + " " + artifact.path +
                    " --dim tokens=4 --save-outputs=" + results.path +
                    " --weights=";
  ProgramRun good = runProgram(run + whole.path + " --report=json --seed=3");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(json::parse(good.out, nullptr, false)["digest"], none.digest);
  fs::remove(results.path);

  std::string missing = tensors.back().name;
  tensors.pop_back();
  ASSERT_TRUE(rt::writeSafetensors(lacking.path, tensors).ok());
  ProgramRun lacks = refused(run + lacking.path, results.path);
  EXPECT_NE(lacks.err.find(missing), std::string::npos) << lacks.err;
  EXPECT_NE(lacks.err.find(lacking.path), std::string::npos) << lacks.err;

  std::string bytes = readAll(whole.path);
  for (size_t size : {size_t(5), size_t(60), bytes.size() - 1}) {
    TemporaryFile cut("cut.safetensors", bytes.substr(0, size));
    ProgramRun cutOff = refused(run + cut.path, results.path);
    EXPECT_NE(cutOff.err.find(cut.path), std::string::npos) << cutOff.err;
  }
}

} // namespace
