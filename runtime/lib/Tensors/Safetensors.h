//===- Safetensors.h - files of named tensors -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The safetensors format: eight bytes with the header's length (little
/// endian), a JSON header `{name: {dtype, shape, data_offsets}}`, the data.
/// A file is checked as a whole when it is opened, so that reading a tensor
/// can fail only on its name, shape or type.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TENSORS_SAFETENSORS_H
#define CKPT_RT_TENSORS_SAFETENSORS_H

#include "Program/Program.h"
#include "Program/Result.h"

#include <memory>

namespace ckpt::rt {

/// A tensor of an open file.
struct SafetensorsEntry {
  /// As the file spells it: `F32`, `BF16`, `F16`, `F64`, `I64`.
  std::string dtype;
  std::vector<int64_t> shape;
  /// Bytes from the start of the data.
  uint64_t begin = 0, end = 0;
};

/// A file, mapped read-only until the last copy of this object is gone.
/// Reading is safe from several threads.
class SafetensorsFile {
public:
  /// Fails on a file that is missing, cut off, or whose header is not one.
  static Result<SafetensorsFile> open(const std::string &path);

  const std::map<std::string, SafetensorsEntry> &entries() const;
  const std::string &path() const;

  /// Copies a tensor of exactly this shape to `dst`, dense, as `dtype`. F32,
  /// BF16, F16 and F64 are converted to nearest, ties to even (by way of F32).
  Status read(const std::string &name, const std::vector<int64_t> &shape,
              DType dtype, void *dst) const;

private:
  struct Mapping;
  explicit SafetensorsFile(std::shared_ptr<const Mapping> mapping)
      : mapping(std::move(mapping)) {}
  std::shared_ptr<const Mapping> mapping;
};

/// A tensor to write; `data` is dense and the caller's.
struct SafetensorsTensor {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::F32;
  const void *data = nullptr;
};

/// Writes a whole file under a temporary name beside `path`, then renames it:
/// `path` holds all of it or what it held before.
Status writeSafetensors(const std::string &path,
                        const std::vector<SafetensorsTensor> &tensors);

} // namespace ckpt::rt

#endif // CKPT_RT_TENSORS_SAFETENSORS_H
