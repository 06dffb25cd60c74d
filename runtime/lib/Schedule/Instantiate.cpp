//===- Instantiate.cpp - a schedule for given sizes -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

constexpr int64_t defaultPinnedSizes = 12;

// Distinct sizes in the order of their traffic, up to the cap; a slot is
// written once and read once, so its traffic goes with its bytes.
void choosePinned(std::vector<HostSlot> &slots, const Controls &controls) {
  std::map<int64_t, double> traffic;
  for (const HostSlot &slot : slots)
    traffic[slot.bytes] += 2.0 * double(slot.bytes);
  std::vector<std::pair<double, int64_t>> sizes;
  for (auto &[bytes, moved] : traffic)
    sizes.push_back({moved, bytes});
  std::sort(sizes.rbegin(), sizes.rend());
  size_t cap = size_t(std::max<int64_t>(
      controls.pinMemoryMaxBuckets.value_or(defaultPinnedSizes), 0));
  std::map<int64_t, bool> isPinned;
  for (size_t i = 0; i < sizes.size(); ++i)
    isPinned[sizes[i].second] = i < cap;
  for (HostSlot &slot : slots)
    slot.pinned = isPinned[slot.bytes];
}

// Copies in go as far ahead as leaves an arena without holes.
Status placeCopiesAndBuffers(Draft &draft) {
  bool hasCopies = !draft.slots.empty();
  for (Lookahead lookahead :
       {Lookahead::Full, Lookahead::Spare, Lookahead::None}) {
    bool isLast = !hasCopies || lookahead == Lookahead::None;
    Draft attempt = draft;
    advanceCopiesIn(attempt, lookahead);
    if (Status status = placeBuffers(attempt, isLast); !status.ok())
      return status;
    if (!isLast && !attempt.isTight)
      continue;
    draft = std::move(attempt);
    break;
  }
  return {};
}

} // namespace

Result<Schedule> ckpt::rt::instantiate(const Program &program,
                                       const PlannedStep &plan,
                                       const SizeValues &sizes,
                                       const Controls &controls,
                                       const Profile &profile) {
  if (plan.blocks.empty())
    return Error{"the plan: expected at least one block, found none"};
  Result<SizeValues> bound = bindSizes(program, sizes);
  if (!bound.ok())
    return bound.takeError();

  Schedule schedule;
  schedule.plan = plan;
  schedule.table = scheduleSegments(plan);
  std::vector<BlockRef> refs;
  for (const BlockPlan &block : plan.blocks)
    refs.push_back(block.ref);
  schedule.externals = externalsOf(program, refs);
  schedule.sizeValues = *bound;
  for (const NamedSize &size : program.sizes)
    schedule.sizes.push_back(bound->at(size.name));

  Result<Draft> draft =
      unroll({program, plan, schedule.table, schedule.externals,
              schedule.sizeValues, controls, profile});
  if (!draft.ok())
    return draft.takeError();
  shareInPlace(*draft);
  releaseCopied(*draft);
  if (Status status = placeCopiesAndBuffers(*draft); !status.ok())
    return Error{status.message()};
  choosePinned(draft->slots, controls);
  schedule.slots = std::move(draft->slots);
  schedule.arenaBytes = draft->arenaBytes;
  emitCommands(*draft, schedule);
  return schedule;
}
