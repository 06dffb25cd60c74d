//===- Draft.h - a schedule before it has events and offsets ----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The stages of `instantiate`, in order:
///   unroll          the table of blocks becomes nodes and buffers
///   shareInPlace    writes take the place of operands used for the last time
///   releaseCopied   compute learns where a copy out is done
///   advanceCopiesIn copies in move ahead of their readers
///   placeBuffers    offsets; releases that nothing needs are dropped
///   emitCommands    dependencies become records and waits
/// Between streams a node names what it must come after; events exist only in
/// the end, so no stage before that can forget one.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_SCHEDULE_DRAFT_H
#define CKPT_RT_SCHEDULE_DRAFT_H

#include "Schedule/Schedule.h"

namespace ckpt::rt {

/// From here on compute takes a copy out for done, so its source is free.
struct Release {
  /// Node of the copy out.
  int copy = -1;
  /// Compute waits for it; false when nothing later uses the bytes.
  bool isNeeded = true;
};

struct Node {
  Command command;
  /// Carries no command: a place on the compute stream for releases.
  bool isJoin = false;
  /// Earlier nodes on other streams that must be done.
  std::vector<int> after;
  /// Compute only.
  std::vector<Release> releases;
  /// Copies out: where `releases` names it.
  int releasedAt = -1;
  double seconds = 0;
};

struct Draft {
  std::vector<Node> nodes;
  /// Nodes before this one are the forward.
  int forwardEnd = 0;
  std::vector<Buffer> buffers;
  /// Per buffer: the buffer whose place it takes at its first write, or -1.
  std::vector<int> replaces;
  std::vector<HostSlot> slots;
  /// First nodes of the stretches of the backward that work on one block.
  std::vector<int> runs;
  int64_t arenaBytes = 0;
  /// The arena is at most 1.02 times the largest sum of live bytes.
  bool isTight = false;

  bool isCompute(int node) const {
    return nodes[node].command.stream == StreamKind::Compute;
  }
};

/// What all stages read.
struct Request {
  const Program &program;
  const PlannedStep &plan;
  const std::vector<TableEntry> &table;
  const std::vector<External> &externals;
  const SizeValues &sizes;
  const Controls &controls;
  const Profile &profile;
};

/// How much of the arena's spare room copies in may take before their reader's
/// block: all of it, all but the room of the largest copy, or none. Copies
/// that come early leave less choice of places.
enum class Lookahead { Full, Spare, None };

int64_t alignedBytes(int64_t bytes);

Result<Draft> unroll(const Request &request);
void shareInPlace(Draft &draft);
void releaseCopied(Draft &draft);
void advanceCopiesIn(Draft &draft, Lookahead lookahead);
/// `isLast`: no other draft will be tried, so the search may take its time.
Status placeBuffers(Draft &draft, bool isLast);
/// Fills commands, forwardEnd, buffers and numEvents.
void emitCommands(const Draft &draft, Schedule &schedule);

/// Sets begin and end of every buffer in the unit of `at`, the position of each
/// node; `at` has one more entry for the end.
void setLifetimes(const Draft &draft, const std::vector<int> &at,
                  std::vector<Buffer> &buffers);

} // namespace ckpt::rt

#endif // CKPT_RT_SCHEDULE_DRAFT_H
