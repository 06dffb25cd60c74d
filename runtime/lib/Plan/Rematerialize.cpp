//===- Rematerialize.cpp - from a demand to three op lists ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Rematerialize.h"

using namespace ckpt::rt;

namespace {

using Kind = VariantStep::Kind;
/// One flag per BlockKind::values.
using ValueSet = std::vector<bool>;

bool isHeld(Fate fate) { return fate == Fate::Keep || fate == Fate::Offload; }

/// Answers the questions of both entry points about one kind and demand.
class Rematerializer {
public:
  Rematerializer(const BlockKind &kind, const Demand &demand)
      : kind(kind), demand(demand), savedOf(kind.values.size(), -1),
        isMadeForward(kind.values.size()), isMadeBackward(kind.values.size()) {
    for (size_t i = 0; i < kind.saved.size(); ++i)
      savedOf[kind.saved[i].value] = int(i);
    for (size_t i = 0; i < kind.ops.size(); ++i)
      for (int value : kind.ops[i].writes)
        (isForward(i) ? isMadeForward : isMadeBackward)[value] = true;
    makeBackward();
    makeReplay();
  }

  bool isRead(int saved) const {
    int value = kind.saved[saved].value;
    return readByBackward[value] || readByReplay[value];
  }

  void makeForward();
  void insertCopies();
  Status check() const;
  Variant take() { return std::move(variant); }

private:
  bool isForward(size_t op) const { return int(op) < kind.numForwardOps; }

  /// It stands in memory when the replay begins.
  bool isAvailable(int value) const {
    if (savedOf[value] >= 0 && isHeld(demand.fates[savedOf[value]]))
      return true;
    return !isMadeForward[value];
  }

  /// Walks the ops [begin, end) back from `needed`, which grows, and returns
  /// the launches in program order. `reads` collects what they read.
  template <typename Stops>
  std::vector<VariantStep> walkBack(int begin, int end, ValueSet &needed,
                                    ValueSet &reads, Stops stops) {
    std::vector<VariantStep> steps;
    for (int i = end; i-- > begin;) {
      const SelectedOp &op = kind.ops[i];
      VariantStep step{Kind::Launch, i, {}};
      bool any = false;
      for (int value : op.writes) {
        step.writes.push_back(needed[value]);
        any |= needed[value];
      }
      if (!any)
        continue;
      for (int value : op.reads) {
        reads[value] = true;
        if (!stops(value))
          needed[value] = true;
      }
      steps.insert(steps.begin(), step);
    }
    return steps;
  }

  void makeBackward();
  void makeReplay();
  Status checkReads(const std::vector<VariantStep> &steps,
                    const std::vector<VariantStep> &before) const;

