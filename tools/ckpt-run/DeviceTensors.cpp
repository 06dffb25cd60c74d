//===- DeviceTensors.cpp - the caller's tensors on a device ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "DeviceTensors.h"

#include "Progress.h"

using namespace ckpt;
using namespace ckpt::run;

DeviceTensors::~DeviceTensors() {
  if (slab)
    device->free(slab, slabBytes);
}

void *DeviceTensors::at(size_t index) const {
  if (inPlace)
    return tensors[index].data.get();
  return static_cast<uint8_t *>(slab) + offsets[index];
}

rt::Status DeviceTensors::upload() {
  if (inPlace)
    return {};
  for (const Tensor &tensor : tensors) {
    offsets.push_back(slabBytes);
    slabBytes += (tensor.bytes + rt::arenaAlignment - 1) / rt::arenaAlignment *
                 rt::arenaAlignment;
  }
  rt::Result<void *> memory = device->allocate(slabBytes);
  if (!memory.ok())
    return rt::Error{"the caller's tensors: " + memory.message()};
  slab = *memory;
  rt::Result<std::unique_ptr<rt::Stream>> made = device->createStream({});
  if (!made.ok())
    return rt::Error{made.message()};
  stream = std::move(*made);
  Progress progress("copying tensors to the device");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].isResult())
      if (rt::Status status = stream->copyToDevice(at(i), tensors[i].data.get(),
                                                   tensors[i].bytes);
          !status.ok())
        return status;
    progress.set(int64_t(i + 1), int64_t(tensors.size()));
  }
  return stream->synchronise();
}

rt::Status DeviceTensors::download() {
  if (inPlace)
    return {};
  Progress progress("copying results from the device");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].isResult())
      if (rt::Status status = stream->copyToHost(tensors[i].data.get(), at(i),
                                                 tensors[i].bytes);
          !status.ok())
        return status;
    progress.set(int64_t(i + 1), int64_t(tensors.size()));
  }
  return stream->synchronise();
}

rt::Status DeviceTensors::bindTo(rt::Step &step) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (rt::Status status =
            step.bind(tensors[i].external.name, at(i), tensors[i].bytes);
        !status.ok())
      return status;
  return {};
}
