//===- Progress.cpp - life signs of long work -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "Report/TextTable.h"

#include <cstdio>
#include <unistd.h>

using namespace ckpt::run;

Progress::Progress(std::string what, double expected)
    : what(std::move(what)), expected(expected), thread([this] { work(); }) {}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ended = true;
  }
  ending.notify_one();
  thread.join();
}

void Progress::set(int64_t newDone, int64_t newTotal) {
  done = newDone;
  total = newTotal;
}

std::string Progress::line(int64_t seconds) const {
  std::string text = what;
  if (int64_t all = total)
    text += ", " + std::to_string(done) + " of " + std::to_string(all);
  text += ", " + std::to_string(seconds) + " s";
  if (expected >= 1)
    text += " of about " + rt::formatSeconds(expected);
  return text;
}

void Progress::work() {
  bool isTerminal = isatty(STDERR_FILENO);
  std::unique_lock<std::mutex> lock(mutex);
  bool isShown = false;
  for (int64_t seconds = 1;; ++seconds) {
    if (ending.wait_for(lock, std::chrono::seconds(1),
                        [this] { return ended; }))
      break;
    if (seconds < 2 && !isTerminal)
      continue;
    if (isTerminal)
      std::fprintf(stderr, "\r\033[K%s", line(seconds).c_str());
    else if (seconds == 2 || seconds % 10 == 0)
      std::fprintf(stderr, "%s\n", line(seconds).c_str());
    isShown = true;
  }
  if (isTerminal && isShown)
    std::fprintf(stderr, "\r\033[K");
}
