//===- OutputFile.h - a file that is whole or not there ---------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_OUTPUTFILE_H
#define CKPT_RT_PROGRAM_OUTPUTFILE_H

#include "Program/Result.h"

#include <cstddef>
#include <cstdio>

namespace ckpt::rt {

/// Writes beside the file and renames in `commit`, so that it is never
/// half-written; what a link points to is written, not the link. A pipe or a
/// device is written as it is. Without `commit` nothing is left.
class OutputFile {
public:
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// What fails here is told by `commit`.
  void write(const void *data, size_t size);
  /// Fails with `PATH: cannot be written: ...`.
  Status commit();

private:
  Status fail(int code) const;

  std::string path, target, temporary;
  FILE *file = nullptr;
  /// errno of the first failure.
  int failure = 0;
};

/// All of it at once.
Status writeFile(const std::string &path, const void *data, size_t size);

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_OUTPUTFILE_H
