//===- Driver.h - NVIDIA's driver, opened at run time -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The few functions of the driver API that the CUDA device calls, found in
/// libcuda.so.1 by name: nothing of CUDA is needed to build or to link, and a
/// machine without a driver gets a message. Names carry the version suffix
/// under which the driver exports today's signature. `CKPT_CUDA_DRIVER` names
/// another library, for tests.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_CUDA_DRIVER_H
#define CKPT_RT_DEVICE_CUDA_DRIVER_H

#include "Program/Result.h"

#include <cstddef>
#include <cstdint>

namespace ckpt::rt::cuda {

//===----------------------------------------------------------------------===//
// Types and constants, as cuda.h has them
//===----------------------------------------------------------------------===//

using Code = int;
using DeviceId = int;
using Address = unsigned long long;
using ContextHandle = struct CUctx_st *;
using StreamHandle = struct CUstream_st *;
using EventHandle = struct CUevent_st *;
using ModuleHandle = struct CUmod_st *;
using FunctionHandle = struct CUfunc_st *;
using GraphHandle = struct CUgraph_st *;
using GraphExecHandle = struct CUgraphExec_st *;

/// A TMA descriptor: a launch parameter that the driver encodes.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

/// CUgraphExecUpdateResultInfo; not looked at.
struct UpdateInfo {
  int result;
  void *errorNode, *errorFromNode;
};

constexpr Code notReady = 600;

constexpr int attributeMultiprocessors = 16;
constexpr int attributeMajor = 75, attributeMinor = 76;
constexpr int attributeSharedPerBlock = 97;
constexpr int functionDynamicShared = 8;

constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDefault = 0, eventDisableTiming = 2;
constexpr unsigned recordExternal = 1;
constexpr unsigned hostPortable = 1;
constexpr int captureRelaxed = 2;
constexpr int jitErrorLog = 5, jitErrorLogBytes = 6;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// F(member, symbol, parameters), one line a function.
#define CKPT_CUDA_FUNCTIONS(F)                                                 \
  F(init, cuInit, (unsigned flags))                                            \
  F(driverVersion, cuDriverGetVersion, (int *version))                         \
  F(errorName, cuGetErrorName, (Code code, const char **text))                 \
  F(errorString, cuGetErrorString, (Code code, const char **text))             \
  F(deviceCount, cuDeviceGetCount, (int *count))                               \
  F(deviceGet, cuDeviceGet, (DeviceId * device, int ordinal))                  \
  F(deviceName, cuDeviceGetName, (char *name, int length, DeviceId device))    \
  F(deviceAttribute, cuDeviceGetAttribute,                                     \
    (int *value, int attribute, DeviceId device))                              \
  F(contextRetain, cuDevicePrimaryCtxRetain,                                   \
    (ContextHandle * context, DeviceId device))                                \
  F(contextRelease, cuDevicePrimaryCtxRelease_v2, (DeviceId device))           \
  F(contextCurrent, cuCtxGetCurrent, (ContextHandle * context))                \
  F(contextPush, cuCtxPushCurrent_v2, (ContextHandle context))                 \
  F(contextPop, cuCtxPopCurrent_v2, (ContextHandle * context))                 \
  F(memoryInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                \
  F(memoryAllocate, cuMemAlloc_v2, (Address * data, size_t bytes))             \
  F(memoryFree, cuMemFree_v2, (Address data))                                  \
  F(hostAllocate, cuMemHostAlloc, (void **data, size_t bytes, unsigned flags)) \
  F(hostFree, cuMemFreeHost, (void *data))                                     \
  F(copyToHost, cuMemcpyDtoHAsync_v2,                                          \
    (void *to, Address from, size_t bytes, StreamHandle stream))               \
  F(copyToDevice, cuMemcpyHtoDAsync_v2,                                        \
    (Address to, const void *from, size_t bytes, StreamHandle stream))         \
  F(fill, cuMemsetD8Async,                                                     \
    (Address to, unsigned char value, size_t bytes, StreamHandle stream))      \
  F(streamCreate, cuStreamCreate, (StreamHandle * stream, unsigned flags))     \
  F(streamDestroy, cuStreamDestroy_v2, (StreamHandle stream))                  \
  F(streamSynchronise, cuStreamSynchronize, (StreamHandle stream))             \
  F(streamWait, cuStreamWaitEvent,                                             \
    (StreamHandle stream, EventHandle event, unsigned flags))                  \
  F(eventCreate, cuEventCreate, (EventHandle * event, unsigned flags))         \
  F(eventDestroy, cuEventDestroy_v2, (EventHandle event))                      \
  F(eventRecord, cuEventRecord, (EventHandle event, StreamHandle stream))      \
  F(eventRecordWithFlags, cuEventRecordWithFlags,                              \
    (EventHandle event, StreamHandle stream, unsigned flags))                  \
  F(eventQuery, cuEventQuery, (EventHandle event))                             \
  F(eventElapsed, cuEventElapsedTime,                                          \
    (float *milliseconds, EventHandle from, EventHandle to))                   \
  F(moduleLoad, cuModuleLoadDataEx,                                            \
    (ModuleHandle * module, const void *image, unsigned numOptions,            \
     int *options, void **values))                                             \
  F(moduleUnload, cuModuleUnload, (ModuleHandle module))                       \
  F(moduleFunction, cuModuleGetFunction,                                       \
    (FunctionHandle * function, ModuleHandle module, const char *name))        \
  F(functionAttribute, cuFuncSetAttribute,                                     \
    (FunctionHandle function, int attribute, int value))                       \
  F(launch, cuLaunchKernel,                                                    \
    (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ,  \
     unsigned threadsX, unsigned threadsY, unsigned threadsZ,                  \
     unsigned sharedBytes, StreamHandle stream, void **parameters,             \
     void **extra))                                                            \
  F(encodeMap, cuTensorMapEncodeTiled,                                         \
    (TensorMap * map, int dtype, unsigned rank, void *address,                 \
     const uint64_t *extents, const uint64_t *strides, const uint32_t *box,    \
     const uint32_t *elementStrides, int interleave, int swizzle, int l2,      \
     int outOfBounds))                                                         \
  F(captureBegin, cuStreamBeginCapture_v2, (StreamHandle stream, int mode))    \
  F(captureEnd, cuStreamEndCapture,                                            \
    (StreamHandle stream, GraphHandle * graph))                                \
  F(graphInstantiate, cuGraphInstantiateWithFlags,                             \
    (GraphExecHandle * exec, GraphHandle graph, unsigned long long flags))     \
  F(graphUpdate, cuGraphExecUpdate_v2,                                         \
    (GraphExecHandle exec, GraphHandle graph, UpdateInfo * info))              \
  F(graphLaunch, cuGraphLaunch, (GraphExecHandle exec, StreamHandle stream))   \
  F(graphDestroy, cuGraphDestroy, (GraphHandle graph))                         \
  F(graphExecDestroy, cuGraphExecDestroy, (GraphExecHandle exec))

struct Driver {
#define CKPT_CUDA_MEMBER(member, symbol, parameters)                           \
  Code(*member) parameters = nullptr;
  CKPT_CUDA_FUNCTIONS(CKPT_CUDA_MEMBER)
#undef CKPT_CUDA_MEMBER

  /// The driver of this process; opened once and never closed. The message
  /// says what was looked for and what to do.
  static Result<const Driver *> open();

  /// `what` names the call and its sizes; the message adds the driver's words.
  Error error(Code code, const std::string &what) const;
};

inline Address addressOf(const void *device) {
  return reinterpret_cast<Address>(device);
}

} // namespace ckpt::rt::cuda

#endif // CKPT_RT_DEVICE_CUDA_DRIVER_H
