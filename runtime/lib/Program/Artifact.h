//===- Artifact.h - a program in a file -------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The artifact file, all numbers little endian:
///   4  `CKPT`
///   4  format version
///   8  bytes of metadata
///   8  bytes of the object
///   4  CRC-32 of the 24 bytes above, the metadata and the object
///   .. metadata: the Program as CBOR, GPU code included, without the object
///   .. object: one shared object with every kernel (target `host`)
/// Another version is refused: artifacts are cheap to make again.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_ARTIFACT_H
#define CKPT_RT_PROGRAM_ARTIFACT_H

#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::rt {

constexpr uint32_t artifactVersion = 2;

std::vector<uint8_t> serialize(const Program &program);

/// The program of these bytes, every index in it within range. Fails on
/// anything that `serialize` did not write.
Result<Program> deserialize(const uint8_t *data, size_t size);

/// The bytes begin as an artifact does.
bool isArtifact(const uint8_t *data, size_t size);

/// Writes beside `path` and renames, so that `path` is never half-written.
Status writeArtifact(const std::string &path, const Program &program);
Result<Program> readArtifact(const std::string &path);

/// The bytes of a file. Fails with `PATH: cannot be read: ...`.
Result<std::vector<uint8_t>> readFile(const std::string &path);

/// Every index is within range, every list as long as its subject says, every
/// named size declared and every value's type that of its port.
Status validate(const Program &program);

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_ARTIFACT_H
