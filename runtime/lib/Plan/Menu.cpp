//===- Menu.cpp - every demand that controls can make ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Fates.h"
#include "Plan/Policy.h"
#include "Plan/Rematerialize.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

/// The controls that fates depend on, each legal combination once. Intervals
/// and strides only say which blocks have which role.
std::vector<Controls> allControls(const Program &program) {
  std::vector<Controls> all;
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn}) {
    for (bool attentionOnce : {false, true}) {
      for (bool offloadAttention : {false, true}) {
        Controls controls;
        controls.backend = backend;
        controls.attentionOnce = attentionOnce;
        controls.offloadAttention = offloadAttention;
        if (checkControls(controls).ok() &&
            checkControls(controls, program).ok())
          all.push_back(controls);
      }
    }
  }
  return all;
}

class Menu {
public:
  explicit Menu(const Program &program) : program(program) {
    for (const Stack &stack : program.stacks)
      if (firstKind < 0 && !stack.blocks.empty())
        firstKind = stack.blocks.front();
  }

  std::vector<Demand> of(int k) {
    std::vector<Demand> demands;
    for (const Controls &controls : allControls(program)) {
      for (const Role &role : rolesOf(k, controls)) {
        for (const auto &results : replayMasks(k, controls, role)) {
          for (const auto &gradients : gradientMasks(k, role)) {
            Demand demand = make(k, controls, role, results, gradients);
            if (std::find(demands.begin(), demands.end(), demand) ==
                demands.end())
              demands.push_back(demand);
          }
        }
      }
    }
    return demands;
  }

private:
  using Mask = std::vector<bool>;

  Demand make(int k, const Controls &controls, const Role &role,
              const Mask &results, const Mask &gradients) {
    const BlockKind &kind = program.kinds[k];
    return normalizeFates(kind,
                          {fatesOf(kind, controls, role), results, gradients});
  }

  /// Without stacks any kind may come first.
  bool mayBeFirst(int k) const { return firstKind < 0 || firstKind == k; }

  std::vector<Role> rolesOf(int k, const Controls &controls) const {
    std::vector<Role> roles;
    for (bool first : {true, false}) {
      if (first && !mayBeFirst(k))
        continue;
      roles.push_back({false, true, first});
      if (controls.backend == Backend::None)
        continue;
      roles.push_back({true, true, first});
      if (!first && isWholeBlock(controls.backend))
        roles.push_back({true, false, false});
    }
    return roles;
  }

  std::vector<Mask> gradientMasks(int k, const Role &role) const {
    const BlockKind &kind = program.kinds[k];
    if (role.firstOfStep) {
      Mask own;
      for (const Port &port : kind.states)
        own.push_back(port.needsGradient);
      return {own};
    }
    std::vector<Mask> masks = {Mask(kind.states.size(), true)};
    if (!startNeedsGradients())
      masks.push_back(Mask(kind.states.size(), false));
    return masks;
  }

  /// The first block already makes a gradient, so all later ones hand one on.
  bool startNeedsGradients() const {
    if (firstKind < 0)
      return false;
    const BlockKind &kind = program.kinds[firstKind];
    return makesGradients(kind) ||
           std::any_of(kind.states.begin(), kind.states.end(),
                       [](const Port &port) { return port.needsGradient; });
  }

  /// Which results the replay of `k` may have to make: what any block inside
  /// a segment recomputes of its states, which depends in turn on what its
  /// own successor asks of it.
  std::vector<Mask> replayMasks(int k, const Controls &controls,
                                const Role &role) {
    size_t count = program.kinds[k].results.size();
    std::vector<Mask> masks = {Mask(count)};
    if (!role.checkpointed || !isWholeBlock(controls.backend))
      return masks;
    // Masks of every length; the kinds of a segment need not have the same.
    std::vector<Mask> all;
    for (int used : usedKinds(program))
      all.push_back(Mask(program.kinds[used].results.size()));
    for (size_t i = 0; i < all.size(); ++i)
      for (int inner : usedKinds(program))
        if (program.kinds[inner].results.size() == all[i].size())
          for (const Mask &gradients : gradientMasks(inner, {true, false}))
            addMask(all,
                    statesRecomputed(inner, make(inner, controls, {true, false},
                                                 all[i], gradients)));
    for (const Mask &mask : all)
      if (mask.size() == count)
        addMask(masks, mask);
    return masks;
  }

  Mask statesRecomputed(int k, const Demand &demand) const {
    const BlockKind &kind = program.kinds[k];
    Mask mask(kind.states.size());
    for (size_t i = 0; i < kind.saved.size(); ++i)
      if (kind.saved[i].state >= 0 && demand.fates[i] == Fate::Recompute)
        mask[kind.saved[i].state] = true;
    return mask;
  }

  static void addMask(std::vector<Mask> &masks, const Mask &mask) {
    if (std::find(masks.begin(), masks.end(), mask) == masks.end())
      masks.push_back(mask);
  }

  const Program &program;
  /// The kind of the step's first block, or -1 without stacks.
  int firstKind = -1;
};

} // namespace

std::vector<Demand> ckpt::rt::menuOf(const Program &program, int kind) {
  return Menu(program).of(kind);
}
