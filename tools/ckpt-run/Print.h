//===- Print.h - what a run shows -------------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_PRINT_H
#define CKPT_TOOLS_CKPT_RUN_PRINT_H

#include "Run.h"

namespace ckpt::run {

/// The report on standard output, as text or JSON; the schedule beside it.
/// False when standard output cannot be written.
bool printOutcome(const Options &options, const Outcome &outcome);

/// The trace and the picture that were asked for.
rt::Status writeFiles(const Options &options, const Outcome &outcome);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_PRINT_H
