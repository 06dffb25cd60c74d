//===- Device.cpp - memory, streams, events, kernels ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Device.h"

using namespace ckpt::rt;

// The vtables' home.
Event::~Event() = default;
Stream::~Stream() = default;
Recording::~Recording() = default;
Module::~Module() = default;
Device::~Device() = default;

Result<std::unique_ptr<Recording>> Device::createRecording() {
  return std::unique_ptr<Recording>();
}
