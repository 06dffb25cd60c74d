//===- OutputPaths.cpp - files that a command line asks for ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CommandLine/OutputPaths.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace ckpt;
using namespace ckpt::tools;
namespace fs = std::filesystem;

namespace {

/// The one absolute path of a file that may not be there yet, without links;
/// empty for a pipe or device.
std::string identityOf(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return "";
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

/// errno of what keeps the file from being written, or 0.
int obstacleOf(const std::string &path) {
  struct stat status;
  bool exists = stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT)
    return errno;
  if (exists && S_ISDIR(status.st_mode))
    return EISDIR;
  if (exists && !S_ISREG(status.st_mode))
    return access(path.c_str(), W_OK) == 0 ? 0 : errno;
  // It is written beside its place and renamed.
  std::error_code error;
  fs::path target = exists ? fs::canonical(path, error) : fs::path(path);
  if (target.filename().empty())
    return EISDIR;
  fs::path directory = target.parent_path();
  if (directory.empty())
    directory = ".";
  if (stat(directory.c_str(), &status) != 0)
    return errno;
  if (!S_ISDIR(status.st_mode))
    return ENOTDIR;
  return access(directory.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

} // namespace

rt::Status tools::checkOutputs(const std::vector<FlaggedPath> &outputs,
                               const std::vector<FlaggedPath> &inputs) {
  struct Known {
    std::string flag, identity;
  };
  std::vector<Known> known;
  for (const FlaggedPath &input : inputs)
    if (!input.path.empty())
      known.push_back({input.flag, identityOf(input.path)});
  for (const FlaggedPath &output : outputs) {
    if (output.path.empty())
      continue;
    if (int obstacle = obstacleOf(output.path))
      return rt::Error{output.flag + ": expected a file that can be written, " +
                       "found " + output.path + " (" + std::strerror(obstacle) +
                       ")"};
    std::string identity = identityOf(output.path);
    for (const Known &other : known)
      if (!identity.empty() && identity == other.identity)
        return rt::Error{output.flag + ": expected a file of its own, found " +
                         output.path + " also given as " + other.flag +
                         "; give one of them another path"};
    known.push_back({output.flag, identity});
  }
  return {};
}
