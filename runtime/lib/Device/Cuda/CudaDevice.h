//===- CudaDevice.h - an NVIDIA GPU -----------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GPU of compute capability 9.0 under the contract of Device.h, by the
/// driver API alone. It shares the process's primary context, so that its
/// pointers are also PyTorch's and JAX's.
///
/// What differs from the contract: a kernel that faults breaks the context for
/// good. What follows on any stream does not run, every later call returns the
/// driver's error, and only a new process has a working device again. Copies
/// of pageable memory are staged by the driver, so that enqueuing one may wait
/// for what was enqueued before it.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_CUDA_CUDADEVICE_H
#define CKPT_RT_DEVICE_CUDA_CUDADEVICE_H

#include "Device/Cuda/Driver.h"
#include "Device/Device.h"

namespace ckpt::rt {

class CudaDevice : public Device {
public:
  /// The GPU of that number, as CUDA counts them. The message says what was
  /// looked for, what was found and what to do.
  static Result<std::shared_ptr<Device>> create(int ordinal = 0);
  ~CudaDevice() override;
  /// `NVIDIA H200`.
  const char *name() const override { return label.c_str(); }

  Result<std::unique_ptr<Stream>>
  createStream(const StreamLimits &limits) override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Result<double> secondsBetween(const Event &from, const Event &to) override;
  Result<std::unique_ptr<Module>>
  loadModule(std::shared_ptr<const Program> program) override;
  Result<std::unique_ptr<Recording>> createRecording() override;
  Result<void *> allocate(int64_t bytes) override;
  void free(void *device, int64_t bytes) override;
  Result<void *> allocateHost(int64_t bytes, bool pinned) override;
  void freeHost(void *host, int64_t bytes, bool pinned) override;
  /// Of a TMA descriptor and of the widest load.
  int64_t tensorAlignment() const override { return 16; }
  std::optional<int64_t> bytesInUse() override;

  const cuda::Driver &driver;
  int multiprocessors = 0;
  /// Bytes of shared memory that a block may have.
  int sharedLimit = 0;

private:
  friend class CudaScope;
  explicit CudaDevice(const cuda::Driver &driver) : driver(driver) {}
  Status open(int ordinal);

  std::string label;
  cuda::DeviceId id = 0;
  cuda::ContextHandle context = nullptr;
};

/// Makes the device's context the thread's current one, and the one before it
/// again at the end.
class CudaScope {
public:
  explicit CudaScope(const CudaDevice &device);
  ~CudaScope();
  CudaScope(const CudaScope &) = delete;
  CudaScope &operator=(const CudaScope &) = delete;

private:
  const CudaDevice &device;
  bool pushed = false;
};

/// The kernels of a program for target `nvptx`. A function is loaded when the
/// first kernel that calls it is found: machine code where there is some that
/// the driver takes, else PTX, which the driver compiles.
Result<std::unique_ptr<Module>>
loadCudaModule(CudaDevice &device, std::shared_ptr<const Program> program);

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_CUDA_CUDADEVICE_H
