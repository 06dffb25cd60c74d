//===- ArtifactTest.cpp - a program in a file -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Artifact.h"
#include "TestProgram.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace ckpt::rt;

namespace {

/// GPU code for every kernel, with each kind of argument.
void addRecipes(Program &program) {
  program.target = "nvptx";
  program.chip = "sm_90a";
  program.functions = {{"f", ".version 8.6", {1, 2, 0xff}, 384, 2, 229504},
                       {"g", ".version 8.6 // g", {}, 128, 1, 0}};
  Formula rows = Size::symbol("rows");
  using Kind = LaunchArgument::Kind;
  LaunchArgument map, pointer, count, wide, number;
  map.kind = Kind::Map;
  map.argument = 0;
  map.extents = {64, rows};
  map.strides = {rows * 2};
  map.box = {64, 128};
  map.dtype = DType::F16;
  map.swizzle = 64;
  pointer.argument = -1;
  pointer.offset = rows * 16;
  count.kind = Kind::Int32;
  count.value = Formula::ceilDiv(rows, 128);
  wide.kind = Kind::Int64;
  wide.value = rows;
  number.kind = Kind::Float32;
  number.number = 0.125;
  GpuLaunch fill, launch;
  fill.arguments = {pointer};
  fill.fillBytes = rows * 4;
  launch.function = 1;
  launch.gridX =
      Formula::min(Size::symbol(multiprocessors), Formula::ceilDiv(rows, 128));
  launch.arguments = {map, pointer, count, wide, number};
  for (Kernel &kernel : program.kernels)
    kernel.alternatives = {{"128 rows", rows * 3, {fill, launch}},
                           {"64 rows", rows * 4, {launch}}};
}

/// Something in every field, each kind of attribute among it.
Program fullProgram() {
  Program program = makeAdapterProgram(3);
  GraphOp op;
  op.name = "linear";
  op.operands = {0, -1, 2};
  op.results = {3};
  op.attributes["eps"] = 1e-6;
  op.attributes["axis"] = int64_t(-1);
  op.attributes["approximate"] = std::string("tanh");
  op.attributes["order"] = std::vector<int64_t>{0, 2, 1};
  // A number that is whole stays what it was.
  op.attributes["scale"] = 2.0;
  op.scope = Scope::Ffn;
  Graph &graph = program.kinds[0].graph;
  graph.values.assign(4, {{Size::symbol("rows"), 8}, DType::BF16});
  graph.ops = {op};
  graph.results = {3};
  program.defaults.backend = Backend::Unsloth;
  program.defaults.interval = 2;
  program.defaults.pinMemoryMaxBuckets = 0;
  program.kernels[0].workspaceBytes = Size::symbol("rows") * 4 + 64;
  addRecipes(program);
  for (int i = 0; i < 300; ++i)
    program.object.push_back(uint8_t(i * 7));
  return program;
}

Result<Program> read(const std::vector<uint8_t> &bytes) {
  return deserialize(bytes.data(), bytes.size());
}

TEST(Artifact, ComesBackAsItWas) {
  for (const Program &program :
       {fullProgram(), makeDitProgram(5), makeDitProgram(1, smallDitShape())}) {
    std::vector<uint8_t> bytes = serialize(program);
    Result<Program> back = read(bytes);
    ASSERT_TRUE(back.ok()) << back.message();
    EXPECT_EQ(serialize(*back), bytes);
  }
  Program back = *read(serialize(fullProgram()));
  const GraphOp &op = back.kinds[0].graph.ops[0];
  EXPECT_EQ(op.attributes, fullProgram().kinds[0].graph.ops[0].attributes);
  EXPECT_EQ(op.operands, (std::vector<int>{0, -1, 2}));
  EXPECT_EQ(back.defaults.interval, 2);
  EXPECT_FALSE(back.defaults.segmentStride);
  EXPECT_EQ(back.defaults.pinMemoryMaxBuckets, 0);
  EXPECT_EQ(back.object, fullProgram().object);
  EXPECT_EQ(back.kernels[0].workspaceBytes.str(), "4*rows + 64");
  EXPECT_EQ(back.kinds[0].variants[0].demand,
            fullProgram().kinds[0].variants[0].demand);
}

TEST(Artifact, RecipesComeBackAsTheyWere) {
  Program back = *read(serialize(fullProgram()));
  EXPECT_EQ(back.target, "nvptx");
  EXPECT_EQ(back.chip, "sm_90a");
  ASSERT_EQ(back.functions.size(), 2u);
  EXPECT_EQ(back.functions[0].symbol, "f");
  EXPECT_EQ(back.functions[0].ptx, ".version 8.6");
  EXPECT_EQ(back.functions[0].cubin, (std::vector<uint8_t>{1, 2, 0xff}));
  EXPECT_EQ(back.functions[0].threads, 384);
  EXPECT_EQ(back.functions[0].cluster, 2);
  EXPECT_EQ(back.functions[0].sharedBytes, 229504);
  const Alternative &alternative = back.kernels[0].alternatives[0];
  EXPECT_EQ(alternative.name, "128 rows");
  EXPECT_EQ(alternative.cost.str(), "3*rows");
  EXPECT_EQ(alternative.launches[0].function, -1);
  EXPECT_EQ(alternative.launches[0].fillBytes.str(), "4*rows");
  const GpuLaunch &launch = alternative.launches[1];
  EXPECT_EQ(launch.gridX.str(), "min($sms, ceildiv(rows, 128))");
  EXPECT_EQ(launch.gridY.str(), "1");
  ASSERT_EQ(launch.arguments.size(), 5u);
  const LaunchArgument &map = launch.arguments[0];
  EXPECT_EQ(map.kind, LaunchArgument::Kind::Map);
  EXPECT_EQ(map.argument, 0);
  EXPECT_EQ(map.extents[1].str(), "rows");
  EXPECT_EQ(map.strides[0].str(), "2*rows");
  EXPECT_EQ(map.box, (std::vector<int>{64, 128}));
  EXPECT_EQ(map.dtype, DType::F16);
  EXPECT_EQ(map.swizzle, 64);
  EXPECT_EQ(launch.arguments[1].argument, -1);
  EXPECT_EQ(launch.arguments[1].offset.str(), "16*rows");
  EXPECT_EQ(launch.arguments[2].value.str(), "ceildiv(rows, 128)");
  EXPECT_EQ(launch.arguments[4].number, 0.125);
}

TEST(Artifact, RecipesAreInRange) {
  struct Case {
    std::function<void(Program &, GpuLaunch &)> damage;
    const char *message;
  };
  const Case cases[] = {
      {[](Program &p, GpuLaunch &) { p.target = "riscv"; },
       "the artifact's target: expected host or nvptx, found riscv"},
      {[](Program &p, GpuLaunch &) { p.functions[0].threads = 0; },
       "the artifact's threads of GPU function f: expected 1 to 1024, found 0"},
      {[](Program &p, GpuLaunch &) { p.functions[0].cluster = 9; },
       "the artifact's cluster of GPU function f: expected 1 to 8, found 9"},
      {[](Program &p, GpuLaunch &) { p.functions[1].ptx.clear(); },
       "the artifact's PTX of GPU function g: expected a text, found none"},
      {[](Program &p, GpuLaunch &) { p.kernels[0].alternatives.clear(); },
       "the artifact's kernel gemm_bias_add: expected a way to run it, found "
       "none"},
      {[](Program &, GpuLaunch &l) { l.function = 2; },
       "the artifact's function of kernel gemm_bias_add: expected an index "
       "below 2, found 2"},
      {[](Program &, GpuLaunch &l) { l.function = -1; },
       "the artifact's fill of kernel gemm_bias_add: expected one pointer, "
       "found other arguments"},
      {[](Program &, GpuLaunch &l) { l.gridZ = Size::symbol("text"); },
       "the artifact's launch of kernel gemm_bias_add: expected declared sizes "
       "only, found text"},
      {[](Program &, GpuLaunch &l) { l.arguments[1].argument = 5; },
       "the artifact's launch argument of kernel gemm_bias_add: expected an "
       "index below 5, found 5"},
      {[](Program &, GpuLaunch &l) { l.arguments[0].strides.clear(); },
       "the artifact's strides of map of kernel gemm_bias_add: expected 1 "
       "entries, found 0"},
      {[](Program &, GpuLaunch &l) { l.arguments[0].box[1] = 257; },
       "the artifact's box of map of kernel gemm_bias_add: expected 1 to 256 "
       "elements, found 257"},
      {[](Program &, GpuLaunch &l) { l.arguments[0].swizzle = 16; },
       "the artifact's swizzle of map of kernel gemm_bias_add: expected 0, 32, "
       "64 or 128, found 16"},
  };
  for (const Case &c : cases) {
    Program program = fullProgram();
    c.damage(program, program.kernels[0].alternatives[0].launches[1]);
    EXPECT_EQ(read(serialize(program)).message(), c.message);
  }
}

TEST(Artifact, EveryPrefixIsRefused) {
  std::vector<uint8_t> bytes = serialize(fullProgram());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read past the end.
    std::vector<uint8_t> prefix(bytes.begin(), bytes.begin() + size);
    Result<Program> back = read(prefix);
    ASSERT_FALSE(back.ok()) << size;
    ASSERT_NE(back.message().find("cut off"), std::string::npos)
        << back.message();
  }
  EXPECT_EQ(read({bytes.begin(), bytes.end() - 1}).message(),
            "expected " + std::to_string(bytes.size()) + " bytes, found " +
                std::to_string(bytes.size() - 1) + "; the file is cut off");
  bytes.push_back(0);
  EXPECT_EQ(read(bytes).message(),
            "expected " + std::to_string(bytes.size() - 1) + " bytes, found " +
                std::to_string(bytes.size()) +
                "; something was appended to the file");
}

