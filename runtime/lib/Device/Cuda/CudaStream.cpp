//===- CudaStream.cpp - streams, events, graphs ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Cuda/CudaStream.h"
#include "Device/Cuda/CudaKernel.h"

#include <atomic>

using namespace ckpt::rt;
using namespace ckpt::rt::cuda;

//===----------------------------------------------------------------------===//
// CudaEvent
//===----------------------------------------------------------------------===//

Status CudaEvent::open() {
  CudaScope scope(device);
  for (auto [event, flags] : {std::pair{&timed, eventDefault},
                              std::pair{&captured, eventDisableTiming}})
    if (Code code = device.driver.eventCreate(event, flags))
      return device.driver.error(code, "cuEventCreate");
  return {};
}

CudaEvent::~CudaEvent() {
  CudaScope scope(device);
  for (EventHandle event : {timed, captured})
    if (event)
      (void)device.driver.eventDestroy(event);
}

bool CudaEvent::done() const {
  CudaScope scope(device);
  // After a fault nothing is under way any more.
  return !isRecorded || device.driver.eventQuery(timed) != notReady;
}

//===----------------------------------------------------------------------===//
// CudaStream
//===----------------------------------------------------------------------===//

Status CudaStream::open() {
  CudaScope scope(device);
  // Not ordered with the legacy default stream, which others may use.
  if (Code code = device.driver.streamCreate(&handle, streamNonBlocking))
    return device.driver.error(code, "cuStreamCreate");
  return {};
}

CudaStream::~CudaStream() {
  if (!handle)
    return;
  CudaScope scope(device);
  (void)device.driver.streamSynchronise(handle);
  (void)device.driver.streamDestroy(handle);
}

Status CudaStream::launch(const Launch &launch) {
  if (!launch.kernel)
    return Error{"launch: no kernel"};
  if (launch.numArguments > limits.arguments || launch.numSizes > limits.sizes)
    return Error{"launch: the stream takes at most " +
                 std::to_string(limits.arguments) + " arguments and " +
                 std::to_string(limits.sizes) + " sizes, got " +
                 std::to_string(launch.numArguments) + " and " +
                 std::to_string(launch.numSizes)};
  CudaScope scope(device);
  // A handle is const to those who pass it on.
  return static_cast<CudaKernel *>(const_cast<void *>(launch.kernel))
      ->launch(launch, handle);
}

Status CudaStream::copyToHost(void *hostTo, const void *deviceFrom,
                              int64_t bytes) {
  if (bytes == 0)
    return {};
  CudaScope scope(device);
  if (Code code = device.driver.copyToHost(hostTo, addressOf(deviceFrom),
                                           size_t(bytes), handle))
    return device.driver.error(code, "cuMemcpyDtoHAsync of " +
                                         std::to_string(bytes) + " bytes");
  return {};
}

Status CudaStream::copyToDevice(void *deviceTo, const void *hostFrom,
                                int64_t bytes) {
  if (bytes == 0)
    return {};
  CudaScope scope(device);
  if (Code code = device.driver.copyToDevice(addressOf(deviceTo), hostFrom,
                                             size_t(bytes), handle))
    return device.driver.error(code, "cuMemcpyHtoDAsync of " +
                                         std::to_string(bytes) + " bytes");
  return {};
}

Status CudaStream::fill(void *deviceTo, uint8_t value, int64_t bytes) {
  if (bytes == 0)
    return {};
  CudaScope scope(device);
  if (Code code =
          device.driver.fill(addressOf(deviceTo), value, size_t(bytes), handle))
    return device.driver.error(code, "cuMemsetD8Async of " +
                                         std::to_string(bytes) + " bytes");
  return {};
}

Status CudaStream::record(Event &event) {
  auto &cudaEvent = static_cast<CudaEvent &>(event);
  CudaScope scope(device);
  if (Code code = device.driver.eventRecord(
          recording ? cudaEvent.captured : cudaEvent.timed, handle))
    return device.driver.error(code, "cuEventRecord");
  if (recording)
    cudaEvent.capturedIn = recording;
  else
    cudaEvent.isRecorded = true;
  return {};
}

Status CudaStream::mark(Event &event) {
  if (!recording)
    return record(event);
  auto &cudaEvent = static_cast<CudaEvent &>(event);
  CudaScope scope(device);
  if (Code code = device.driver.eventRecordWithFlags(cudaEvent.timed, handle,
                                                     recordExternal))
    return device.driver.error(code, "cuEventRecordWithFlags");
  cudaEvent.isRecorded = true;
  return {};
}

Status CudaStream::wait(Event &event) {
  auto &cudaEvent = static_cast<CudaEvent &>(event);
  if (recording ? cudaEvent.capturedIn != recording : !cudaEvent.isRecorded)
    return {};
  CudaScope scope(device);
  if (Code code = device.driver.streamWait(
          handle, recording ? cudaEvent.captured : cudaEvent.timed, 0))
    return device.driver.error(code, "cuStreamWaitEvent");
  return {};
}

Status CudaStream::synchronise() {
  CudaScope scope(device);
  if (Code code = device.driver.streamSynchronise(handle))
    return device.driver.error(code, "cuStreamSynchronize");
  return {};
}

//===----------------------------------------------------------------------===//
// CudaRecording
//===----------------------------------------------------------------------===//

CudaRecording::~CudaRecording() { forget(); }

void CudaRecording::forget() {
  if (!exec)
    return;
  CudaScope scope(device);
  (void)device.driver.graphExecDestroy(exec);
  exec = nullptr;
}

Status CudaRecording::begin(const std::vector<Stream *> &given) {
  // Events of an earlier recording must not be taken for this one's.
  static std::atomic<uint64_t> last{0};
  uint64_t number = ++last;
  streams.clear();
  for (Stream *stream : given)
    streams.push_back(static_cast<CudaStream *>(stream));
  CudaScope scope(device);
  // Relaxed: other threads may go on allocating.
  if (Code code =
          device.driver.captureBegin(streams[0]->handle, captureRelaxed))
    return device.driver.error(code, "cuStreamBeginCapture");
  for (CudaStream *stream : streams)
    stream->recording = number;
  return {};
}

Result<GraphHandle> CudaRecording::finish() {
  for (CudaStream *stream : streams)
    stream->recording = 0;
  GraphHandle graph = nullptr;
  if (Code code = device.driver.captureEnd(streams[0]->handle, &graph))
    return device.driver.error(code, "cuStreamEndCapture");
  return graph;
}

Status CudaRecording::end() {
  CudaScope scope(device);
  Result<GraphHandle> graph = finish();
  if (!graph.ok())
    return Error{graph.message()};
  UpdateInfo info = {};
  if (exec && device.driver.graphUpdate(exec, *graph, &info))
    // Another shape than before.
    forget();
  Code code = 0;
  if (!exec)
    code = device.driver.graphInstantiate(&exec, *graph, 0);
  (void)device.driver.graphDestroy(*graph);
  if (!code)
    return {};
  exec = nullptr;
  return device.driver.error(code, "cuGraphInstantiateWithFlags");
}

void CudaRecording::abandon() {
  CudaScope scope(device);
  // A capture that a failed call has made invalid ends with an error.
  if (Result<GraphHandle> graph = finish(); graph.ok() && *graph)
    (void)device.driver.graphDestroy(*graph);
  forget();
}

Status CudaRecording::issue() {
  if (!exec)
    return Error{"recording: expected something recorded, found nothing"};
  CudaScope scope(device);
  if (Code code = device.driver.graphLaunch(exec, streams[0]->handle))
    return device.driver.error(code, "cuGraphLaunch");
  return {};
}
