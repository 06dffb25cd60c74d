//===- SafetensorsTest.cpp - files of named tensors -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Tensors/Safetensors.h"
#include "Tensors/Convert.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace ckpt::rt;
namespace fs = std::filesystem;

namespace {
class Safetensors : public ::testing::Test {
protected:
  void SetUp() override {
    auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory = fs::path(::testing::TempDir()) /
                ("ckpt-safetensors-" + std::string(info->name()));
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string path(const std::string &name) const { return directory / name; }

  /// A file with this header and `dataBytes` bytes of 1s after it.
  std::string make(const std::string &header, size_t dataBytes,
                   int64_t headerLength = -1) const {
    std::ofstream file(path("made"), std::ios::binary);
    auto length =
        headerLength < 0 ? header.size() : static_cast<uint64_t>(headerLength);
    for (int i = 0; i < 8; ++i)
      file.put(static_cast<char>(length >> (8 * i)));
    file << header << std::string(dataBytes, '\1');
    return path("made");
  }

  /// The message of a file that must not open, less its path.
  std::string refusal(const std::string &header, size_t dataBytes,
                      int64_t headerLength = -1) const {
    auto file = SafetensorsFile::open(make(header, dataBytes, headerLength));
    if (file.ok())
      return "opened";
    std::string start = "'" + path("made") + "' is not a safetensors file: ";
    EXPECT_EQ(file.message().substr(0, start.size()), start);
    return file.message().substr(start.size());
  }

  fs::path directory;
};
} // namespace

static std::string entry(const std::string &name, const std::string &dtype,
                         const std::string &shape, const std::string &range) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + range + "}";
}

TEST_F(Safetensors, RoundTrip) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<uint16_t> b = {0x3f80, 0xc000};
  float scalar = 42;
  ASSERT_TRUE(
      writeSafetensors(path("t"), {{"a", {2, 3}, DType::F32, a.data()},
                                   {"b.w", {2}, DType::BF16, b.data()},
                                   {"s", {}, DType::F32, &scalar},
                                   {"none", {0, 4}, DType::F32, nullptr}})
          .ok());
  auto file = SafetensorsFile::open(path("t"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(file->entries().size(), 4u);
  std::vector<float> a2(6);
  std::vector<uint16_t> b2(2);
  float scalar2 = 0;
  EXPECT_TRUE(file->read("a", {2, 3}, DType::F32, a2.data()).ok());
  EXPECT_TRUE(file->read("b.w", {2}, DType::BF16, b2.data()).ok());
  EXPECT_TRUE(file->read("s", {}, DType::F32, &scalar2).ok());
  EXPECT_TRUE(file->read("none", {0, 4}, DType::F32, nullptr).ok());
  EXPECT_EQ(a, a2);
  EXPECT_EQ(b, b2);
  EXPECT_EQ(scalar2, 42);
  // Nothing but the file itself is left in the directory.
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1);
}

