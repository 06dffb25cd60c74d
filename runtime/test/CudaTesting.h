//===- CudaTesting.h - fixtures on a GPU or a fake one ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_CUDATESTING_H
#define CKPT_RT_TEST_CUDATESTING_H

#include "Device/Devices.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace ckpt::rt::test {

/// A function of the fake driver, or null on a real one.
template <typename Function>
Function *fakeFunction(const char *name) {
  const char *path = std::getenv("CKPT_CUDA_DRIVER");
  void *library = path ? dlopen(path, RTLD_NOW) : nullptr;
  return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}

inline bool isFake() {
  return fakeFunction<void()>("fakeCudaCount") != nullptr;
}
/// Calls of a driver function so far; 0 on a real driver.
inline int64_t fakeCount(const char *symbol) {
  auto *count = fakeFunction<int64_t(const char *)>("fakeCudaCount");
  return count ? count(symbol) : 0;
}
/// The `n`-th call of a driver function from now on fails; the fake one only.
inline void fakeFail(const char *symbol, int n, int code) {
  fakeFunction<void(const char *, int, int)>("fakeCudaFail")(symbol, n, code);
}

inline void expectOk(const Status &status) {
  EXPECT_TRUE(status.ok()) << status.message();
}

/// A CUDA device with a stream; skipped, with the reason, where there is none.
struct CudaTest : ::testing::Test {
  void SetUp() override {
    Result<std::shared_ptr<Device>> made = createDevice("cuda");
    if (!made.ok())
      GTEST_SKIP() << made.message();
    device = *made;
    stream = std::move(*device->createStream({}));
  }
  void TearDown() override {
    for (auto [data, bytes] : blocks)
      device->free(data, bytes);
  }

  /// Device memory with these bytes.
  void *memory(const std::vector<uint8_t> &bytes) {
    void *data = *device->allocate(int64_t(bytes.size()));
    blocks.push_back({data, int64_t(bytes.size())});
    expectOk(stream->copyToDevice(data, bytes.data(), int64_t(bytes.size())));
    expectOk(stream->synchronise());
    return data;
  }
  std::vector<uint8_t> read(const void *from, int64_t bytes) {
    std::vector<uint8_t> to(bytes);
    expectOk(stream->copyToHost(to.data(), from, bytes));
    expectOk(stream->synchronise());
    return to;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;

private:
  std::vector<std::pair<void *, int64_t>> blocks;
};

} // namespace ckpt::rt::test

#endif // CKPT_RT_TEST_CUDATESTING_H
