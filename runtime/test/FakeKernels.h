//===- FakeKernels.h - GpuKernels.c thread by thread ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_FAKEKERNELS_H
#define CKPT_RT_TEST_FAKEKERNELS_H

#include "Device/Cuda/Driver.h"

#include <cstring>
#include <string>
#include <vector>

namespace ckpt::rt::cuda {

/// What the fake puts into a descriptor.
struct FakeMap {
  char *address;
  uint64_t stride;
  uint32_t columns, rows, boxColumns, boxRows, elementBytes;
};
static_assert(sizeof(FakeMap) <= sizeof(TensorMap), "a descriptor's room");

/// A launch with its parameters copied.
class FakeLaunch {
public:
  static bool knows(const std::string &kernel);
  FakeLaunch(const std::string &kernel, void *const *parameters);
  void run() const;

  /// What stub_add adds.
  int variant = 0;
  unsigned blocks = 1, threads = 1;

  template <typename T>
  T get(int i) const {
    T value;
    std::memcpy(&value, values[i].data(), sizeof value);
    return value;
  }
  void *pointer(int i) const { return get<void *>(i); }
  int64_t number(int i) const { return get<int64_t>(i); }

private:
  const struct FakeKernel *kernel;
  std::vector<std::vector<char>> values;
};

} // namespace ckpt::rt::cuda

#endif // CKPT_RT_TEST_FAKEKERNELS_H
