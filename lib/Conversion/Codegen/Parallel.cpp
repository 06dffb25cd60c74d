//===- Parallel.cpp - jobs on all processors ------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

void ckpt::codegen::runInParallel(
    unsigned count, llvm::function_ref<void(unsigned)> job,
    llvm::function_ref<void(unsigned, unsigned)> progress) {
  std::atomic<unsigned> next = 0;
  unsigned done = 0;
  std::mutex mutex;
  auto work = [&] {
    for (unsigned i; (i = next++) < count;) {
      job(i);
      std::lock_guard<std::mutex> lock(mutex);
      ++done;
      if (progress)
        progress(done, count);
    }
  };
  unsigned numThreads =
      std::min(std::max(1u, std::thread::hardware_concurrency()), count);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < numThreads; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}
