//===- Devices.cpp - devices by name --------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Devices.h"

#include "Device/Cuda/CudaDevice.h"
#include "Device/Host/HostDevice.h"

#include <charconv>

using namespace ckpt::rt;

Result<std::shared_ptr<Device>>
ckpt::rt::createDevice(const std::string &name) {
  if (name == "host")
    return std::shared_ptr<Device>(std::make_shared<HostDevice>());
  if (name == "cuda")
    return CudaDevice::create();
  const std::string prefix = "cuda:";
  int ordinal = 0;
  const char *last = name.data() + name.size();
  if (name.rfind(prefix, 0) == 0) {
    auto [end, error] =
        std::from_chars(name.data() + prefix.size(), last, ordinal);
    if (error == std::errc() && end == last)
      return CudaDevice::create(ordinal);
  }
  return Error{"device: expected host, cuda or cuda:N, got " + name};
}

const char *ckpt::rt::deviceFor(const std::string &target) {
  return target == "nvptx" ? "cuda" : "host";
}
