//===- StepImpl.h - what a step holds ---------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to the executor. Lease.cpp: memory of an open forward. Poison.cpp:
/// poisoning and what it measures. Issue.cpp: commands onto streams.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_EXECUTOR_STEPIMPL_H
#define CKPT_RT_EXECUTOR_STEPIMPL_H

#include "Executor/Step.h"

#include <array>

namespace ckpt::rt {

/// Bytes behind a poisoned arena, to catch writes that go too far.
constexpr int64_t arenaMargin = 4096;

/// The memory of one open forward. Made once, lent again and again.
struct Lease {
  void *arena = nullptr;
  /// One per schedule slot; from the pool while the lease is lent.
  std::vector<HostBuffer> slots;
  /// One per external, as bound when it was needed.
  std::vector<void *> externals;
  /// One per schedule buffer.
  std::vector<void *> pointers;
  /// After the last copy of the step that used the slots.
  std::shared_ptr<Event> lastCopy;
};

struct StepImpl {
  ~StepImpl();

  //===--- Step.cpp -------------------------------------------------------===//

  Status prepare();
  /// Takes over the bound pointers of the externals of that entry point.
  Status takeBindings(Lease &lease, bool backward) const;
  Status checkOverlaps();

  //===--- Lease.cpp ------------------------------------------------------===//

  /// A lease with arena and slots; allocates only when none is free.
  Result<Lease *> open();
  void close(Lease *lease);
  Result<std::unique_ptr<Lease>> makeLease();
  void returnSlots(Lease &lease, size_t count);
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

  /// Enqueues the commands of one entry point and waits for them, also when
  /// one of them cannot be enqueued.
  Status issue(Lease &lease, bool backward, double &seconds);
  Status issueOne(Lease &lease, int index);
  Status synchronise();
  Status recordOrigin();
  Status takeTimes(int begin, int end);
  Stream &on(StreamKind kind) { return *streams[int(kind)]; }

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
  /// `measure`: when an entry point began; before and after each command.
  std::unique_ptr<Event> origin;
  std::vector<std::unique_ptr<Event>> starts, ends;
  std::vector<std::pair<double, double>> times;
  double measuredForward = 0;
  std::array<std::unique_ptr<Stream>, numStreams> streams;

  StepStatistics counts;
};

} // namespace ckpt::rt

#endif // CKPT_RT_EXECUTOR_STEPIMPL_H
