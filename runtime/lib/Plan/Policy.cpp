//===- Policy.cpp - from controls to fates --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Policy.h"

#include "Plan/Fates.h"
#include "Plan/Rematerialize.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

// Distinct sizes of pinned buffers; no plan comes near it.
constexpr int64_t mostBuckets = 65536;

std::string backendFlag(Backend backend) {
  return std::string("--backend=") + nameOf(backend);
}

bool offloadsAnything(const Controls &controls) {
  return offloadsBorder(controls.backend) || controls.offloadAttention;
}

Status checkInterval(const Controls &controls) {
  if (controls.interval && *controls.interval < 1)
    return Error{"--interval: expected at least 1, found " +
                 std::to_string(*controls.interval)};
  if (controls.segmentStride && *controls.segmentStride < 1)
    return Error{"--segment-stride: expected at least 1, found " +
                 std::to_string(*controls.segmentStride)};
  const char *flag = controls.interval        ? "--interval"
                     : controls.segmentStride ? "--segment-stride"
                                              : nullptr;
  if (flag && controls.backend == Backend::None)
    return Error{std::string(flag) +
                 ": expected a backend that checkpoints blocks (torch, "
                 "torch-ffn, unsloth, unsloth-ffn), found --backend=none; "
                 "choose one or leave " +
                 flag + " out"};
  if (!controls.segmentStride)
    return {};
  if (!controls.interval)
    return Error{"--segment-stride: expected --interval beside it, found "
                 "none; add --interval=N or leave --segment-stride out"};
  if (*controls.segmentStride < *controls.interval)
    return Error{"--segment-stride: expected at least the interval " +
                 std::to_string(*controls.interval) + ", found " +
                 std::to_string(*controls.segmentStride)};
  return {};
}

/// The next block's demand decides what this block's replay must make.
std::vector<bool> resultsToReplay(const Program &program,
                                  const BlockPlan &next) {
  const BlockKind &kind = program.kinds[next.ref.kind];
  std::vector<bool> results(kind.states.size());
  for (size_t i = 0; i < kind.saved.size(); ++i)
    if (kind.saved[i].state >= 0 && next.demand.fates[i] == Fate::Recompute)
      results[kind.saved[i].state] = true;
  return results;
}

/// Cuts the blocks of each stack into segments and tells each block its own.
void makeSegments(PlannedStep &plan, const Controls &controls) {
  for (size_t first = 0; first < plan.blocks.size();) {
    size_t end = first;
    while (end < plan.blocks.size() &&
           plan.blocks[end].ref.stack == plan.blocks[first].ref.stack)
      ++end;
    for (Segment segment : segmentStack(int(end - first), controls)) {
      segment.first += int(first);
      for (int i = 0; i < segment.count; ++i)
        plan.blocks[segment.first + i].segment = int(plan.segments.size());
      plan.segments.push_back(segment);
    }
    first = end;
  }
}

/// Says per block whose state gradients are wanted; false when no gradient is
/// wanted anywhere.
bool demandGradients(const Program &program, PlannedStep &plan) {
  bool anyBefore = false;
  for (BlockPlan &block : plan.blocks) {
    const BlockKind &kind = program.kinds[block.ref.kind];
    std::vector<bool> &wanted = block.demand.stateGradients;
    wanted.assign(kind.states.size(), anyBefore);
    if (&block == &plan.blocks.front()) {
      for (size_t s = 0; s < kind.states.size(); ++s) {
        wanted[s] = kind.states[s].needsGradient;
        anyBefore |= wanted[s];
      }
    }
    anyBefore |= makesGradients(kind);
  }
  return anyBefore;
}

} // namespace

Result<Backend> ckpt::rt::parseBackend(const std::string &text) {
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn})
    if (text == nameOf(backend))
      return backend;
  return Error{"--backend: expected none, torch, torch-ffn, unsloth or "
               "unsloth-ffn, found " +
               text};
}

Status ckpt::rt::checkControls(const Controls &controls) {
  if (Status status = checkInterval(controls); !status.ok())
    return status;
  if (controls.attentionOnce && !isWholeBlock(controls.backend))
    return Error{"--attention-once: expected --backend=torch or "
                 "--backend=unsloth, found " +
                 backendFlag(controls.backend) +
                 "; attention already runs once there"};
  if (!controls.pinMemoryMaxBuckets)
    return {};
  int64_t buckets = *controls.pinMemoryMaxBuckets;
  if (buckets < 0 || buckets > mostBuckets)
    return Error{"--pin-memory-max-buckets: expected 0 to " +
                 std::to_string(mostBuckets) + ", found " +
                 std::to_string(buckets)};
  if (!offloadsAnything(controls))
    return Error{"--pin-memory-max-buckets: expected something that is "
                 "offloaded (--backend=unsloth, --backend=unsloth-ffn or "
                 "--offload-attention), found " +
                 backendFlag(controls.backend) + " alone"};
  return {};
}

Status ckpt::rt::checkControls(const Controls &controls,
                               const Program &program) {
  auto lacks = [&](const std::string &flag, const char *region,
                   const BlockKind &kind) {
    return Error{flag + ": expected a " + region +
                 " in every block kind, found none in @" + kind.name};
  };
  for (int k : usedKinds(program)) {
    const BlockKind &kind = program.kinds[k];
    if (isFfnOnly(controls.backend) && !kind.hasFfn)
      return lacks(backendFlag(controls.backend), "ckpt.ffn", kind);
    if (controls.attentionOnce && !kind.hasAttention)
      return lacks("--attention-once", "ckpt.attention", kind);
    if (controls.offloadAttention && !kind.hasAttention)
      return lacks("--offload-attention", "ckpt.attention", kind);
  }
  return {};
}

Result<PlannedStep> ckpt::rt::applyPolicy(const Program &program,
                                          const Controls &controls,
                                          std::optional<int64_t> limit) {
  if (Status status = checkControls(controls); !status.ok())
    return Error{status.message()};
  if (Status status = checkControls(controls, program); !status.ok())
    return Error{status.message()};
  Result<std::vector<BlockRef>> blocks = blocksOf(program, limit);
  if (!blocks.ok())
    return blocks.takeError();

  PlannedStep plan;
  for (const BlockRef &ref : *blocks)
    plan.blocks.push_back({ref, {}, 0});
  makeSegments(plan, controls);
  if (!demandGradients(program, plan))
    return Error{"the step: expected a differentiable state or input or a "
                 "trainable parameter, found none; there is no gradient to "
                 "compute"};
  // Back to front: a replay makes the results that the next block's reads.
  for (int i = int(plan.blocks.size()); i-- > 0;) {
    BlockPlan &block = plan.blocks[i];
    const BlockKind &kind = program.kinds[block.ref.kind];
    const Segment &segment = plan.segments[block.segment];
    block.demand.fates = fatesOf(kind, controls, roleOf(plan, i));
    bool endsSegment = i + 1 == segment.first + segment.count;
    block.demand.replayResults =
        endsSegment ? std::vector<bool>(kind.results.size())
                    : resultsToReplay(program, plan.blocks[i + 1]);
    block.demand = normalizeFates(kind, block.demand);
  }
  return plan;
}

int ckpt::rt::findVariant(const BlockKind &kind, const Demand &demand) {
  for (size_t i = 0; i < kind.variants.size(); ++i)
    if (kind.variants[i].demand == demand)
      return int(i);
  return -1;
}