  const BlockKind &kind;
  const Demand &demand;
  /// Per value: index into BlockKind::saved, or -1.
  std::vector<int> savedOf;
  ValueSet isMadeForward, isMadeBackward;
  ValueSet readByBackward, readByReplay;
  Variant variant;
};

void Rematerializer::makeBackward() {
  ValueSet needed(kind.values.size());
  readByBackward.resize(kind.values.size());
  for (size_t v = 0; v < kind.values.size(); ++v) {
    const Value &value = kind.values[v];
    switch (value.kind) {
    case ValueKind::GradStateIn:
      needed[v] = demand.stateGradients[value.index];
      break;
    case ValueKind::GradInput:
    case ValueKind::GradParam:
    case ValueKind::GradParamShared:
      needed[v] = true;
      break;
    default:
      break;
    }
  }
  variant.backward =
      walkBack(kind.numForwardOps, int(kind.ops.size()), needed, readByBackward,
               [&](int value) { return !isMadeBackward[value]; });
}

void Rematerializer::makeReplay() {
  ValueSet needed(kind.values.size());
  readByReplay.resize(kind.values.size());
  for (size_t v = 0; v < kind.values.size(); ++v) {
    const Value &value = kind.values[v];
    bool isAsked =
        value.kind == ValueKind::StateOut && demand.replayResults[value.index];
    bool isRecomputed = savedOf[v] >= 0 && readByBackward[v] &&
                        demand.fates[savedOf[v]] == Fate::Recompute;
    needed[v] = !isAvailable(int(v)) && (isAsked || isRecomputed);
  }
  variant.replay = walkBack(0, kind.numForwardOps, needed, readByReplay,
                            [&](int value) { return isAvailable(value); });
}

void Rematerializer::makeForward() {
  ValueSet needed(kind.values.size()), reads(kind.values.size());
  for (size_t v = 0; v < kind.values.size(); ++v)
    needed[v] = isMadeForward[v] &&
                (kind.values[v].kind == ValueKind::StateOut ||
                 (savedOf[v] >= 0 && isHeld(demand.fates[savedOf[v]])));
  variant.forward =
      walkBack(0, kind.numForwardOps, needed, reads, [](int) { return false; });
}

void Rematerializer::insertCopies() {
  std::vector<bool> isCopiedIn(kind.saved.size());
  auto isOffloaded = [&](int value) {
    return savedOf[value] >= 0 && demand.fates[savedOf[value]] == Fate::Offload;
  };

  std::vector<VariantStep> forward;
  for (size_t i = 0; i < kind.saved.size(); ++i)
    if (kind.saved[i].state >= 0 && demand.fates[i] == Fate::Offload)
      forward.push_back({Kind::CopyOut, int(i), {}});
  for (const VariantStep &step : variant.forward) {
    forward.push_back(step);
    for (int value : kind.ops[step.index].writes)
      if (isOffloaded(value))
        forward.push_back({Kind::CopyOut, savedOf[value], {}});
  }
  variant.forward = std::move(forward);

  for (std::vector<VariantStep> *list : {&variant.replay, &variant.backward}) {
    std::vector<VariantStep> steps;
    for (const VariantStep &step : *list) {
      for (int value : kind.ops[step.index].reads) {
        if (!isOffloaded(value) || isCopiedIn[savedOf[value]])
          continue;
        isCopiedIn[savedOf[value]] = true;
        steps.push_back({Kind::CopyIn, savedOf[value], {}});
      }
      steps.push_back(step);
    }
    *list = std::move(steps);
  }
}

// `before` are the launches whose results `steps` may read besides their own.
Status
Rematerializer::checkReads(const std::vector<VariantStep> &steps,
                           const std::vector<VariantStep> &before) const {
  ValueSet made(kind.values.size());
  auto mark = [&](const VariantStep &step) {
    for (size_t w = 0; w < step.writes.size(); ++w)
      if (step.writes[w])
        made[kind.ops[step.index].writes[w]] = true;
  };
  for (const VariantStep &step : before)
    mark(step);
  for (const VariantStep &step : steps) {
    const SelectedOp &op = kind.ops[step.index];
    for (int v : op.reads) {
      ValueKind valueKind = kind.values[v].kind;
      bool isUnusedState = valueKind == ValueKind::StateIn && savedOf[v] >= 0 &&
                           demand.fates[savedOf[v]] == Fate::Unused;
      bool isUnsavedState = valueKind == ValueKind::StateIn && savedOf[v] < 0;
      bool isMade = isMadeForward[v] || isMadeBackward[v];
      // A running sum is there before the op that adds to it.
      bool isSum = valueKind == ValueKind::GradInput ||
                   valueKind == ValueKind::GradParamShared;
      bool isHeldValue = savedOf[v] >= 0 && isHeld(demand.fates[savedOf[v]]);
      if (made[v] || isSum || isHeldValue ||
          (!isMade && !isUnusedState && !isUnsavedState))
        continue;
      return Error{
          "@" + kind.name + ": op " + op.id + " reads " + kind.values[v].name +
          ", expected it saved or made again before, found " +
          (savedOf[v] < 0
               ? "no saved value of that name"
               : std::string("fate ") + nameOf(demand.fates[savedOf[v]]))};
    }
    mark(step);
  }
  return {};
}

Status Rematerializer::check() const {
  if (Status status = checkReads(variant.replay, {}); !status.ok())
    return status;
  return checkReads(variant.backward, variant.replay);
}

Status checkCounts(const BlockKind &kind, const Demand &demand) {
  auto differs = [&](const char *what, size_t expected, size_t found) {
    return Error{"@" + kind.name + ": expected " + std::to_string(expected) +
                 " " + what + " in the demand, found " + std::to_string(found)};
  };
  if (demand.fates.size() != kind.saved.size())
    return differs("fates", kind.saved.size(), demand.fates.size());
  if (demand.replayResults.size() != kind.results.size())
    return differs("replay flags", kind.results.size(),
                   demand.replayResults.size());
  if (demand.stateGradients.size() != kind.states.size())
    return differs("gradient flags", kind.states.size(),
                   demand.stateGradients.size());
  return {};
}

} // namespace

Demand ckpt::rt::normalizeFates(const BlockKind &kind, Demand demand) {
  Demand normalized = demand;
  Rematerializer rematerializer(kind, demand);
  for (size_t i = 0; i < kind.saved.size(); ++i)
    if (!rematerializer.isRead(int(i)))
      normalized.fates[i] = Fate::Unused;
  return normalized;
}

Result<Variant> ckpt::rt::makeVariant(const BlockKind &kind,
                                      const Demand &demand) {
  if (Status status = checkCounts(kind, demand); !status.ok())
    return Error{status.message()};
  Rematerializer rematerializer(kind, demand);
  if (Status status = rematerializer.check(); !status.ok())
    return Error{status.message()};
  rematerializer.makeForward();
  rematerializer.insertCopies();
  Variant variant = rematerializer.take();
  variant.demand = demand;
  return variant;
}
