//===- Segments.cpp - which blocks are checkpointed together --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Fates.h"
#include "Plan/Policy.h"

#include <algorithm>

using namespace ckpt::rt;

std::vector<Segment> ckpt::rt::segmentStack(int blocks,
                                            const Controls &controls) {
  // Larger values mean the same as the number of blocks.
  int64_t most = std::max(blocks, 1);
  int interval =
      int(std::clamp<int64_t>(controls.interval.value_or(1), 1, most));
  int stride = int(std::clamp<int64_t>(
      controls.segmentStride.value_or(interval), interval, most));
  // A scope inside a block cannot span blocks: there the controls choose
  // single blocks.
  bool whole = isWholeBlock(controls.backend);
  bool chooses = isFfnOnly(controls.backend);
  std::vector<Segment> segments;
  for (int i = 0; i < blocks;) {
    bool starts =
        controls.segmentStride ? i % stride < interval : i % interval == 0;
    Segment segment{i, 1, starts && (whole || chooses)};
    if (whole && starts)
      segment.count = std::min(interval, blocks - i);
    segments.push_back(segment);
    i += segment.count;
  }
  return segments;
}

std::vector<TableEntry> ckpt::rt::scheduleSegments(const PlannedStep &plan) {
  using Phase = TableEntry::Phase;
  std::vector<TableEntry> table;
  for (size_t i = 0; i < plan.blocks.size(); ++i)
    table.push_back({Phase::Forward, int(i)});
  for (auto segment = plan.segments.rbegin(); segment != plan.segments.rend();
       ++segment) {
    if (segment->checkpointed)
      for (int i = 0; i < segment->count; ++i)
        table.push_back({Phase::Replay, segment->first + i});
    for (int i = segment->count; i-- > 0;)
      table.push_back({Phase::Backward, segment->first + i});
  }
  return table;
}
