//===- Load.h - a program from an artifact or block IR ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_LOAD_H
#define CKPT_TOOLS_CKPT_RUN_LOAD_H

#include "Options.h"

#include <memory>

namespace ckpt::run {

struct Loaded {
  std::shared_ptr<const rt::Program> program;
  /// The whole artifact, for the oracle.
  std::vector<uint8_t> artifact;
};

/// Reads an artifact; compiles block IR through libckpt, without kernels under
/// `--plan-only`. The compiler's own diagnostics go to standard error.
rt::Result<Loaded> load(const Options &options);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_LOAD_H
