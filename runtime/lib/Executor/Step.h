//===- Step.h - a schedule made to run --------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A `Step` is one schedule on one device, with everything it needs set aside:
/// streams, events, kernels, an arena and host buffers. Running it allocates
/// nothing, but for what a further open forward needs the first time.
///
/// One thread at a time may use a step and its open forwards; different steps
/// are independent, also when they share a pool. Every function that runs
/// commands returns when they are done. After any failure everything is as
/// before the call, but for the contents of the caller's outputs, and the next
/// call works.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_EXECUTOR_STEP_H
#define CKPT_RT_EXECUTOR_STEP_H

#include "Device/PinnedPool.h"
#include "Schedule/Schedule.h"

namespace ckpt::rt {

/// Overwriting memory with 0xff (NaN in every dtype), so that reading what
/// nobody wrote shows in the results.
enum class Poison {
  None,
  /// Before a forward the arena, the host slots and the outputs; before a
  /// backward the gradients. `StepStatistics::touched` is measured.
  Start,
  /// Also each arena buffer when its life ends - so the device source of a
  /// copy out once the copy is done and nobody reads the source any more - and
  /// each host slot when it is given back. Copies then wait for the poisoning
  /// before them, which orders more than the schedule does.
  Freed
};

struct StepOptions {
  Poison poison = Poison::None;
  /// Take the time of every command (`Step::times`).
  bool measure = false;
  /// Record the commands once and issue them by one call from then on, where
  /// the device can: per forward, per backward, and as one whole in
  /// `Step::run`. They are recorded again when a tensor was bound elsewhere or
  /// host memory changed. Never with `measure`, `Poison::Freed` or host memory
  /// that could not be pinned.
  bool graph = false;
  /// Host memory to share with other steps of the same device; without one
  /// the step has its own.
  std::shared_ptr<PinnedPool> pool;
};

struct StepStatistics {
  /// Of the pool, with what other steps do in it.
  PoolStatistics pool;
  /// Bytes of one arena, and how many the step holds, lent or not.
  int64_t arenaBytes = 0, arenas = 0;
  /// Device memory of all of them, with the margins of poison.
  int64_t allocatedBytes = 0;
  /// Poison only, the maximum over all runs. Highest arena byte, plus one,
  /// that a command was given or that differs from the poison at the end; the
  /// arena has a margin behind it, so a kernel that writes too far shows as
  /// more than `arenaBytes`.
  int64_t touched = 0;
  /// The same from the bytes alone: what kernels and copies really wrote and
  /// was not poisoned again.
  int64_t written = 0;
  int64_t openForwards = 0;
  /// Since the step was made, failed calls not counted.
  int64_t forwards = 0, backwards = 0;
  /// Since the step was made, failed calls not counted.
  int64_t launches = 0, replayedOps = 0, copiedToHost = 0, copiedToDevice = 0;
  /// Entry points issued as a recording, and recordings made or updated.
  int64_t graphRuns = 0, graphRecordings = 0;
  /// The device's time of the last call of each, from its first command to its
  /// last on any stream.
  double forwardSeconds = 0, backwardSeconds = 0;
  /// The host's time of enqueuing the last call.
  double issueSeconds = 0;
};

/// A forward whose backward is still to come. It holds an arena and host
/// buffers; dropping it gives them back. May outlive its step.
class OpenForward {
public:
  OpenForward() = default;
  OpenForward(OpenForward &&other) noexcept { *this = std::move(other); }
  OpenForward &operator=(OpenForward &&other) noexcept;
  ~OpenForward() { drop(); }

  /// A backward is still possible.
  bool isOpen() const { return lease; }
  /// Gives everything back; nothing when it is not open.
  void drop();

private:
  friend class Step;
  std::shared_ptr<struct StepImpl> step;
  struct Lease *lease = nullptr;
};

class Step {
public:
  Step(Step &&) = default;
  Step &operator=(Step &&) = default;

  /// Verifies the schedule, loads the kernels and sets memory aside. Fails on
  /// a schedule that is not proven right, a kernel that is missing, or memory.
  static Result<Step> create(std::shared_ptr<const Program> program,
                             std::shared_ptr<const Schedule> schedule,
                             std::shared_ptr<Device> device,
                             const StepOptions &options = {});

  /// Binds one of `schedule().externals` to device memory of the caller, which
  /// must hold exactly the tensor's bytes, dense, aligned to its elements and
  /// as the device asks (`Device::tensorAlignment`). A forward takes the
  /// states, inputs, parameters and outputs that are bound when it is called,
  /// also for its backward; a backward takes the gradients that are bound when
  /// it is called. The memory must live until then.
  Status bind(const std::string &name, void *pointer, int64_t bytes);

  /// Runs the forward. Fails when a tensor is not bound or when two that are
  /// bound overlap and one of them is written.
  Result<OpenForward> forward();
  /// Runs the backward of `forward`, which is consumed, whether this succeeds
  /// or not. Fails on one that was consumed or dropped before, or that belongs
  /// to another step.
  Status backward(OpenForward &forward);
  /// Forward and backward; one recording under `StepOptions::graph`.
  Status run();

  const Schedule &schedule() const;
  /// The pool, for `StepOptions::pool` of another step.
  std::shared_ptr<PinnedPool> hostMemory() const;
  StepStatistics statistics() const;
  /// `StepOptions::measure`: start and end of every command in seconds since
  /// the last forward began, the time between forward and backward left out.
  const std::vector<std::pair<double, double>> &times() const;
  /// Seconds of command `index`, one launch, fill or copy of the schedule when
  /// it runs `repeats` times back to back and alone, by events of the device.
  /// Every tensor must be bound. What it reads is what the last run left in the
  /// arena, what it writes is lost with it.
  Result<double> timeCommand(int index, int64_t repeats);

private:
  Result<OpenForward> open();
  explicit Step(std::shared_ptr<StepImpl> impl) : impl(std::move(impl)) {}
  std::shared_ptr<StepImpl> impl;
};

} // namespace ckpt::rt

#endif // CKPT_RT_EXECUTOR_STEP_H
