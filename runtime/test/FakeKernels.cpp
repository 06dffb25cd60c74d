//===- FakeKernels.cpp - GpuKernels.c thread by thread --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "FakeKernels.h"

#include <map>

using namespace ckpt::rt::cuda;

extern "C" {
thread_local int fakeBlock = 0, fakeThreads = 0, fakeThread = 0;
thread_local int stub_variant = 0;

void stub_add(const void *, void *, int64_t);
void stub_reverse(const void *, void *, void *, int64_t);
void gemm_bias_add(const void *, const void *, const void *, const void *,
                   void *, int64_t);
void gemm_dx(const void *, const void *, void *, int64_t);
void gemm_dw(const void *, const void *, void *, int64_t);
void accumulate_rows(const void *, const void *, void *, int64_t);
void cast(const void *, void *);
}

namespace ckpt::rt::cuda {
struct FakeKernel {
  /// Bytes of each parameter.
  std::vector<size_t> bytes;
  void (*call)(const FakeLaunch &p);
};
} // namespace ckpt::rt::cuda

/// What the TMA unit does for the kernel `box`, by one thread.
static void copyBox(const FakeMap &map, char *to, int column, int row) {
  if (fakeThread)
    return;
  for (uint32_t r = 0; r < map.boxRows; ++r)
    for (uint32_t c = 0; c < map.boxColumns; ++c) {
      uint64_t y = uint64_t(row) + r, x = uint64_t(column) + c;
      char *element = to + (r * map.boxColumns + c) * map.elementBytes;
      if (x < map.columns && y < map.rows)
        std::memcpy(element,
                    map.address + y * map.stride + x * map.elementBytes,
                    map.elementBytes);
      else
        std::memset(element, 0, map.elementBytes);
    }
}

static const std::map<std::string, FakeKernel> &kernels() {
  static const std::map<std::string, FakeKernel> all = {
      {"stub_add",
       {{8, 8, 8},
        [](const FakeLaunch &p) {
          stub_add(p.pointer(0), p.pointer(1), p.number(2));
        }}},
      {"stub_reverse",
       {{8, 8, 8, 8},
        [](const FakeLaunch &p) {
          stub_reverse(p.pointer(0), p.pointer(1), p.pointer(2), p.number(3));
        }}},
      {"gemm_bias_add",
       {{8, 8, 8, 8, 8, 8},
        [](const FakeLaunch &p) {
          gemm_bias_add(p.pointer(0), p.pointer(1), p.pointer(2), p.pointer(3),
                        p.pointer(4), p.number(5));
        }}},
      {"gemm_dx",
       {{8, 8, 8, 8},
        [](const FakeLaunch &p) {
          gemm_dx(p.pointer(0), p.pointer(1), p.pointer(2), p.number(3));
        }}},
      {"gemm_dw",
       {{8, 8, 8, 8},
        [](const FakeLaunch &p) {
          gemm_dw(p.pointer(0), p.pointer(1), p.pointer(2), p.number(3));
        }}},
      {"accumulate_rows",
       {{8, 8, 8, 8},
        [](const FakeLaunch &p) {
          accumulate_rows(p.pointer(0), p.pointer(1), p.pointer(2),
                          p.number(3));
        }}},
      {"cast",
       {{8, 8}, [](const FakeLaunch &p) { cast(p.pointer(0), p.pointer(1)); }}},
      {"box", {{128, 8, 4, 4}, [](const FakeLaunch &p) {
                 copyBox(p.get<FakeMap>(0), static_cast<char *>(p.pointer(1)),
                         p.get<int>(2), p.get<int>(3));
               }}}};
  return all;
}

bool FakeLaunch::knows(const std::string &kernel) {
  return kernels().count(kernel);
}

FakeLaunch::FakeLaunch(const std::string &name, void *const *parameters)
    : kernel(&kernels().at(name)) {
  for (size_t i = 0; i < kernel->bytes.size(); ++i) {
    auto *from = static_cast<const char *>(parameters[i]);
    values.push_back({from, from + kernel->bytes[i]});
  }
}

void FakeLaunch::run() const {
  stub_variant = variant;
  fakeThreads = int(threads);
  for (unsigned block = 0; block < blocks; ++block)
    for (unsigned thread = 0; thread < threads; ++thread) {
      fakeBlock = int(block);
      fakeThread = int(thread);
      kernel->call(*this);
    }
}
