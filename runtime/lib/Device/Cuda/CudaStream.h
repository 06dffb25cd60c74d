//===- CudaStream.h - streams, events, graphs -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_CUDA_CUDASTREAM_H
#define CKPT_RT_DEVICE_CUDA_CUDASTREAM_H

#include "Device/Cuda/CudaDevice.h"

namespace ckpt::rt {

class CudaEvent : public Event {
public:
  explicit CudaEvent(CudaDevice &device) : device(device) {}
  ~CudaEvent() override;
  Status open();
  bool done() const override;

  CudaDevice &device;
  /// Recorded and waited for on streams that run.
  cuda::EventHandle timed = nullptr;
  bool isRecorded = false;
  /// Its stand-in in a recording: an event that was captured may be used for
  /// nothing else.
  cuda::EventHandle captured = nullptr;
  /// The recording, by number, in which it was last recorded.
  uint64_t capturedIn = 0;
};

class CudaStream : public Stream {
public:
  CudaStream(CudaDevice &device, const StreamLimits &limits)
      : device(device), limits(limits) {}
  ~CudaStream() override;
  Status open();

  Status launch(const Launch &launch) override;
  Status copyToHost(void *hostTo, const void *deviceFrom,
                    int64_t bytes) override;
  Status copyToDevice(void *deviceTo, const void *hostFrom,
                      int64_t bytes) override;
  Status fill(void *deviceTo, uint8_t value, int64_t bytes) override;
  Status record(Event &event) override;
  Status mark(Event &event) override;
  Status wait(Event &event) override;
  Status synchronise() override;

  CudaDevice &device;
  cuda::StreamHandle handle = nullptr;
  /// The number of the recording that takes its commands, or 0.
  uint64_t recording = 0;

private:
  const StreamLimits limits;
};

/// A CUDA graph, captured from streams.
class CudaRecording : public Recording {
public:
  explicit CudaRecording(CudaDevice &device) : device(device) {}
  ~CudaRecording() override;
  Status begin(const std::vector<Stream *> &streams) override;
  Status end() override;
  void abandon() override;
  Status issue() override;

private:
  /// The capture as a graph, and the streams as they were.
  Result<cuda::GraphHandle> finish();
  void forget();

  CudaDevice &device;
  std::vector<CudaStream *> streams;
  cuda::GraphExecHandle exec = nullptr;
};

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_CUDA_CUDASTREAM_H
