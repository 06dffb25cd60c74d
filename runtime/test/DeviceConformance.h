//===- DeviceConformance.h - what every device must do ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The contract of Device.h as tests against the interface alone. A device
/// takes part with one line:
///   INSTANTIATE_TEST_SUITE_P(Host, DeviceConformance, Values(factory));
/// Device memory is only touched by copies, fills and kernels.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_DEVICECONFORMANCE_H
#define CKPT_RT_TEST_DEVICECONFORMANCE_H

#include "Device/Device.h"

#include <gtest/gtest.h>

namespace ckpt::rt::test {

struct DeviceFactory {
  const char *name;
  Result<std::shared_ptr<Device>> (*make)();
  /// Adds to a program what this device needs to run its kernels, which are
  /// those of StubKernels.c; `variant` is what `stub_add` adds, 1 or 2.
  void (*addCode)(Program &program, int variant);
  /// Not every machine has one: the tests are skipped there.
  bool mayBeMissing = false;
};

class DeviceConformance : public ::testing::TestWithParam<DeviceFactory> {
protected:
  void SetUp() override;
  void TearDown() override;

  void *deviceMemory(int64_t bytes);
  uint8_t *hostMemory(int64_t bytes, bool pinned = true);
  std::unique_ptr<Stream> stream(StreamLimits limits = {});
  std::unique_ptr<Event> event();
  /// Device memory with `value` in every byte.
  void *filled(int64_t bytes, uint8_t value);
  std::vector<uint8_t> read(const void *device, int64_t bytes);
  /// A program with the two stub kernels over the size `bytes`.
  std::shared_ptr<Program> stubProgram(int variant);
  std::unique_ptr<Module> stubModule(int variant);
  Result<KernelHandle> find(Module &module, const char *symbol, int64_t bytes);

  std::shared_ptr<Device> device;

private:
  std::vector<std::pair<void *, int64_t>> onDevice;
  struct HostBlock {
    void *data;
    int64_t bytes;
    bool pinned;
  };
  std::vector<HostBlock> onHost;
};

} // namespace ckpt::rt::test

#endif // CKPT_RT_TEST_DEVICECONFORMANCE_H
