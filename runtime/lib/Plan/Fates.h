//===- Fates.h - the fate of one saved value --------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rules of the controls, value by value. `applyPolicy` asks for the
/// blocks that there are, `menuOf` for the ones there can be, and the fate
/// table prints the reason.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PLAN_FATES_H
#define CKPT_RT_PLAN_FATES_H

#include "Plan/Policy.h"

#include <string>

namespace ckpt::rt {

/// Where a block stands, as far as fates depend on it.
struct Role {
  /// Its segment is checkpointed.
  bool checkpointed = false;
  /// It is the first of its segment.
  bool border = false;
  /// Its states are the caller's own tensors.
  bool firstOfStep = false;
  /// `first`, `border`, `inner` or `plain`, for reports.
  std::string str() const;
  bool operator==(const Role &other) const {
    return checkpointed == other.checkpointed && border == other.border &&
           firstOfStep == other.firstOfStep;
  }
};

/// Where block `block` of the step stands.
Role roleOf(const PlannedStep &plan, int block);

struct Decision {
  Fate fate = Fate::Keep;
  /// A few words for a report.
  const char *reason = "";
};

/// What `controls` say of this saved value, whoever reads it.
Decision decideFate(const BlockKind &kind, const SavedValue &saved,
                    const Controls &controls, const Role &role);

/// The fates of all saved values, not normalized.
std::vector<Fate> fatesOf(const BlockKind &kind, const Controls &controls,
                          const Role &role);

/// `torch` or `unsloth`: the scope is the whole block.
bool isWholeBlock(Backend backend);
/// `torch-ffn` or `unsloth-ffn`: the scope is the `ckpt.ffn`.
bool isFfnOnly(Backend backend);
/// `unsloth` or `unsloth-ffn`: what is saved at the border goes to the host.
bool offloadsBorder(Backend backend);

/// This block makes a gradient of its own: of a differentiable input or a
/// trainable parameter.
bool makesGradients(const BlockKind &kind);

/// Kinds that occur in a stack; all kinds of a program without stacks.
std::vector<int> usedKinds(const Program &program);

} // namespace ckpt::rt

#endif // CKPT_RT_PLAN_FATES_H
