//===- Policy.h - from controls to fates ------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one place where fates are decided. Plain data in, plain data out:
/// nothing here knows IR, sizes or memory, and nothing after here knows which
/// policy was used.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PLAN_POLICY_H
#define CKPT_RT_PLAN_POLICY_H

#include "Program/Externals.h"
#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::rt {

/// The backend of that name; the message lists the five there are.
Result<Backend> parseBackend(const std::string &text);

/// Refuses combinations that cannot act whatever the program (design section
/// 3), by flag name, expected and found. The flags are spelled as on the
/// command line: `--segment-stride`.
Status checkControls(const Controls &controls);
/// Refuses what this program's block kinds cannot do (`*-ffn` without a
/// `ckpt.ffn`, attention flags without a `ckpt.attention`), by kind.
Status checkControls(const Controls &controls, const Program &program);

/// A run of blocks of one stack, checkpointed together or not at all.
struct Segment {
  int first = 0;
  int count = 0;
  bool checkpointed = false;
  bool operator==(const Segment &other) const {
    return first == other.first && count == other.count &&
           checkpointed == other.checkpointed;
  }
};

/// The segments of a stack of `blocks` blocks. Blocks that are not
/// checkpointed form segments of one.
std::vector<Segment> segmentStack(int blocks, const Controls &controls);

struct BlockPlan {
  BlockRef ref;
  Demand demand;
  /// Index into `PlannedStep::segments`.
  int segment = 0;
};

/// The order of a step: what runs when, block by block.
struct TableEntry {
  enum class Phase { Forward, Replay, Backward };
  Phase phase = Phase::Forward;
  int block = 0;
};

struct PlannedStep {
  std::vector<BlockPlan> blocks;
  /// Over all stacks; `first` counts blocks of the whole step.
  std::vector<Segment> segments;
};

/// Fates for every block, the first `limit` of each stack.
Result<PlannedStep> applyPolicy(const Program &program,
                                const Controls &controls,
                                std::optional<int64_t> limit);

/// Segment scheduling: forwards in order; then, from the last segment to the
/// first, the replays of its blocks in order and their backwards in reverse.
std::vector<TableEntry> scheduleSegments(const PlannedStep &plan);

/// Every demand that any legal controls can make of a kind, each once: the
/// menu that the compiler turns into variants. `none`'s comes first.
std::vector<Demand> menuOf(const Program &program, int kind);

/// The variant of `kind` that answers `demand`, or -1.
int findVariant(const BlockKind &kind, const Demand &demand);

} // namespace ckpt::rt

#endif // CKPT_RT_PLAN_POLICY_H
