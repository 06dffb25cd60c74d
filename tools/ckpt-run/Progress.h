//===- Progress.h - life signs of long work ---------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_PROGRESS_H
#define CKPT_TOOLS_CKPT_RUN_PROGRESS_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ckpt::run {

/// Says on standard error what goes on, from the second second on: every
/// second on a terminal (and wipes it when done), every ten in a log.
class Progress {
public:
  /// `expected`: how long it may take, seconds; 0 when nobody knows.
  explicit Progress(std::string what, double expected = 0);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// `done` of `total` parts are over; from any thread.
  void set(int64_t done, int64_t total);

private:
  void work();
  std::string line(int64_t seconds) const;

  const std::string what;
  const double expected;
  std::atomic<int64_t> done{0}, total{0};
  std::mutex mutex;
  std::condition_variable ending;
  bool ended = false;
  std::thread thread;
};

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_PROGRESS_H
