//===- HostStream.cpp - a thread with a queue -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Host/HostStream.h"

#include <algorithm>
#include <cstring>

using namespace ckpt::rt;

//===----------------------------------------------------------------------===//
// HostEvent
//===----------------------------------------------------------------------===//

bool HostEvent::done() const {
  std::lock_guard<std::mutex> lock(mutex);
  return lastReached == lastAnnounced;
}

uint64_t HostEvent::announce() {
  std::lock_guard<std::mutex> lock(mutex);
  return ++lastAnnounced;
}

uint64_t HostEvent::announced() const {
  std::lock_guard<std::mutex> lock(mutex);
  return lastAnnounced;
}

void HostEvent::reach(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  lastReached = std::max(lastReached, number);
  when = std::chrono::steady_clock::now();
  // Under the lock: whoever sees the event done may destroy it.
  reachedMore.notify_all();
}

void HostEvent::waitFor(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  reachedMore.wait(lock, [&] { return lastReached >= number; });
}

std::chrono::steady_clock::time_point HostEvent::reachedAt() const {
  std::lock_guard<std::mutex> lock(mutex);
  return when;
}

//===----------------------------------------------------------------------===//
// HostStream: the caller's side
//===----------------------------------------------------------------------===//

HostStream::HostStream(HostDevice &device, const StreamLimits &limits)
    : device(device), limits(limits), ring(limits.commands),
      arguments(size_t(limits.commands) * limits.arguments),
      sizes(size_t(limits.commands) * limits.sizes),
      // Streams differ from each other, runs do not.
      randomState(device.faults.delaySeed.fetch_add(0x9e3779b97f4a7c15)) {}

Status HostStream::start() {
  if (int code = pthread_create(&thread, nullptr, threadMain, this))
    return Error{std::string("host stream: cannot start a thread: ") +
                 std::strerror(code)};
  started = true;
  return {};
}

HostStream::~HostStream() {
  if (!started)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    moreWork.notify_one();
  }
  pthread_join(thread, nullptr);
}

size_t HostStream::reserve() {
  std::unique_lock<std::mutex> lock(mutex);
  moreRoom.wait(lock, [&] { return enqueued - finished < ring.size(); });
  return enqueued % ring.size();
}

void HostStream::publish(const Command &command, size_t place) {
  ring[place] = command;
  std::lock_guard<std::mutex> lock(mutex);
  ++enqueued;
  moreWork.notify_one();
}

Status HostStream::launch(const Launch &launch) {
  if (!launch.kernel)
    return Error{"launch: no kernel"};
  if (launch.numArguments > limits.arguments || launch.numSizes > limits.sizes)
    return Error{"launch: the stream takes at most " +
                 std::to_string(limits.arguments) + " arguments and " +
                 std::to_string(limits.sizes) + " sizes, got " +
                 std::to_string(launch.numArguments) + " and " +
                 std::to_string(launch.numSizes)};
  if (device.faults.launch.strike())
    return Error{"launch: injected failure"};
  size_t place = reserve();
  std::copy_n(launch.arguments, launch.numArguments,
              arguments.begin() + place * limits.arguments);
  std::copy_n(launch.sizes, launch.numSizes,
              sizes.begin() + place * limits.sizes);
  Command command;
  command.kind = Command::Kind::Launch;
  command.kernel =
      static_cast<const HostDevice::KernelFunction *>(launch.kernel);
  command.workspace = launch.workspace;
  publish(command, place);
  return {};
}

Status HostStream::enqueueCopy(void *to, const void *from, int64_t bytes) {
  Command command;
  command.kind = Command::Kind::Copy;
  command.to = to;
  command.from = from;
  command.bytes = bytes;
  publish(command, reserve());
  return {};
}

Status HostStream::copyToHost(void *hostTo, const void *deviceFrom,
                              int64_t bytes) {
  return enqueueCopy(hostTo, deviceFrom, bytes);
}

Status HostStream::copyToDevice(void *deviceTo, const void *hostFrom,
                                int64_t bytes) {
  return enqueueCopy(deviceTo, hostFrom, bytes);
}

Status HostStream::fill(void *deviceTo, uint8_t value, int64_t bytes) {
  Command command;
  command.kind = Command::Kind::Fill;
  command.to = deviceTo;
  command.value = value;
  command.bytes = bytes;
  publish(command, reserve());
  return {};
}

Status HostStream::record(Event &event) {
  Command command;
  command.kind = Command::Kind::Record;
  command.event = static_cast<HostEvent *>(&event);
  size_t place = reserve();
  command.number = command.event->announce();
  publish(command, place);
  return {};
}

Status HostStream::wait(Event &event) {
  Command command;
  command.kind = Command::Kind::Wait;
  command.event = static_cast<HostEvent *>(&event);
  command.number = command.event->announced();
  publish(command, reserve());
  return {};
}

Status HostStream::synchronise() {
  std::unique_lock<std::mutex> lock(mutex);
  moreRoom.wait(lock, [&] { return enqueued == finished; });
  if (!failure)
    return {};
  std::string what = failure;
  failure = nullptr;
  return Error{what + " of " + std::to_string(failedBytes) + " bytes"};
}

//===----------------------------------------------------------------------===//
// HostStream: the thread's side
//===----------------------------------------------------------------------===//

void *HostStream::threadMain(void *self) {
  static_cast<HostStream *>(self)->work();
  return nullptr;
}

void HostStream::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    moreWork.wait(lock, [&] { return stopping || enqueued != finished; });
    if (enqueued == finished)
      return;
    size_t place = finished % ring.size();
    lock.unlock();
    execute(ring[place], place);
    lock.lock();
    ++finished;
    moreRoom.notify_all();
  }
}

void HostStream::execute(const Command &command, size_t place) {
  switch (command.kind) {
  case Command::Kind::Launch:
    (*command.kernel)(arguments.data() + place * limits.arguments,
                      sizes.data() + place * limits.sizes, command.workspace);
    return;
  case Command::Kind::Copy:
    return copy(command);
  case Command::Kind::Fill:
    if (command.bytes)
      std::memset(command.to, command.value, command.bytes);
    return;
  case Command::Kind::Record:
    return command.event->reach(command.number);
  case Command::Kind::Wait:
    return command.event->waitFor(command.number);
  }
}

void HostStream::copy(const Command &command) {
  if (device.faults.copy.strike()) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!failure) {
      failure = "host stream: injected failure in a copy";
      failedBytes = command.bytes;
    }
    return;
  }
  int64_t delay = device.faults.copyDelayMicroseconds;
  int64_t half = delay ? command.bytes / 2 : command.bytes;
  spin(delay);
  if (half)
    std::memcpy(command.to, command.from, half);
  spin(delay);
  if (command.bytes > half)
    std::memcpy(static_cast<char *>(command.to) + half,
                static_cast<const char *>(command.from) + half,
                command.bytes - half);
  spin(delay);
}

void HostStream::spin(int64_t atMostMicroseconds) {
  if (atMostMicroseconds <= 0)
    return;
  // splitmix64
  uint64_t z = randomState += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  auto until = std::chrono::steady_clock::now() +
               std::chrono::microseconds(z % (atMostMicroseconds + 1));
  while (std::chrono::steady_clock::now() < until)
    sched_yield();
}
