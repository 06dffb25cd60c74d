//===- MemoryUse.h - what the arena holds, and when -------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_MEMORYUSE_H
#define CKPT_RT_REPORT_MEMORYUSE_H

#include "Schedule/Schedule.h"

#include <array>

namespace ckpt::rt {

/// Why an arena buffer is there.
enum class Holding {
  Kept,      ///< made by the forward for the backward
  Outgoing,  ///< made by the forward, on its way to the host
  Forward,   ///< between two ops of the forward
  Incoming,  ///< copied back from the host
  Replayed,  ///< made again by a replay
  Gradients, ///< made by the backward, sums over blocks among them
  Workspace  ///< scratch of one kernel
};
constexpr int numHoldings = 7;
const char *nameOf(Holding holding);

/// Aligned bytes per holding.
using HeldBytes = std::array<int64_t, numHoldings>;

/// One holding per buffer; meaningless for those outside the arena.
std::vector<Holding> classifyBuffers(const Schedule &schedule);

/// What is live at each command.
std::vector<HeldBytes> memoryUse(const Schedule &schedule);

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_MEMORYUSE_H
