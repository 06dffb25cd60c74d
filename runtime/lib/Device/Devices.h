//===- Devices.h - devices by name ------------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_DEVICES_H
#define CKPT_RT_DEVICE_DEVICES_H

#include "Device/Device.h"

namespace ckpt::rt {

/// `host`; `cuda`, the first GPU; `cuda:N`, the GPU of that number. Fails,
/// saying what to do, on any other name and on a machine without such a device.
Result<std::shared_ptr<Device>> createDevice(const std::string &name);

/// The name of a device that runs programs of `target`.
const char *deviceFor(const std::string &target);

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_DEVICES_H
