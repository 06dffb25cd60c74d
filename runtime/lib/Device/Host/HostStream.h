//===- HostStream.h - a thread with a queue ---------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_HOST_HOSTSTREAM_H
#define CKPT_RT_DEVICE_HOST_HOSTSTREAM_H

#include "Device/Host/HostDevice.h"

#include <chrono>
#include <condition_variable>
#include <pthread.h>
#include <vector>

namespace ckpt::rt {

class HostEvent : public Event {
public:
  bool done() const override;

  /// The caller's side of a record: the number that the stream will reach.
  uint64_t announce();
  /// The number of the last record so far, 0 when there was none.
  uint64_t announced() const;
  void reach(uint64_t number);
  void waitFor(uint64_t number);
  std::chrono::steady_clock::time_point reachedAt() const;

private:
  mutable std::mutex mutex;
  std::condition_variable reachedMore;
  uint64_t lastAnnounced = 0, lastReached = 0;
  std::chrono::steady_clock::time_point when;
};

class HostStream : public Stream {
public:
  HostStream(HostDevice &device, const StreamLimits &limits);
  ~HostStream() override;
  /// Starts the thread; before this the stream takes no commands.
  Status start();

  Status launch(const Launch &launch) override;
  Status copyToHost(void *hostTo, const void *deviceFrom,
                    int64_t bytes) override;
  Status copyToDevice(void *deviceTo, const void *hostFrom,
                      int64_t bytes) override;
  Status fill(void *deviceTo, uint8_t value, int64_t bytes) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  Status synchronise() override;

private:
  struct Command {
    enum class Kind { Launch, Copy, Fill, Record, Wait };
    Kind kind = Kind::Launch;
    const HostDevice::KernelFunction *kernel = nullptr;
    void *workspace = nullptr;
    void *to = nullptr;
    const void *from = nullptr;
    int64_t bytes = 0;
    uint8_t value = 0;
    HostEvent *event = nullptr;
    uint64_t number = 0;
  };

  static void *threadMain(void *self);
  void work();
  void execute(const Command &command, size_t place);
  void copy(const Command &command);
  void spin(int64_t atMostMicroseconds);
  Status enqueueCopy(void *to, const void *from, int64_t bytes);
  /// The place for the next command; waits until there is one. `publish`
  /// hands it to the thread.
  size_t reserve();
  void publish(const Command &command, size_t place);

  HostDevice &device;
  const StreamLimits limits;
  /// A ring, and beside each place what its launch takes.
  std::vector<Command> ring;
  std::vector<void *> arguments;
  std::vector<int64_t> sizes;

  std::mutex mutex;
  std::condition_variable moreWork, moreRoom;
  /// Commands enqueued and finished since the start.
  uint64_t enqueued = 0, finished = 0;
  bool stopping = false;
  /// Not an `Error`, so that the stream's thread never allocates.
  const char *failure = nullptr;
  int64_t failedBytes = 0;

  uint64_t randomState = 0;
  pthread_t thread = {};
  bool started = false;
};

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_HOST_HOSTSTREAM_H