TEST_F(Safetensors, ConvertsToTheWantedType) {
  std::ofstream file(path("t"), std::ios::binary);
  // F16 1.5, F64 -0.25, BF16 2, F32 1 + 2^-8 (a tie for bf16).
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," +
                       entry("h", "F16", "[1]", "[0,2]") + "," +
                       entry("d", "F64", "[1]", "[2,10]") + "," +
                       entry("b", "BF16", "[1]", "[10,12]") + "," +
                       entry("f", "F32", "[1]", "[12,16]") + "," +
                       entry("i", "I64", "[1]", "[16,24]") + "}";
  uint64_t length = header.size(), i64 = 1;
  uint16_t half = 0x3e00, bf16 = 0x4000;
  double wide = -0.25;
  float tie = 1 + 0x1p-8f;
  auto put = [&](const auto &value) {
    file.write(reinterpret_cast<const char *>(&value), sizeof value);
  };
  put(length);
  file << header;
  put(half), put(wide), put(bf16), put(tie), put(i64);
  file.close();
  auto opened = SafetensorsFile::open(path("t"));
  ASSERT_TRUE(opened.ok()) << opened.message();
  float f = 0;
  uint16_t h = 0;
  EXPECT_TRUE(opened->read("h", {1}, DType::F32, &f).ok());
  EXPECT_EQ(f, 1.5f);
  EXPECT_TRUE(opened->read("d", {1}, DType::F32, &f).ok());
  EXPECT_EQ(f, -0.25f);
  EXPECT_TRUE(opened->read("b", {1}, DType::F32, &f).ok());
  EXPECT_EQ(f, 2.0f);
  EXPECT_TRUE(opened->read("h", {1}, DType::BF16, &h).ok());
  EXPECT_EQ(h, toBf16(1.5f));
  EXPECT_TRUE(opened->read("f", {1}, DType::BF16, &h).ok());
  EXPECT_EQ(h, 0x3f80);
  EXPECT_TRUE(opened->read("h", {1}, DType::F16, &h).ok());
  EXPECT_EQ(h, half);
  EXPECT_TRUE(opened->read("d", {1}, DType::F16, &h).ok());
  EXPECT_EQ(h, 0xb400);
  EXPECT_EQ(opened->read("i", {1}, DType::F32, &f).message(),
            "tensor 'i' in '" + path("t") +
                "': expected F32, BF16, F16 or F64, found I64");
}

