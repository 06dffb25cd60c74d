//===- CodeTest.cpp - the assembler's gate and the cache ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Conversion/CkptToNVVM/CodeCache.h"
#include "../../lib/Conversion/CkptToNVVM/Ptx.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

using namespace ckpt::nvptx;

//===----------------------------------------------------------------------===//
// What ptxas says
//===----------------------------------------------------------------------===//

TEST(Gate, PassesWhatIsFast) {
  EXPECT_EQ(findFaults("ptxas info    : 0 bytes gmem\n"
                       "ptxas info    : Function properties for gemm\n"
                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes "
                       "spill loads\n"
                       "ptxas info    : Used 168 registers, used 2 barriers\n"),
            "");
  // An arrive that ptxas adds by itself costs nothing.
  EXPECT_EQ(findFaults("ptxas info    : (C7519) warpgroup.arrive is injected "
                       "in around line 1401 by compiler to allow use of "
                       "registers in GMMA in function 'bwd'\n"),
            "");
}

TEST(Gate, FindsEachFault) {
  EXPECT_EQ(findFaults("    8 bytes stack frame, 8 bytes spill stores, 4 bytes "
                       "spill loads\n"),
            "8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads");
  EXPECT_EQ(findFaults("    0 bytes stack frame, 0 bytes spill stores, 4 bytes "
                       "spill loads\n"),
            "0 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads");
  std::string serialized =
      "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async "
      "instructions are serialized due to insufficient register resources";
  EXPECT_EQ(findFaults("first\n" + serialized + "\nlast\n"), serialized);
  std::string ignored = "ptxas warning : setmaxnreg ignored to maintain "
                        "minimum register requirements";
  EXPECT_EQ(findFaults(ignored), ignored);
}

TEST(Gate, AssemblesAndRefuses) {
  llvm::Expected<Assembler> assembler = Assembler::find();
  if (!assembler)
    GTEST_SKIP() << llvm::toString(assembler.takeError());
  EXPECT_NE(assembler->version(), "");
  const char *ptx = ".version 8.6\n.target sm_90a\n.address_size 64\n"
                    ".visible .entry nothing() { ret; }\n";
  llvm::Expected<std::vector<uint8_t>> cubin =
      assembler->assemble(ptx, "sm_90a", "nothing");
  ASSERT_TRUE(bool(cubin)) << llvm::toString(cubin.takeError());
  EXPECT_EQ(std::string(cubin->begin(), cubin->begin() + 4), "\x7f"
                                                             "ELF");
  llvm::Expected<std::vector<uint8_t>> bad =
      assembler->assemble("no ptx", "sm_90a", "broken");
  ASSERT_FALSE(bool(bad));
  std::string message = llvm::toString(bad.takeError());
  EXPECT_NE(message.find("@broken: "), std::string::npos) << message;
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

namespace {
/// A directory of its own for each test.
class Cache : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ckpt", directory));
    setenv("CKPT_CACHE_DIR", directory.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("CKPT_CACHE_DIR");
    llvm::sys::fs::remove_directories(directory);
  }
  std::string fileOf(llvm::StringRef key) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, key);
    return path.str().str();
  }
  llvm::SmallString<128> directory;
};
} // namespace

TEST_F(Cache, GivesBackWhatWasPut) {
  CodeCache cache;
  EXPECT_EQ(cache.find("a"), std::nullopt);
  std::string bytes("\0\n\xff", 3);
  cache.insert("a", bytes);
  EXPECT_EQ(cache.find("a"), bytes);
  EXPECT_EQ(CodeCache().find("a"), bytes);
  EXPECT_EQ(cache.find("b"), std::nullopt);
}

TEST_F(Cache, KeysTellPartsApart) {
  EXPECT_NE(CodeCache::keyOf({"ab", "c"}), CodeCache::keyOf({"a", "bc"}));
  EXPECT_EQ(CodeCache::keyOf({"ab", "c"}), CodeCache::keyOf({"ab", "c"}));
}

TEST_F(Cache, NothingUnderAnEmptyKey) {
  CodeCache cache;
  cache.insert("", "code");
  EXPECT_EQ(cache.find(""), std::nullopt);
}

TEST(BuildId, TellsThisBuild) {
  EXPECT_EQ(buildId().size(), 40u);
  EXPECT_EQ(buildId(), buildId());
}

TEST_F(Cache, DamageCountsAsAbsent) {
  CodeCache cache;
  cache.insert("a", "some code");
  std::string text =
      (*llvm::MemoryBuffer::getFile(fileOf("a")))->getBuffer().str();
  auto rewrite = [&](llvm::StringRef contents) {
    std::error_code error;
    llvm::raw_fd_ostream stream(fileOf("a"), error);
    stream << contents;
  };
  std::string flipped = text;
  flipped.back() ^= 1;
  for (llvm::StringRef damaged :
       {llvm::StringRef(flipped), llvm::StringRef(text).drop_back(),
        llvm::StringRef("short"), llvm::StringRef()}) {
    rewrite(damaged);
    EXPECT_EQ(cache.find("a"), std::nullopt);
  }
  cache.insert("a", "some code");
  EXPECT_EQ(cache.find("a"), "some code");
}

TEST_F(Cache, ManyWritersAtOnce) {
  // Whoever comes last wins; a reader sees one of them whole or nothing.
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([i] {
      for (int round = 0; round < 50; ++round)
        CodeCache().insert("a", std::string(10000, char('a' + i)));
    });
  for (int round = 0; round < 200; ++round)
    if (std::optional<std::string> found = CodeCache().find("a")) {
      ASSERT_EQ(found->size(), 10000u);
      EXPECT_EQ(found->find_first_not_of(found->front()), std::string::npos);
    }
  for (std::thread &writer : writers)
    writer.join();
  ASSERT_TRUE(CodeCache().find("a").has_value());
}

TEST_F(Cache, WithoutADirectoryNothingIsKept) {
  // A file where the directory should be.
  std::string path = fileOf("file");
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << "x";
  setenv("CKPT_CACHE_DIR", path.c_str(), 1);
  CodeCache cache;
  cache.insert("a", "code");
  EXPECT_EQ(cache.find("a"), std::nullopt);
}
