//===- CudaDevice.cpp - an NVIDIA GPU -------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Cuda/CudaDevice.h"
#include "Device/Cuda/CudaStream.h"

#include <cstdlib>

using namespace ckpt::rt;
using namespace ckpt::rt::cuda;

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

CudaScope::CudaScope(const CudaDevice &device) : device(device) {
  ContextHandle current = nullptr;
  (void)device.driver.contextCurrent(&current);
  // A context that cannot be pushed shows in the calls that follow.
  if (current != device.context)
    pushed = device.driver.contextPush(device.context) == 0;
}

CudaScope::~CudaScope() {
  ContextHandle popped = nullptr;
  if (pushed)
    (void)device.driver.contextPop(&popped);
}

Result<std::shared_ptr<Device>> CudaDevice::create(int ordinal) {
  Result<const Driver *> driver = Driver::open();
  if (!driver.ok())
    return driver.takeError();
  std::shared_ptr<CudaDevice> device(new CudaDevice(**driver));
  if (Status status = device->open(ordinal); !status.ok())
    return Error{"cuda device: " + status.message()};
  return std::shared_ptr<Device>(std::move(device));
}

Status CudaDevice::open(int ordinal) {
  int count = 0, version = 0, major = 0, minor = 0;
  if (Code code = driver.deviceCount(&count))
    return driver.error(code, "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count)
    return Error{"expected GPU " + std::to_string(ordinal) + ", found " +
                 (count ? std::to_string(count) + " numbered from 0" : "none") +
                 "; CUDA_VISIBLE_DEVICES hides GPUs"};
  (void)driver.driverVersion(&version);
  if (Code code = driver.deviceGet(&id, ordinal))
    return driver.error(code, "cuDeviceGet of " + std::to_string(ordinal));
  char text[256] = {};
  if (Code code = driver.deviceName(text, sizeof text - 1, id))
    return driver.error(code, "cuDeviceGetName");
  label = text;
  for (auto [value, attribute] :
       {std::pair{&major, attributeMajor}, std::pair{&minor, attributeMinor},
        std::pair{&multiprocessors, attributeMultiprocessors},
        std::pair{&sharedLimit, attributeSharedPerBlock}})
    if (Code code = driver.deviceAttribute(value, attribute, id))
      return driver.error(code,
                          "cuDeviceGetAttribute " + std::to_string(attribute));
  // Code for sm_90a runs on no other capability, newer ones included.
  if (major != 9 || minor != 0)
    return Error{"expected a GPU of compute capability 9.0 (H100, H200, "
                 "GH200), found " +
                 label + " of " + std::to_string(major) + "." +
                 std::to_string(minor) +
                 "; run on such a GPU, or compile the step for target host"};
  if (Code code = driver.contextRetain(&context, id)) {
    context = nullptr;
    return driver.error(code, "cuDevicePrimaryCtxRetain of " + label +
                                  ", CUDA " + std::to_string(version / 1000) +
                                  "." + std::to_string(version / 10 % 100));
  }
  return {};
}

CudaDevice::~CudaDevice() {
  if (context)
    (void)driver.contextRelease(id);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result<void *> CudaDevice::allocate(int64_t bytes) {
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  CudaScope scope(*this);
  Address data = 0;
  if (Code code = driver.memoryAllocate(&data, size_t(bytes))) {
    size_t free = 0, total = 0;
    (void)driver.memoryInfo(&free, &total);
    return driver.error(code, "device memory: cuMemAlloc of " +
                                  std::to_string(bytes) + " bytes with " +
                                  std::to_string(free) + " of " +
                                  std::to_string(total) + " free");
  }
  return reinterpret_cast<void *>(data);
}

void CudaDevice::free(void *device, int64_t) {
  if (!device)
    return;
  CudaScope scope(*this);
  (void)driver.memoryFree(addressOf(device));
}

Result<void *> CudaDevice::allocateHost(int64_t bytes, bool pinned) {
  size_t size = size_t(bytes ? bytes : 1);
  void *data = nullptr;
  if (!pinned) {
    constexpr size_t page = 4096;
    data = std::aligned_alloc(page, (size + page - 1) / page * page);
    if (!data)
      return Error{"pageable host memory: cannot allocate " +
                   std::to_string(bytes) + " bytes"};
    return data;
  }
  CudaScope scope(*this);
  if (Code code = driver.hostAllocate(&data, size, hostPortable))
    return driver.error(code, "pinned host memory: cuMemHostAlloc of " +
                                  std::to_string(bytes) + " bytes");
  return data;
}

void CudaDevice::freeHost(void *host, int64_t, bool pinned) {
  if (!pinned)
    return std::free(host);
  CudaScope scope(*this);
  if (host)
    (void)driver.hostFree(host);
}

std::optional<int64_t> CudaDevice::bytesInUse() {
  CudaScope scope(*this);
  size_t free = 0, total = 0;
  if (driver.memoryInfo(&free, &total))
    return std::nullopt;
  return int64_t(total - free);
}

//===----------------------------------------------------------------------===//
// Streams, events, modules
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Stream>>
CudaDevice::createStream(const StreamLimits &limits) {
  auto stream = std::make_unique<CudaStream>(*this, limits);
  if (Status status = stream->open(); !status.ok())
    return Error{status.message()};
  return std::unique_ptr<Stream>(std::move(stream));
}

Result<std::unique_ptr<Event>> CudaDevice::createEvent() {
  auto event = std::make_unique<CudaEvent>(*this);
  if (Status status = event->open(); !status.ok())
    return Error{status.message()};
  return std::unique_ptr<Event>(std::move(event));
}

Result<double> CudaDevice::secondsBetween(const Event &from, const Event &to) {
  const auto &a = static_cast<const CudaEvent &>(from);
  const auto &b = static_cast<const CudaEvent &>(to);
  if (!a.isRecorded || !b.isRecorded)
    return Error{"cuda device: expected two events that are done"};
  CudaScope scope(*this);
  float milliseconds = 0;
  if (Code code = driver.eventElapsed(&milliseconds, a.timed, b.timed))
    return driver.error(code, "cuEventElapsedTime");
  return double(milliseconds) * 1e-3;
}

Result<std::unique_ptr<Module>>
CudaDevice::loadModule(std::shared_ptr<const Program> program) {
  return loadCudaModule(*this, std::move(program));
}

Result<std::unique_ptr<Recording>> CudaDevice::createRecording() {
  return std::unique_ptr<Recording>(std::make_unique<CudaRecording>(*this));
}
