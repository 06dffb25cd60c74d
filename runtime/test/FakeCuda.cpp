//===- FakeCuda.cpp - the CUDA driver over ordinary memory ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library that CKPT_CUDA_DRIVER names in tests: the driver functions that
/// the CUDA device calls, so that its code runs where there is no GPU. Commands
/// run when they are enqueued, captured ones when their graph is launched;
/// kernels are those of GpuKernels.c, thread by thread. It is strict where the
/// driver is: a context must be current, captured streams must be joined, code
/// must look like code. What it cannot show is missing order between streams.
///
/// Environment: FAKE_CUDA_GPUS, how many there are (1); FAKE_CUDA_CAPABILITY,
/// theirs (90). Tests also call fakeCudaFail and fakeCudaCount.
///
//===----------------------------------------------------------------------===//

#include "FakeKernels.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace ckpt::rt::cuda;

namespace {
constexpr Code ok = 0, invalidValue = 1, outOfMemory = 2, noDevice = 100,
               invalidContext = 201, invalidImage = 200, invalidPtx = 218,
               notFound = 500, invalidHandle = 400, updateFailed = 910,
               captureUnsupported = 900, captureUnjoined = 904,
               captureIsolation = 905, capturedEvent = 907;

using Clock = std::chrono::steady_clock;

/// What of each stream a point in a capture comes after: commands by stream.
using Seen = std::map<CUstream_st *, int>;

using Commands = std::vector<std::pair<int, std::function<void()>>>;
} // namespace

