//===- Fates.cpp - the fate of one saved value ----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Fates.h"

#include <algorithm>

using namespace ckpt::rt;

bool ckpt::rt::isWholeBlock(Backend backend) {
  return backend == Backend::Torch || backend == Backend::Unsloth;
}

bool ckpt::rt::isFfnOnly(Backend backend) {
  return backend == Backend::TorchFfn || backend == Backend::UnslothFfn;
}

bool ckpt::rt::offloadsBorder(Backend backend) {
  return backend == Backend::Unsloth || backend == Backend::UnslothFfn;
}

bool ckpt::rt::makesGradients(const BlockKind &kind) {
  auto needs = [](const Port &port) { return port.needsGradient; };
  return std::any_of(kind.inputs.begin(), kind.inputs.end(), needs) ||
         std::any_of(kind.params.begin(), kind.params.end(), needs);
}

std::vector<int> ckpt::rt::usedKinds(const Program &program) {
  std::vector<int> used;
  for (size_t k = 0; k < program.kinds.size(); ++k) {
    bool occurs = program.stacks.empty();
    for (const Stack &stack : program.stacks)
      occurs |=
          std::count(stack.blocks.begin(), stack.blocks.end(), int(k)) > 0;
    if (occurs)
      used.push_back(int(k));
  }
  return used;
}

Role ckpt::rt::roleOf(const PlannedStep &plan, int block) {
  const Segment &segment = plan.segments[plan.blocks[block].segment];
  return {segment.checkpointed, block == segment.first, block == 0};
}

std::string Role::str() const {
  if (firstOfStep)
    return checkpointed ? "first" : "first, plain";
  if (!checkpointed)
    return "plain";
  return border ? "border" : "inner";
}

Decision ckpt::rt::decideFate(const BlockKind &kind, const SavedValue &saved,
                              const Controls &controls, const Role &role) {
  ValueKind valueKind = kind.values[saved.value].kind;
  if (valueKind == ValueKind::Input || valueKind == ValueKind::Param ||
      (saved.state >= 0 && role.firstOfStep))
    return {Fate::Keep, "the caller's own tensor"};

  if (role.checkpointed && isWholeBlock(controls.backend)) {
    bool offloads = offloadsBorder(controls.backend);
    if (saved.state >= 0 && role.border)
      return offloads ? Decision{Fate::Offload, "state at the segment's border"}
                      : Decision{Fate::Keep, "state at the segment's border"};
    // A result that the next block's replay wants is made again in any case,
    // so a copy of it would only cost memory.
    if (saved.attentionCore && valueKind != ValueKind::StateOut) {
      if (controls.offloadAttention)
        return {Fate::Offload, "offload-attention: attention runs once"};
      if (controls.attentionOnce)
        return {offloads ? Fate::Offload : Fate::Keep,
                "attention-once: attention runs once"};
    }
    return {Fate::Recompute, saved.state >= 0 ? "state inside a segment"
                                              : "inside a checkpointed block"};
  }

  if (role.checkpointed && isFfnOnly(controls.backend)) {
    if (saved.producer == Scope::Ffn && !saved.scopeResult)
      return {Fate::Recompute, "inside ckpt.ffn"};
    if (offloadsBorder(controls.backend) && saved.ffnOperand)
      return {Fate::Offload, "operand of ckpt.ffn"};
  }

  if (controls.offloadAttention && saved.producer == Scope::Attention &&
      !saved.scopeResult)
    return {Fate::Offload, "offload-attention: inside ckpt.attention"};
  return {Fate::Keep, "read by the backward"};
}

std::vector<Fate> ckpt::rt::fatesOf(const BlockKind &kind,
                                    const Controls &controls,
                                    const Role &role) {
  std::vector<Fate> fates;
  for (const SavedValue &saved : kind.saved)
    fates.push_back(decideFate(kind, saved, controls, role).fate);
  return fates;
}
