//===- FateTable.h - what becomes of each value, and why --------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_FATETABLE_H
#define CKPT_RT_REPORT_FATETABLE_H

#include "Schedule/Schedule.h"

namespace ckpt::rt {

struct FateRow {
  std::string value;
  int64_t bytes = 0;
  Fate fate = Fate::Keep;
  std::string reason;
};

/// The rows of all blocks that share them.
struct FateGroup {
  std::string kind;
  /// `first`, `border`, `inner` or `plain`.
  std::string role;
  /// Blocks of the whole step, in order.
  std::vector<int> blocks;
  std::vector<FateRow> rows;
};

/// One group a kind, role and demand, in the order of their first blocks.
std::vector<FateGroup> fateTable(const Program &program,
                                 const PlannedStep &plan,
                                 const SizeValues &sizes,
                                 const Controls &controls);

void printFates(const std::vector<FateGroup> &groups, std::ostream &os);

/// `0, 2-5, 8`.
std::string formatBlocks(const std::vector<int> &blocks);

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_FATETABLE_H
