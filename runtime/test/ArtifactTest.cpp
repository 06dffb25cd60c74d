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
            "expected artifact version 1, found 9; compile it again with this "
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
