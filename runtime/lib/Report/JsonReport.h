//===- JsonReport.h - everything about a run in one object ------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `ckpt-run --report=json` prints. Bytes and seconds are plain numbers;
/// what a run did not find out (nothing was executed, nothing checked) is
/// null.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_JSONREPORT_H
#define CKPT_RT_REPORT_JSONREPORT_H

#include "Executor/Step.h"
#include "Report/FateTable.h"
#include "Report/PolicyTable.h"

namespace ckpt::rt {

/// One tensor against the oracle.
struct CheckedTensor {
  std::string name;
  /// Relative Frobenius errors: ours, PyTorch's own at this dtype, and what is
  /// allowed.
  double error = 0, pytorchError = 0, bound = 0;
  bool passed = false;
};

/// Steps that ran back to back to be timed; seconds of one.
struct Timing {
  int64_t steps = 0;
  double least = 0, most = 0;
  /// The host's part: enqueuing, median.
  double issue = 0;
  /// Issued as recordings.
  bool isGraph = false;
};

struct RunReport {
  Controls controls;
  Profile profile;
  Simulation simulation;
  std::vector<FateGroup> fates;
  /// When a comparison was asked for.
  std::optional<std::vector<PolicyRow>> policies;
  /// When the step was executed.
  std::optional<StepStatistics> statistics;
  std::optional<double> measuredSeconds;
  std::optional<Timing> timing;
  std::string device;
  /// Where the device says it: bytes of its memory in use, and how many of them
  /// are neither arena nor the caller's tensors.
  std::optional<int64_t> deviceBytes, deviceBytesBeside;
  std::optional<std::string> digest;
  /// When it was checked.
  std::optional<std::vector<CheckedTensor>> check;
};

/// One line, one object. `segments` lists the checkpointed ones as pairs of
/// first and last block of the whole step.
std::string jsonReport(const Program &program, const Schedule &schedule,
                       const RunReport &report);

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_JSONREPORT_H