TEST_F(Safetensors, HalvesAreWrittenAsF16) {
  uint16_t halves[] = {0x3c00, 0xc000}, back[2] = {};
  ASSERT_TRUE(
      writeSafetensors(path("t"), {{"a", {2}, DType::F16, halves}}).ok());
  auto file = SafetensorsFile::open(path("t"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(file->entries().at("a").dtype, "F16");
  EXPECT_TRUE(file->read("a", {2}, DType::F16, back).ok());
  EXPECT_EQ(back[1], 0xc000);
}

/// Every f16 value, what lies between it and the next, and their neighbours.
TEST(Convert, ToF16RoundsToNearestTiesToEven) {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    float value = fromF16(uint16_t(half));
    EXPECT_EQ(toF16(value), half);
    EXPECT_EQ(toF16(-value), half | 0x8000);
    // The largest value's next is 2^16.
    float next = half == 0x7bff ? 65536.0f : fromF16(uint16_t(half + 1));
    float middle = (value + next) / 2;
    EXPECT_EQ(toF16(middle), half + (half & 1)) << half;
    EXPECT_EQ(toF16(floatOf(bitsOf(middle) - 1)), half) << half;
    EXPECT_EQ(toF16(floatOf(bitsOf(middle) + 1)), half + 1) << half;
  }
  EXPECT_EQ(toF16(floatOf(0x7f800000)), 0x7c00);
  EXPECT_EQ(toF16(1e30f), 0x7c00);
  EXPECT_EQ(toF16(floatOf(0xff800000)), 0xfc00);
  EXPECT_EQ(toF16(floatOf(1)), 0);
  EXPECT_EQ(toF16(floatOf(0x7f800001)) & 0x7e00, 0x7e00);
}

TEST_F(Safetensors, NamesWhatIsMissingOrOfAnotherShape) {
  float value[2] = {1, 2};
  ASSERT_TRUE(
      writeSafetensors(path("t"), {{"a", {2}, DType::F32, value}}).ok());
  auto file = SafetensorsFile::open(path("t"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->read("b", {2}, DType::F32, value).message(),
            "no tensor 'b' in '" + path("t") + "'");
  EXPECT_EQ(file->read("a", {1, 2}, DType::F32, value).message(),
            "tensor 'a' in '" + path("t") +
                "': expected shape [1, 2], found [2]");
}

TEST_F(Safetensors, RefusesEveryTruncation) {
  std::vector<float> values(16, 1.0f);
  ASSERT_TRUE(
      writeSafetensors(path("t"), {{"a", {8}, DType::F32, values.data()},
                                   {"b", {8}, DType::F32, values.data()}})
          .ok());
  auto size = fs::file_size(path("t"));
  std::ifstream in(path("t"), std::ios::binary);
  std::string bytes(size, 0);
  in.read(bytes.data(), size);
  for (size_t cut = 0; cut < size; ++cut) {
    std::ofstream(path("cut"), std::ios::binary).write(bytes.data(), cut);
    EXPECT_FALSE(SafetensorsFile::open(path("cut")).ok()) << cut;
  }
  std::ofstream(path("cut"), std::ios::binary).write(bytes.data(), size - 4);
  EXPECT_EQ(SafetensorsFile::open(path("cut")).message(),
            "'" + path("cut") +
                "' is not a safetensors file: the file is cut off: tensor 'b' "
                "ends at byte 64 of the data, found 60 bytes of data");
}

TEST_F(Safetensors, RefusesHeadersThatAreNone) {
  EXPECT_EQ(refusal("{}", 0, 1000),
            "expected a header of 1000 bytes, found 2 bytes after its length");
  EXPECT_EQ(refusal("{}", 0, INT64_MAX),
            "expected a header of 9223372036854775807 bytes, found 2 bytes "
            "after its length");
  EXPECT_EQ(refusal("{\"a\":", 0), "expected a JSON object as header");
  EXPECT_EQ(refusal("[1]", 0), "expected a JSON object as header");
  EXPECT_EQ(
      refusal("{\"a\":1}", 0),
      "tensor 'a': expected an object with dtype, shape and data_offsets");
  EXPECT_EQ(refusal("{\"a\":{}}", 0), "tensor 'a': expected a string 'dtype'");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "2", "[0,8]") + "}", 8),
            "tensor 'a': expected an array 'shape'");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "[-2]", "[0,8]") + "}", 8),
            "tensor 'a': expected extents of at least 0 in 'shape', found -2");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "[2]", "[0]") + "}", 8),
            "tensor 'a': expected two byte positions as 'data_offsets'");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "[2]", "[-8,0]") + "}", 8),
            "tensor 'a': expected two byte positions as 'data_offsets'");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "[2]", "[8,0]") + "}", 8),
            "tensor 'a': data_offsets end before they begin: 8 to 0");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "[3]", "[0,8]") + "}", 8),
            "tensor 'a': expected 3 elements of F32, found 8 bytes");
  // 2^32 x 2^32 elements wrap around to 0 in 64 bits.
  EXPECT_EQ(
      refusal("{" + entry("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}",
              0),
      "tensor 'a': shape [4294967296, 4294967296] has too many elements");
  EXPECT_EQ(refusal("{" + entry("a", "F32", "[2]", "[0,8]") + "," +
                        entry("b", "F32", "[2]", "[4,12]") + "}",
                    12),
            "tensors 'a' and 'b' overlap at byte 4 of the data");
}

TEST_F(Safetensors, RefusesFilesThatAreNone) {
  EXPECT_EQ(SafetensorsFile::open(path("none")).message(),
            "cannot open '" + path("none") + "': No such file or directory");
  EXPECT_EQ(SafetensorsFile::open(directory).message(),
            "'" + directory.string() +
                "' is not a safetensors file: expected a regular file");
}

TEST_F(Safetensors, FailedWriteLeavesWhatWasThere) {
  float value = 1;
  std::string target = path("missing/t");
  EXPECT_EQ(
      writeSafetensors(target, {{"a", {1}, DType::F32, &value}}).message(),
      target + ": cannot be written: No such file or directory");
  // The rename fails on a directory; the temporary file must go.
  fs::create_directories(path("d/full"));
  EXPECT_FALSE(
      writeSafetensors(path("d"), {{"a", {1}, DType::F32, &value}}).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1);
  EXPECT_EQ(writeSafetensors(path("t"), {{"a", {1}, DType::F32, &value},
                                         {"a", {1}, DType::F32, &value}})
                .message(),
            "cannot write '" + path("t") + "': two tensors are named 'a'");
}
