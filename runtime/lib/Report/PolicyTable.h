//===- PolicyTable.h - all policies side by side ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_POLICYTABLE_H
#define CKPT_RT_REPORT_POLICYTABLE_H

#include "Schedule/Schedule.h"

namespace ckpt::rt {

struct PolicyRow {
  Controls controls;
  double seconds = 0, exposedSeconds = 0;
  int64_t peakBytes = 0;
  /// Host memory that the step holds, and bytes copied there.
  int64_t hostBytes = 0, copiedToHost = 0;
  int64_t replayedOps = 0;
};

/// `unsloth-ffn interval=2 offload-attention`.
std::string formatControls(const Controls &controls);

/// Every backend with every attention flag that this program allows, with the
/// interval and stride of `controls` where the backend takes them.
Result<std::vector<PolicyRow>> comparePolicies(const Program &program,
                                               const Controls &controls,
                                               std::optional<int64_t> limit,
                                               const SizeValues &sizes,
                                               const Profile &profile);

void printPolicies(const std::vector<PolicyRow> &rows, std::ostream &os);

/// Sum of the host slots.
int64_t hostBytesOf(const Schedule &schedule);

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_POLICYTABLE_H
