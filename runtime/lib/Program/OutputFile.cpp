//===- OutputFile.cpp - a file that is whole or not there -----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/OutputFile.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace ckpt::rt;

OutputFile::OutputFile(const std::string &path) : path(path), target(path) {
  struct stat status;
  bool exists = stat(path.c_str(), &status) == 0;
  char resolved[PATH_MAX];
  if (exists && realpath(path.c_str(), resolved))
    target = resolved;
  if (!exists || S_ISREG(status.st_mode))
    temporary = target + ".tmp-" + std::to_string(getpid());
  file =
      std::fopen(temporary.empty() ? target.c_str() : temporary.c_str(), "wb");
  if (!file)
    failure = errno;
}

OutputFile::~OutputFile() {
  if (!file)
    return;
  std::fclose(file);
  if (!temporary.empty())
    std::remove(temporary.c_str());
}

void OutputFile::write(const void *data, size_t size) {
  if (!failure && std::fwrite(data, 1, size, file) != size)
    failure = errno;
}

Status OutputFile::fail(int code) const {
  return Error{path + ": cannot be written: " + std::strerror(code)};
}

Status OutputFile::commit() {
  if (!file)
    return fail(failure);
  if (std::fflush(file) != 0 && !failure)
    failure = errno;
  if (failure)
    return fail(failure);
  FILE *done = file;
  file = nullptr;
  bool ok = std::fclose(done) == 0;
  if (ok && !temporary.empty())
    ok = std::rename(temporary.c_str(), target.c_str()) == 0;
  if (ok)
    return {};
  int code = errno;
  if (!temporary.empty())
    std::remove(temporary.c_str());
  return fail(code);
}

Status ckpt::rt::writeFile(const std::string &path, const void *data,
                           size_t size) {
  OutputFile file(path);
  file.write(data, size);
  return file.commit();
}
