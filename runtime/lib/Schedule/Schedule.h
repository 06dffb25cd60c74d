//===- Schedule.h - who does what, where and when ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A schedule is a flat list of commands on three streams over placed buffers.
/// It has four readers, which see nothing else: the simulator, the verifier,
/// the executor and the reports. Streams run their commands in list order;
/// between streams only events order anything.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_SCHEDULE_SCHEDULE_H
#define CKPT_RT_SCHEDULE_SCHEDULE_H

#include "Plan/Policy.h"
#include "Plan/Profile.h"

#include <iosfwd>

namespace ckpt::rt {

enum class StreamKind { Compute, CopyOut, CopyIn };
constexpr int numStreams = 3;

/// Where a buffer's bytes live.
enum class Space {
  Arena,    ///< `offset` bytes into the device arena
  External, ///< the caller's tensor `external`
  Host      ///< host slot `slot`
};

struct Buffer {
  std::string name;
  /// Block of the step it belongs to, or -1 (sums of gradients).
  int block = -1;
  int64_t bytes = 0;
  Space space = Space::Arena;
  /// Arena: byte offset, a multiple of `arenaAlignment`.
  int64_t offset = 0;
  /// External: index into Schedule::externals.
  int external = -1;
  /// Host: index into Schedule::slots.
  int slot = -1;
  /// Commands between which its space holds it, [begin, end). A buffer that a
  /// launch replaces in place ends at that launch; one that is copied out ends
  /// no earlier than where compute may take the copy for done.
  int begin = 0, end = 0;
};

/// Host memory for one offloaded value from its copy out to its copy in; the
/// executor takes it from the pinned pool.
struct HostSlot {
  int64_t bytes = 0;
  /// Decided at instantiation by `pin-memory-max-buckets`.
  bool pinned = true;
};

struct Command {
  enum class Kind { Launch, Fill, CopyOut, CopyIn, Record, Wait };
  Kind kind = Kind::Launch;
  StreamKind stream = StreamKind::Compute;
  /// Launch: index into Program::kernels.
  int kernel = -1;
  /// Launch: buffers in the kernel's argument order, -1 = left out.
  /// Fill: the one buffer that becomes zero. Copies: source, destination.
  std::vector<int> buffers;
  /// Launch: how many of `buffers` are read; the rest are written.
  int numReads = 0;
  /// Launch: the workspace buffer, or -1.
  int workspace = -1;
  /// Launch: pairs (read position, write position) of operands that share
  /// their bytes; the kernel allows it. Any other overlap is a fault.
  std::vector<std::pair<int, int>> inPlace;
  /// Record, Wait.
  int event = -1;
  /// For reports: block, and the phase it was unrolled from.
  int block = -1;
  TableEntry::Phase phase = TableEntry::Phase::Forward;
  /// Short id for reports: `f0`, `copy x`.
  std::string label;
};

constexpr int64_t arenaAlignment = 256;

struct Schedule {
  std::vector<Command> commands;
  /// Commands before this index are the forward entry point, the rest the
  /// backward. Every stream is drained at the border's end of each.
  int forwardEnd = 0;
  std::vector<Buffer> buffers;
  std::vector<External> externals;
  std::vector<HostSlot> slots;
  int numEvents = 0;
  /// End of the highest arena buffer; exact, not rounded to the alignment.
  int64_t arenaBytes = 0;
  /// Values of Program::sizes, in that order.
  std::vector<int64_t> sizes;
  SizeValues sizeValues;
  PlannedStep plan;
  std::vector<TableEntry> table;
};

/// Places every buffer and every copy for the given sizes. `profile` decides
/// how far ahead copies in are issued, never what is computed.
Result<Schedule> instantiate(const Program &program, const PlannedStep &plan,
                             const SizeValues &sizes, const Controls &controls,
                             const Profile &profile);

/// What the simulator finds; every field is exact but the seconds.
struct Simulation {
  double seconds = 0, forwardSeconds = 0;
  /// Compute time lost to waiting for copies, also at the end of an entry
  /// point, where every stream is drained.
  double exposedSeconds = 0;
  /// Highest arena byte in use at any time.
  int64_t peakBytes = 0;
  /// Largest sum of aligned live bytes over the commands.
  int64_t liveBytes = 0;
  /// Command at which `liveBytes` is first reached.
  int peakCommand = 0;
  /// Sum of aligned bytes that the arena holds from forward to backward.
  int64_t heldBytes = 0;
  int64_t copiedToHost = 0, copiedToDevice = 0;
  int64_t replayedOps = 0;
  /// Caller's tensors, bytes.
  int64_t externalBytes = 0;
  /// Per command: start and end seconds.
  std::vector<std::pair<double, double>> times;
};
Simulation simulate(const Program &program, const Schedule &schedule,
                    const Profile &profile);

/// Proves by happens-before that no read precedes its write or copy, no byte
/// of arena or slot is reused before its last user is done, every event is
/// recorded once and before it is waited on, and nothing live overlaps.
/// The message names the two commands and the buffer.
Status verify(const Schedule &schedule);

/// One line a command, as levels.md section 5 shows. With the multiprocessors
/// of a GPU, a launch names the alternative by which its kernel runs there.
void print(const Program &program, const Schedule &schedule, std::ostream &os,
           int64_t multiprocessors = 0);

} // namespace ckpt::rt

#endif // CKPT_RT_SCHEDULE_SCHEDULE_H
