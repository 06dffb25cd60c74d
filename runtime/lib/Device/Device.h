//===- Device.h - memory, streams, events, kernels --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the executor asks of a machine. `Host/` answers with threads and
/// ordinary memory; a GPU answers with its driver. Both pass one conformance
/// suite (runtime/test/DeviceConformance.h).
///
/// Contract, for every implementation:
/// - A stream runs its commands in the order given. Between streams, and
///   between a stream and the caller, only events and `synchronise` order
///   anything.
/// - Enqueuing (every `Stream` function but `synchronise`) allocates nothing
///   and does not wait for the command. It may wait for room in the queue;
///   that cannot deadlock, because what a queue waits for was enqueued before.
/// - A command that fails while it runs does not stop its stream: what follows
///   still runs and events are still reached, so that nothing waits for ever.
///   The first failure is what the next `synchronise` returns, once.
/// - `Device` functions may be called from any thread. A stream takes commands
///   from one thread at a time, and so do the kernels of a module.
/// - Device pointers are not for the caller to read or write.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_DEVICE_H
#define CKPT_RT_DEVICE_DEVICE_H

#include "Program/Program.h"
#include "Program/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ckpt::rt {

/// A kernel of a module at certain sizes, found once and launched often. Valid
/// as long as the module.
using KernelHandle = const void *;

/// A point in a stream, reached when everything before it is done. Must
/// outlive the commands that name it.
class Event {
public:
  virtual ~Event();
  /// Everything before the last `record` is done, or there was none.
  virtual bool done() const = 0;
};

struct Launch {
  KernelHandle kernel = nullptr;
  /// As the kernel's ABI says (Program.h); both arrays are copied.
  void *const *arguments = nullptr;
  int numArguments = 0;
  /// The sizes that it was found for.
  const int64_t *sizes = nullptr;
  int numSizes = 0;
  void *workspace = nullptr;
};

/// What a stream sets memory aside for when it is made.
struct StreamLimits {
  /// Commands that may be under way at a time.
  int commands = 256;
  /// Arguments and sizes of one launch.
  int arguments = 64;
  int sizes = 16;
};

class Stream {
public:
  /// Waits until the stream is idle.
  virtual ~Stream();

  virtual Status launch(const Launch &launch) = 0;
  virtual Status copyToHost(void *hostTo, const void *deviceFrom,
                            int64_t bytes) = 0;
  virtual Status copyToDevice(void *deviceTo, const void *hostFrom,
                              int64_t bytes) = 0;
  /// Sets every byte to `value`.
  virtual Status fill(void *deviceTo, uint8_t value, int64_t bytes) = 0;
  virtual Status record(Event &event) = 0;
  /// `record` for the sake of time: in a recording, where the event of a
  /// `record` means nothing outside, this one is reached each time the
  /// recording is issued.
  virtual Status mark(Event &event) { return record(event); }
  /// What follows waits for the event's last `record` before this call; for
  /// nothing when there was none.
  virtual Status wait(Event &event) = 0;
  /// Waits until everything enqueued is done.
  virtual Status synchronise() = 0;
};

/// Commands of several streams, recorded once and issued often, by one call.
class Recording {
public:
  virtual ~Recording();
  /// From here on the commands of `streams` are recorded and not run. The first
  /// stream is where they start and end: another takes part once it waits for
  /// an event of one that does, and the first must wait for each of them before
  /// the end. Events that were recorded before count as reached. Every stream
  /// must be idle, and host memory of copies pinned.
  virtual Status begin(const std::vector<Stream *> &streams) = 0;
  /// What was recorded takes the place of what was there before; little work
  /// when only pointers differ.
  virtual Status end() = 0;
  /// Ends it too; nothing is there any more.
  virtual void abandon() = 0;
  /// Enqueues everything on the first stream.
  virtual Status issue() = 0;
};

/// The kernels of one program.
class Module {
public:
  virtual ~Module();
  /// Everything about the kernel that sizes decide is decided here. Fails,
  /// naming the kernel, when the module does not hold it or the machine cannot
  /// run it at these sizes; `names` are what messages call its arguments, as
  /// far as they go.
  virtual Result<KernelHandle> find(const Kernel &kernel,
                                    const SizeValues &sizes,
                                    const std::vector<std::string> &names) = 0;
};

class Device {
public:
  virtual ~Device();
  virtual const char *name() const = 0;

  virtual Result<std::unique_ptr<Stream>>
  createStream(const StreamLimits &limits) = 0;
  virtual Result<std::unique_ptr<Event>> createEvent() = 0;
  /// Seconds from the moment `from` was reached to the moment `to` was. Both
  /// must be done.
  virtual Result<double> secondsBetween(const Event &from, const Event &to) = 0;
  /// Fails on a program for another target, naming both. The module keeps the
  /// program and must not outlive the device.
  virtual Result<std::unique_ptr<Module>>
  loadModule(std::shared_ptr<const Program> program) = 0;
  /// Null where the device cannot record, which is no failure.
  virtual Result<std::unique_ptr<Recording>> createRecording();

  /// Device memory, aligned to `arenaAlignment` at least; its contents are
  /// anything. Null for 0 bytes.
  virtual Result<void *> allocate(int64_t bytes) = 0;
  virtual void free(void *device, int64_t bytes) = 0;
  /// Memory of the host that copies go to and come from, aligned as the
  /// device's. Pinned memory is what the machine copies without the processor's
  /// help.
  virtual Result<void *> allocateHost(int64_t bytes, bool pinned) = 0;
  virtual void freeHost(void *host, int64_t bytes, bool pinned) = 0;
  /// What kernels ask of the address of a caller's tensor; a tensor's elements
  /// may ask for more.
  virtual int64_t tensorAlignment() const { return 1; }
  /// Bytes of its memory that are taken, by this process and others; nothing
  /// where the machine does not say.
  virtual std::optional<int64_t> bytesInUse() { return std::nullopt; }
};

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_DEVICE_H
