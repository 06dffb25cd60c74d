//===- Run.h - plan, execute, check -----------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_RUN_H
#define CKPT_TOOLS_CKPT_RUN_RUN_H

#include "Load.h"
#include "Report/JsonReport.h"

namespace ckpt::run {

/// A failure and whose it is.
struct Failure {
  std::string message;
  int exitCode = exitBadInput;
};

struct Outcome {
  std::shared_ptr<const rt::Program> program;
  std::shared_ptr<const rt::Schedule> schedule;
  rt::RunReport report;
  /// Start and end seconds per command: measured when the step was executed
  /// and a trace or picture wants them, predicted otherwise.
  std::vector<std::pair<double, double>> times;
};

/// Does all that was asked for but the printing. Sets `outcome` as far as it
/// came.
std::optional<Failure> run(const Options &options, Outcome &outcome);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_RUN_H