TEST(Artifact, EveryFlippedByteIsRefused) {
  const std::vector<uint8_t> bytes = serialize(fullProgram());
  std::mt19937 random(3);
  for (size_t at = 0; at < bytes.size();
       at += at < 64 ? 1 : bytes.size() / 200) {
    std::vector<uint8_t> flipped = bytes;
    flipped[at] ^= uint8_t(1 + random() % 255);
    ASSERT_FALSE(read(flipped).ok()) << at;
  }
}

TEST(Artifact, MessagesOfTheHeader) {
  std::vector<uint8_t> bytes = serialize(fullProgram());
  std::vector<uint8_t> other = bytes;
  other[4] = 9;
  EXPECT_EQ(read(other).message(),
            "expected artifact version 2, found 9; compile it again with this "
            "version's ckpt-compile");
  other = bytes;
  other[0] = 'X';
  EXPECT_EQ(read(other).message(), "expected an artifact, which begins with "
                                   "CKPT, found other bytes");
  other = bytes;
  other.back() ^= 1;
  EXPECT_NE(read(other).message().find("; the file is damaged"),
            std::string::npos);
}

/// A program with one thing out of range must be refused although its
/// checksum is right.
TEST(Artifact, IndicesAreInRange) {
  struct Case {
    std::function<void(Program &)> damage;
    const char *message;
  };
  // The block has 28 values, 14 ops, 8 saved values, and 12 kernels: both
  // kinds of norm are shared.
  const Case cases[] = {
      {[](Program &p) { p.stacks[0].blocks[1] = 1; },
       "the artifact's block of stack @model: expected an index below 1, "
       "found 1"},
      {[](Program &p) { p.kinds[0].ops[0].kernel = -1; },
       "the artifact's kernel of op f0 of @dit: expected an index below 12, "
       "found -1"},
      {[](Program &p) { p.kinds[0].ops[1].reads[0] = 1000; },
       "the artifact's reads of op f1 of @dit: expected an index below 28, "
       "found 1000"},
      {[](Program &p) { p.kinds[0].ops[1].reads.pop_back(); },
       "the artifact's reads of op f1 of @dit: expected 3 entries, found 2"},
      {[](Program &p) { p.kinds[0].ops[0].inPlace = {{0, 2}}; },
       "the artifact's in place writes of op f0 of @dit: expected an index "
       "below 2, found 2"},
      {[](Program &p) { p.kinds[0].numForwardOps = 99; },
       "the artifact's number of forward ops of @dit: expected an index below "
       "15, found 99"},
      {[](Program &p) { p.kinds[0].saved[1].value = -1; },
       "the artifact's saved value stats1 of @dit: expected an index below "
       "28, found -1"},
      {[](Program &p) { p.kinds[0].saved[1].value = 0; },
       "the artifact's saved value stats1 of @dit: expected each value saved "
       "once, found it saved twice"},
      {[](Program &p) { p.kinds[0].variants[0].demand.fates.pop_back(); },
       "the artifact's fates of a variant of @dit: expected 8 entries, found "
       "7"},
      {[](Program &p) { p.kinds[0].variants[0].backward[0].index = 1; },
       "the artifact's variant step of @dit: expected an index below 14, "
       "found 1"},
      {[](Program &p) { p.kinds[0].variants[0].forward[0].writes.clear(); },
       "the artifact's writes of a variant step of @dit: expected 2 entries, "
       "found 0"},
      {[](Program &p) { p.kinds[0].values[0].type.dims.pop_back(); },
       "the artifact's value x of @dit: expected batch x image x 3072 x bf16, "
       "found batch x image x bf16"},
      {[](Program &p) { p.kinds[0].values[0].index = 1; },
       "the artifact's value x of @dit: expected an index below 1, found 1"},
      {[](Program &p) { p.sizes.pop_back(); },
       "the artifact's kernel norm: expected declared sizes only, found "
       "image"},
      {[](Program &p) { p.kinds[0].results.clear(); },
       "the artifact's results of @dit: expected 1 entries, found 0"},
      {[](Program &p) { p.kinds[0].params[0].encoding = "int8"; },
       "the artifact's encoding of blocks.{i}.qkv.weight: expected dense, "
       "found int8"},
      {[](Program &p) { p.casts.push_back({"grad.x", 99}); },
       "the artifact's cast of grad.x: expected an index below 12, found 99"},
  };
  for (const Case &c : cases) {
    Program program = makeDitProgram(2);
    c.damage(program);
    EXPECT_EQ(read(serialize(program)).message(), c.message);
  }
}

TEST(Artifact, FilesAreWrittenWhole) {
  namespace fs = std::filesystem;
  fs::path dir = fs::path(testing::TempDir()) / "ckpt-artifact-test";
  fs::remove_all(dir);
  fs::create_directory(dir);
  std::string path = (dir / "step.ckpt").string();
  Program program = fullProgram();
  Status written = writeArtifact(path, program);
  ASSERT_TRUE(written.ok()) << written.message();
  Result<Program> back = readArtifact(path);
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(serialize(*back), serialize(program));
  // Nothing else is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), 1);

  fs::resize_file(path, 40);
  EXPECT_EQ(readArtifact(path).message().rfind(path + ": expected ", 0), 0u);
  EXPECT_EQ(readArtifact(path + "x").message(),
            path + "x: cannot be read: No such file or directory");
  EXPECT_EQ(readArtifact(dir.string()).message(),
            dir.string() + ": cannot be read: Is a directory");
  std::string nowhere = (dir / "missing" / "step.ckpt").string();
  EXPECT_EQ(writeArtifact(nowhere, program).message(),
            nowhere + ": cannot be written: No such file or directory");
  fs::remove_all(dir);
}

} // namespace
