//===- Artifact.cpp - a program in a file ---------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Artifact.h"

#include "Program/ArtifactJson.h"
#include "Program/OutputFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <zlib.h>

using namespace ckpt::rt;

namespace {

constexpr char magic[] = {'C', 'K', 'P', 'T'};
constexpr size_t checksumAt = 24, headerBytes = 28;

template <typename Int>
void putInt(std::vector<uint8_t> &bytes, Int value) {
  for (size_t i = 0; i < sizeof(Int); ++i)
    bytes.push_back(uint8_t(value >> (8 * i)));
}

template <typename Int>
Int getInt(const uint8_t *data) {
  Int value = 0;
  for (size_t i = 0; i < sizeof(Int); ++i)
    value |= Int(data[i]) << (8 * i);
  return value;
}

uint32_t checksumOf(const uint8_t *data, size_t size) {
  uLong sum = crc32_z(0, data, checksumAt);
  return uint32_t(crc32_z(sum, data + headerBytes, size - headerBytes));
}

} // namespace

std::vector<uint8_t> ckpt::rt::serialize(const Program &program) {
  std::vector<uint8_t> metadata =
      nlohmann::json::to_cbor(programToJson(program));
  std::vector<uint8_t> bytes(std::begin(magic), std::end(magic));
  putInt(bytes, artifactVersion);
  putInt(bytes, uint64_t(metadata.size()));
  putInt(bytes, uint64_t(program.object.size()));
  bytes.resize(headerBytes);
  bytes.insert(bytes.end(), metadata.begin(), metadata.end());
  bytes.insert(bytes.end(), program.object.begin(), program.object.end());
  uint32_t checksum = checksumOf(bytes.data(), bytes.size());
  for (size_t i = 0; i < sizeof checksum; ++i)
    bytes[checksumAt + i] = uint8_t(checksum >> (8 * i));
  return bytes;
}

bool ckpt::rt::isArtifact(const uint8_t *data, size_t size) {
  return size >= sizeof magic && std::memcmp(data, magic, sizeof magic) == 0;
}

Result<Program> ckpt::rt::deserialize(const uint8_t *data, size_t size) {
  if (size >= sizeof magic && !isArtifact(data, size))
    return Error{"expected an artifact, which begins with CKPT, found other "
                 "bytes"};
  if (size < headerBytes)
    return Error{"expected at least " + std::to_string(headerBytes) +
                 " bytes, found " + std::to_string(size) +
                 "; the file is cut off"};
  auto version = getInt<uint32_t>(data + 4);
  if (version != artifactVersion)
    return Error{"expected artifact version " +
                 std::to_string(artifactVersion) + ", found " +
                 std::to_string(version) +
                 "; compile it again with this version's ckpt-compile"};
  auto metadataBytes = getInt<uint64_t>(data + 8);
  auto objectBytes = getInt<uint64_t>(data + 16);
  size_t payload = size - headerBytes;
  // Compared without adding what a damaged header says.
  if (metadataBytes > payload || objectBytes != payload - metadataBytes) {
    uint64_t expected;
    if (__builtin_add_overflow(metadataBytes, objectBytes, &expected) ||
        __builtin_add_overflow(expected, uint64_t(headerBytes), &expected))
      return Error{"expected lengths of a file in the header, found damaged "
                   "ones"};
    return Error{"expected " + std::to_string(expected) + " bytes, found " +
                 std::to_string(size) +
                 (expected > size ? "; the file is cut off"
                                  : "; something was appended to the file")};
  }
  auto checksum = getInt<uint32_t>(data + checksumAt);
  if (checksum != checksumOf(data, size))
    return Error{"expected checksum " + std::to_string(checksum) + ", found " +
                 std::to_string(checksumOf(data, size)) +
                 "; the file is damaged"};

  Program program;
  const uint8_t *metadata = data + headerBytes;
  try {
    program = programFromJson(
        nlohmann::json::from_cbor(metadata, metadata + metadataBytes));
  } catch (const std::exception &error) {
    return Error{std::string("expected a program in the artifact, found ") +
                 error.what()};
  }
  program.object.assign(metadata + metadataBytes, data + size);
  if (Status status = validate(program); !status.ok())
    return Error{status.message()};
  return program;
}

Status ckpt::rt::writeArtifact(const std::string &path,
                               const Program &program) {
  std::vector<uint8_t> bytes = serialize(program);
  return writeFile(path, bytes.data(), bytes.size());
}

Result<std::vector<uint8_t>> ckpt::rt::readFile(const std::string &path) {
  auto failed = [&] {
    return Error{path + ": cannot be read: " + std::strerror(errno)};
  };
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return failed();
  std::vector<uint8_t> bytes;
  uint8_t chunk[1 << 16];
  while (size_t count = std::fread(chunk, 1, sizeof chunk, file))
    bytes.insert(bytes.end(), chunk, chunk + count);
  if (std::ferror(file)) {
    Error error = failed();
    std::fclose(file);
    return error;
  }
  std::fclose(file);
  return bytes;
}

Result<Program> ckpt::rt::readArtifact(const std::string &path) {
  Result<std::vector<uint8_t>> bytes = readFile(path);
  if (!bytes.ok())
    return bytes.takeError();
  Result<Program> program = deserialize(bytes->data(), bytes->size());
  if (!program.ok())
    return Error{path + ": " + program.message()};
  return program;
}
