//===- OutputPaths.h - files that a command line asks for -------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_COMMANDLINE_OUTPUTPATHS_H
#define CKPT_TOOLS_COMMANDLINE_OUTPUTPATHS_H

#include "Program/Result.h"

#include <string>
#include <vector>

namespace ckpt::tools {

/// A flag and the file that it names; an empty path is a flag left out.
struct FlaggedPath {
  std::string flag, path;
};

/// Before any work: that each output can be written (the way that
/// `rt::OutputFile` writes) and is neither an input nor another output. Pipes
/// and devices may be shared. Writes nothing.
rt::Status checkOutputs(const std::vector<FlaggedPath> &outputs,
                        const std::vector<FlaggedPath> &inputs);

} // namespace ckpt::tools

#endif // CKPT_TOOLS_COMMANDLINE_OUTPUTPATHS_H
