//===- OutputFileTest.cpp - a file that is whole or not there -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/OutputFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace ckpt::rt;
namespace fs = std::filesystem;

namespace {

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    folder =
        fs::temp_directory_path() / ("ckpt-output-" + std::to_string(getpid()));
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char *name) const { return (folder / name).string(); }
  std::string read(const char *name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t numFiles() const {
    return size_t(std::distance(fs::directory_iterator(folder), {}));
  }

  fs::path folder;
};

TEST_F(OutputFileTest, IsThereAfterCommitAlone) {
  {
    OutputFile file(path("a"));
    file.write("abc", 3);
    EXPECT_FALSE(fs::exists(path("a")));
  }
  EXPECT_EQ(numFiles(), 0u);
  ASSERT_TRUE(writeFile(path("a"), "abc", 3).ok());
  EXPECT_EQ(read("a"), "abc");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(OutputFileTest, WritesWhatALinkPointsTo) {
  ASSERT_TRUE(writeFile(path("a"), "old", 3).ok());
  fs::create_symlink(path("a"), path("link"));
  ASSERT_TRUE(writeFile(path("link"), "new", 3).ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read("a"), "new");
}

TEST_F(OutputFileTest, WritesAPipeAsItIs) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read("pipe"); });
  Status status = writeFile(path("pipe"), "abc", 3);
  reader.join();
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(got, "abc");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(OutputFileTest, SaysWhyItCannotWrite) {
  Status status = writeFile(path("no/such"), "abc", 3);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(),
            path("no/such") + ": cannot be written: No such file or directory");
  status = writeFile(folder.string(), "abc", 3);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(),
            folder.string() + ": cannot be written: Is a directory");
}

} // namespace
