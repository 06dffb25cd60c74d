//===- StepImpl.h - what a step holds ---------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to the executor. Lease.cpp: memory of an open forward. Poison.cpp:
/// poisoning and what it measures. Issue.cpp: commands onto streams.
/// Replay.cpp: commands as recordings. TimeCommand.cpp: one command alone.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_EXECUTOR_STEPIMPL_H
#define CKPT_RT_EXECUTOR_STEPIMPL_H

#include "Executor/Step.h"

#include <array>

namespace ckpt::rt {

/// Bytes behind a poisoned arena, to catch writes that go too far.
constexpr int64_t arenaMargin = 4096;

/// What is issued at a time; `Whole` is both, as one recording.
enum class Entry { Forward, Backward, Whole };
constexpr int numEntries = 3;

/// The commands of one entry on one lease, recorded.
struct Replay {
  std::unique_ptr<Recording> recording;
  /// The addresses it was recorded with; empty: with none.
  std::vector<void *> addresses;
};

/// The memory of one open forward. Made once, lent again and again.
struct Lease {
  void *arena = nullptr;
  /// One per schedule slot; on loan from the pool while the lease is lent.
  std::vector<HostBuffer> slots;
  /// One per external, as bound when it was needed.
  std::vector<void *> externals;
  /// One per schedule buffer.
  std::vector<void *> pointers;
  /// After the last copy of the step that used the slots.
  std::shared_ptr<Event> lastCopy;
  /// By Entry; used under `StepOptions::graph`.
  std::array<Replay, numEntries> replays;
};

/// What the commands of an entry point add up to.
struct Work {
  int64_t launches = 0, replayedOps = 0, copiedToHost = 0, copiedToDevice = 0;
};

/// The forward takes it over, not the backward.
inline bool isForwards(ExternalKind kind) {
  return kind != ExternalKind::OutputGradient && kind != ExternalKind::Gradient;
}

struct StepImpl {
  ~StepImpl();

  //===--- Step.cpp -------------------------------------------------------===//

  Status prepare();
  Status prepareKernels(StreamLimits &limits);
  Status prepareStreams(const StreamLimits &limits);
  void countWork();
  /// Takes over the bound pointers of the externals of that entry point.
  Status takeBindings(Lease &lease, bool backward) const;
  Status checkOverlaps();
  Status runForward(Lease &lease);
  /// Forward and backward as one recording.
  Status runWhole(Lease &lease);

  //===--- Lease.cpp ------------------------------------------------------===//

  /// Bytes of one arena with its margin.
  int64_t arenaAllocation() const;
  /// A lease with arena and slots; allocates only when none is free.
  Result<Lease *> open();
  void close(Lease *lease);
  Result<std::unique_ptr<Lease>> makeLease();
  void resolve(Lease &lease) const;

  //===--- Poison.cpp -----------------------------------------------------===//

  void planPoison();
  Status poisonStart(Lease &lease, bool backward);
  /// Before command `index`: what died by then.
  Status poisonDead(Lease &lease, int index);
  Status measureTouched(Lease &lease);
  /// Counts an arena buffer as touched; -1 is none.
  void account(int buffer);

  //===--- Issue.cpp ------------------------------------------------------===//

  /// Enqueues the commands of one entry and waits for them, also when one of
  /// them cannot be enqueued.
  Status issue(Lease &lease, Entry entry);
  /// The commands [begin, end) with what starts and ends every entry: streams
  /// fork from compute and join it.
  Status enqueue(Lease &lease, int begin, int end);
  Status issueOne(Lease &lease, int index);
  Status fork();
  Status join();
  Status synchronise();
  Status takeTimes(int begin, int end);
  Status takeSeconds(Entry entry);

  //===--- Replay.cpp -----------------------------------------------------===//

  bool replays(const Lease &lease) const;
  /// Issues the entry's recording, which is made first where there is none for
  /// the addresses of now.
  Status replay(Lease &lease, Entry entry);
  Status recordCommands(Lease &lease, Entry entry, Recording &recording);
  int beginOf(Entry entry) const {
    return entry == Entry::Backward ? schedule->forwardEnd : 0;
  }
  int endOf(Entry entry) const {
    return entry == Entry::Forward ? schedule->forwardEnd
                                   : int(schedule->commands.size());
  }
  Stream &on(StreamKind kind) { return *streams[int(kind)]; }

  //===--- TimeCommand.cpp ------------------------------------------------===//

  Result<double> timeCommand(Lease &lease, int index, int64_t repeats);

  // Destroyed from the last to the first.
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Schedule> schedule;
  std::shared_ptr<Device> device;
  std::shared_ptr<PinnedPool> pool;
  StepOptions options;
  std::unique_ptr<Module> module;
  /// One per Program::kernels; null where the schedule has no launch of it.
  std::vector<KernelHandle> kernels;
  /// Room for the arguments of any launch.
  std::vector<void *> launchArguments;

  std::map<std::string, int> externalIndex;
  std::vector<int64_t> externalBytes;
  std::vector<void *> bound;
  /// A binding changed since overlaps were looked for.
  bool bindingsChanged = true;
  /// Room for `checkOverlaps`: the bound externals by address.
  std::vector<int> order;

  std::vector<std::unique_ptr<Lease>> leases;
  std::vector<Lease *> freeLeases;

  /// Buffers to poison before each command; see planPoison.
  std::vector<std::vector<int>> deaths;
  std::unique_ptr<Event> poisoned;
  /// Where arena bytes are looked at.
  std::vector<uint8_t> scanned;

  std::vector<std::unique_ptr<Event>> events;
  /// When an entry began and ended; when the backward of a whole one began.
  std::unique_ptr<Event> begun, ended, border;
  /// Compute's, for the others to start after; the others', for it to end
  /// after.
  std::unique_ptr<Event> forked, joinedOut, joinedIn;
  /// The device records, and the options let it.
  bool mayReplay = false;
  /// All streams, compute first; room for the addresses of a replay.
  std::vector<Stream *> recorded;
  std::vector<void *> replayAddresses;
  Work forwardWork, backwardWork;
  /// `measure`: before and after each command.
  std::vector<std::unique_ptr<Event>> starts, ends;
  std::vector<std::pair<double, double>> times;
  double measuredForward = 0;
  std::array<std::unique_ptr<Stream>, numStreams> streams;

  StepStatistics counts;
};

} // namespace ckpt::rt

#endif // CKPT_RT_EXECUTOR_STEPIMPL_H