// The driver's objects.
namespace ckpt::rt::cuda {

struct CUctx_st {};

struct CUgraph_st {
  /// The kind of each, by which updates are judged, and the command.
  Commands commands;
};

struct CUgraphExec_st {
  Commands commands;
};

struct CUevent_st {
  bool hasTiming = false;
  bool isRecorded = false;
  Clock::time_point when;
  /// The capture it was last recorded in.
  CUgraph_st *capture = nullptr;
  Seen seen;
};

struct CUstream_st {
  CUgraph_st *capture = nullptr;
  bool isOrigin = false;
  Seen seen;
};

struct CUfunc_st {
  std::string name;
  CUmod_st *module = nullptr;
  int dynamicShared = 0;
};

struct CUmod_st {
  int variant = 0;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

} // namespace ckpt::rt::cuda

namespace {

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

CUctx_st theContext;
thread_local std::vector<ContextHandle> contexts;
std::map<Address, size_t> allocations;
size_t allocated = 0;
constexpr size_t totalBytes = size_t(1) << 40;
/// Calls until the one that fails, and how; calls so far.
std::map<std::string, std::pair<int, Code>> faults;
std::map<std::string, int64_t> counts;

int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

Code enter(const char *symbol) {
  ++counts[symbol];
  auto found = faults.find(symbol);
  if (found != faults.end() && --found->second.first == 0)
    return found->second.second;
  return ok;
}

Code enterWithContext(const char *symbol) {
  if (Code code = enter(symbol))
    return code;
  return contexts.empty() ? invalidContext : ok;
}

/// Runs a command, or keeps it where the stream is captured.
Code submit(StreamHandle stream, int kind, std::function<void()> command) {
  if (!stream)
    return invalidHandle;
  if (!stream->capture) {
    command();
    return ok;
  }
  stream->capture->commands.push_back({kind, std::move(command)});
  ++stream->seen[stream];
  return ok;
}

void leave(CUgraph_st *capture, std::vector<StreamHandle> &streams) {
  for (StreamHandle stream : streams)
    if (stream->capture == capture) {
      stream->capture = nullptr;
      stream->isOrigin = false;
      stream->seen.clear();
    }
}

std::vector<StreamHandle> allStreams;

} // namespace

#define ENTER(symbol)                                                          \
  if (Code code_ = enter(#symbol))                                             \
  return code_
#define ENTER_CONTEXT(symbol)                                                  \
  if (Code code_ = enterWithContext(#symbol))                                  \
  return code_

extern "C" {

/// The `n`-th call of `symbol` from now on fails with `code`; 1 is the next.
void fakeCudaFail(const char *symbol, int n, int code) {
  faults[symbol] = {n, code};
}
int64_t fakeCudaCount(const char *symbol) { return counts[symbol]; }

//===----------------------------------------------------------------------===//
// Driver, device, context
//===----------------------------------------------------------------------===//

Code cuInit(unsigned) {
  ENTER(cuInit);
  return ok;
}
Code cuDriverGetVersion(int *version) {
  *version = 13000;
  return ok;
}
Code cuGetErrorName(Code code, const char **text) {
  static const std::map<Code, const char *> names = {
      {invalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {noDevice, "CUDA_ERROR_NO_DEVICE"},
      {invalidImage, "CUDA_ERROR_INVALID_IMAGE"},
      {invalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {notFound, "CUDA_ERROR_NOT_FOUND"},
      {captureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {captureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"}};
  auto found = names.find(code);
  *text = found == names.end() ? nullptr : found->second;
  return *text ? ok : invalidValue;
}
Code cuGetErrorString(Code, const char **text) {
  *text = "the fake driver";
  return ok;
}
Code cuDeviceGetCount(int *count) {
  ENTER(cuDeviceGetCount);
  *count = setting("FAKE_CUDA_GPUS", 1);
  return ok;
}
Code cuDeviceGet(DeviceId *device, int ordinal) {
  ENTER(cuDeviceGet);
  *device = ordinal;
  return ok;
}
Code cuDeviceGetName(char *name, int length, DeviceId) {
  std::snprintf(name, size_t(length), "Fake GPU");
  return ok;
}
Code cuDeviceGetAttribute(int *value, int attribute, DeviceId) {
  int capability = setting("FAKE_CUDA_CAPABILITY", 90);
  switch (attribute) {
  case attributeMajor:
    *value = capability / 10;
    return ok;
  case attributeMinor:
    *value = capability % 10;
    return ok;
  case attributeMultiprocessors:
    *value = 132;
    return ok;
  case attributeSharedPerBlock:
    *value = 232448;
    return ok;
  }
  return invalidValue;
}
Code cuDevicePrimaryCtxRetain(ContextHandle *context, DeviceId) {
  ENTER(cuDevicePrimaryCtxRetain);
  *context = &theContext;
  return ok;
}
Code cuDevicePrimaryCtxRelease_v2(DeviceId) { return ok; }
Code cuCtxGetCurrent(ContextHandle *context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return ok;
}
Code cuCtxPushCurrent_v2(ContextHandle context) {
  contexts.push_back(context);
  return ok;
}
Code cuCtxPopCurrent_v2(ContextHandle *context) {
  if (contexts.empty())
    return invalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return ok;
}

//===----------------------------------------------------------------------===//
// Memory and commands
//===----------------------------------------------------------------------===//

Code cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER_CONTEXT(cuMemGetInfo_v2);
  // A context takes something for itself.
  *free = totalBytes - allocated - (size_t(1) << 20);
  *total = totalBytes;
  return ok;
}
Code cuMemAlloc_v2(Address *data, size_t bytes) {
  ENTER_CONTEXT(cuMemAlloc_v2);
  if (bytes == 0)
    return invalidValue;
  if (bytes > totalBytes / 2)
    return outOfMemory;
  void *made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!made)
    return outOfMemory;
  *data = addressOf(made);
  allocations[*data] = bytes;
  allocated += bytes;
  return ok;
}
Code cuMemFree_v2(Address data) {
  ENTER_CONTEXT(cuMemFree_v2);
  auto found = allocations.find(data);
  if (found == allocations.end())
    return invalidValue;
  allocated -= found->second;
  allocations.erase(found);
  std::free(reinterpret_cast<void *>(data));
  return ok;
}
Code cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  ENTER_CONTEXT(cuMemHostAlloc);
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *data ? ok : outOfMemory;
}
Code cuMemFreeHost(void *data) {
  ENTER_CONTEXT(cuMemFreeHost);
  std::free(data);
  return ok;
}
Code cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes,
                          StreamHandle stream) {
  ENTER_CONTEXT(cuMemcpyDtoHAsync_v2);
  return submit(stream, 1, [=] {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  });
}
Code cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                          StreamHandle stream) {
  ENTER_CONTEXT(cuMemcpyHtoDAsync_v2);
  return submit(stream, 2, [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  });
}
Code cuMemsetD8Async(Address to, unsigned char value, size_t bytes,
                     StreamHandle stream) {
  ENTER_CONTEXT(cuMemsetD8Async);
  return submit(stream, 3, [=] {
    std::memset(reinterpret_cast<void *>(to), value, bytes);
  });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Code cuStreamCreate(StreamHandle *stream, unsigned) {
  ENTER_CONTEXT(cuStreamCreate);
  *stream = new CUstream_st;
  allStreams.push_back(*stream);
  return ok;
}
Code cuStreamDestroy_v2(StreamHandle stream) {
  allStreams.erase(std::find(allStreams.begin(), allStreams.end(), stream));
  delete stream;
  return ok;
}
Code cuStreamSynchronize(StreamHandle stream) {
  ENTER_CONTEXT(cuStreamSynchronize);
  return stream->capture ? captureUnsupported : ok;
}
Code cuEventCreate(EventHandle *event, unsigned flags) {
  ENTER_CONTEXT(cuEventCreate);
  *event = new CUevent_st;
  (*event)->hasTiming = !(flags & eventDisableTiming);
  return ok;
}
Code cuEventDestroy_v2(EventHandle event) {
  delete event;
  return ok;
}
Code cuEventRecord(EventHandle event, StreamHandle stream) {
  ENTER_CONTEXT(cuEventRecord);
  event->capture = stream->capture;
  event->seen = stream->seen;
  if (stream->capture)
    return ok;
  event->isRecorded = true;
  event->when = Clock::now();
  return ok;
}
Code cuEventRecordWithFlags(EventHandle event, StreamHandle stream,
                            unsigned flags) {
  ENTER_CONTEXT(cuEventRecordWithFlags);
  if (flags != recordExternal || !stream->capture)
    return invalidValue;
  return submit(stream, 4, [=] {
    event->isRecorded = true;
    event->when = Clock::now();
  });
}
Code cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  ENTER_CONTEXT(cuStreamWaitEvent);
  if (!event->capture)
    return stream->capture ? captureIsolation : ok;
  if (stream->capture && stream->capture != event->capture)
    return captureIsolation;
  stream->capture = event->capture;
  for (auto [other, count] : event->seen)
    stream->seen[other] = std::max(stream->seen[other], count);
  return ok;
}
Code cuEventQuery(EventHandle event) {
  ENTER_CONTEXT(cuEventQuery);
  return event->capture ? capturedEvent : ok;
}
Code cuEventElapsedTime(float *milliseconds, EventHandle from, EventHandle to) {
  ENTER_CONTEXT(cuEventElapsedTime);
  if (!from->isRecorded || !to->isRecorded || !from->hasTiming ||
      !to->hasTiming)
    return invalidHandle;
  *milliseconds =
      std::chrono::duration<float, std::milli>(to->when - from->when).count();
  return ok;
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

Code cuModuleLoadDataEx(ModuleHandle *module, const void *image,
                        unsigned numOptions, int *options, void **values) {
  ENTER_CONTEXT(cuModuleLoadDataEx);
  const char *text = static_cast<const char *>(image);
  // Machine code of no chip.
  if (std::memcmp(text,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return invalidImage;
  const char *variant = std::strstr(text, "stub_variant = ");
  if ((std::strncmp(text, "//", 2) != 0 &&
       std::strncmp(text, ".version", 8) != 0) ||
      !std::strstr(text, ".visible .entry")) {
    for (unsigned i = 0; i < numOptions; ++i)
      if (options[i] == jitErrorLog)
        std::strcpy(static_cast<char *>(values[i]), "fatal: no text of PTX");
    return invalidPtx;
  }
  *module = new CUmod_st;
  (*module)->variant = variant ? std::atoi(variant + 15) : 0;
  return ok;
}
Code cuModuleUnload(ModuleHandle module) {
  delete module;
  return ok;
}
Code cuModuleGetFunction(FunctionHandle *function, ModuleHandle module,
                         const char *name) {
  ENTER_CONTEXT(cuModuleGetFunction);
  if (!FakeLaunch::knows(name))
    return notFound;
  auto made = std::make_unique<CUfunc_st>();
  made->name = name;
  made->module = module;
  *function = made.get();
  module->functions.push_back(std::move(made));
  return ok;
}
Code cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  ENTER_CONTEXT(cuFuncSetAttribute);
  if (attribute != functionDynamicShared)
    return invalidValue;
  function->dynamicShared = value;
  return ok;
}
Code cuLaunchKernel(FunctionHandle function, unsigned gridX, unsigned gridY,
                    unsigned gridZ, unsigned threads, unsigned, unsigned,
                    unsigned sharedBytes, StreamHandle stream,
                    void **parameters, void **) {
  ENTER_CONTEXT(cuLaunchKernel);
  if (!gridX || !gridY || !gridZ || threads > 1024 ||
      int(sharedBytes) > std::max(49152, function->dynamicShared))
    return invalidValue;
  FakeLaunch launch(function->name, parameters);
  launch.variant = function->module->variant;
  launch.blocks = gridX;
  launch.threads = threads;
  return submit(stream, 5, [=] { launch.run(); });
}
Code cuTensorMapEncodeTiled(TensorMap *map, int dtype, unsigned rank,
                            void *address, const uint64_t *extents,
                            const uint64_t *strides, const uint32_t *box,
                            const uint32_t *, int, int, int, int) {
  ENTER(cuTensorMapEncodeTiled);
  if (rank != 2 || addressOf(address) % 16 || addressOf(map) % 64)
    return invalidValue;
  FakeMap made = {
      static_cast<char *>(address), strides[0], uint32_t(extents[0]),
      uint32_t(extents[1]),         box[0],     box[1],
      dtype == 7 ? 4u : 2u};
  std::memset(map, 0, sizeof *map);
  std::memcpy(static_cast<void *>(map), &made, sizeof made);
  return ok;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Code cuStreamBeginCapture_v2(StreamHandle stream, int) {
  ENTER_CONTEXT(cuStreamBeginCapture_v2);
  if (stream->capture)
    return captureUnsupported;
  stream->capture = new CUgraph_st;
  stream->isOrigin = true;
  return ok;
}
Code cuStreamEndCapture(StreamHandle stream, GraphHandle *graph) {
  if (!stream->capture || !stream->isOrigin)
    return captureUnsupported;
  CUgraph_st *capture = stream->capture;
  // It ends in every case.
  if (Code code = enterWithContext("cuStreamEndCapture")) {
    leave(capture, allStreams);
    delete capture;
    return code;
  }
  bool isJoined = true;
  for (StreamHandle other : allStreams)
    if (other != stream && other->capture == capture)
      isJoined &= stream->seen[other] >= other->seen[other];
  leave(capture, allStreams);
  if (!isJoined) {
    delete capture;
    return captureUnjoined;
  }
  *graph = capture;
  return ok;
}
Code cuGraphInstantiateWithFlags(GraphExecHandle *exec, GraphHandle graph,
                                 unsigned long long) {
  ENTER_CONTEXT(cuGraphInstantiateWithFlags);
  *exec = new CUgraphExec_st{graph->commands};
  return ok;
}
Code cuGraphExecUpdate_v2(GraphExecHandle exec, GraphHandle graph,
                          UpdateInfo *) {
  ENTER_CONTEXT(cuGraphExecUpdate_v2);
  auto sameKind = [](auto &a, auto &b) { return a.first == b.first; };
  if (!std::equal(exec->commands.begin(), exec->commands.end(),
                  graph->commands.begin(), graph->commands.end(), sameKind))
    return updateFailed;
  exec->commands = graph->commands;
  return ok;
}
Code cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  ENTER_CONTEXT(cuGraphLaunch);
  if (stream->capture)
    return captureUnsupported;
  for (auto &[kind, command] : exec->commands)
    command();
  return ok;
}
Code cuGraphDestroy(GraphHandle graph) {
  delete graph;
  return ok;
}
Code cuGraphExecDestroy(GraphExecHandle exec) {
  delete exec;
  return ok;
}

} // extern "C"
