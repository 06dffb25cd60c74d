//===- Execute.h - the step on its device -----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_EXECUTE_H
#define CKPT_TOOLS_CKPT_RUN_EXECUTE_H

#include "Run.h"

namespace ckpt::run {

/// Runs the planned step on the device of the program's target, times it,
/// checks it and saves its results, as far as the options ask for that.
std::optional<Failure> execute(const Options &options, const Loaded &loaded,
                               Outcome &outcome);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_EXECUTE_H
