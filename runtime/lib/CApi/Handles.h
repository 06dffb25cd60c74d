//===- Handles.h - what the C API hands out ---------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to the C API: its handles, its failures, its structs of any size.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_CAPI_HANDLES_H
#define CKPT_RT_CAPI_HANDLES_H

#include "Executor/Step.h"
#include "ckpt_rt/ckpt_rt.h"

#include <cstring>

struct ckpt_rt_program {
  std::shared_ptr<const ckpt::rt::Program> program;
};

struct ckpt_rt_plan {
  std::shared_ptr<const ckpt::rt::Program> program;
  std::shared_ptr<const ckpt::rt::Schedule> schedule;
  ckpt::rt::Simulation simulation;
  /// One per external.
  std::vector<std::vector<int64_t>> shapes;
};

struct ckpt_rt_device {
  std::shared_ptr<ckpt::rt::Device> device;
};

struct ckpt_rt_step {
  ckpt::rt::Step step;
  std::shared_ptr<ckpt::rt::Device> device;
};

struct ckpt_rt_forward {
  ckpt::rt::OpenForward forward;
};

namespace ckpt::rt::capi {

/// Keeps the message for ckpt_rt_message; returns 1.
int fail(std::string message);
int failNull(const char *what);
int failIndex(const char *what, size_t count, size_t index);
int failSize(const char *type, size_t found, size_t known);

/// The caller's struct in the library's layout; what an older caller does not
/// have stays as it is in `to`. False when the caller's is newer or has no
/// size.
template <typename T>
bool readStruct(const T *from, T &to) {
  size_t size = from->size;
  if (size < sizeof(size_t) || size > sizeof(T))
    return false;
  std::memcpy(&to, from, size);
  to.size = sizeof(T);
  return true;
}

/// As much of `from` as the caller has room for.
template <typename T>
bool writeStruct(const T &from, T *to) {
  size_t size = to->size;
  if (size < sizeof(size_t) || size > sizeof(T))
    return false;
  std::memcpy(to, &from, size);
  to->size = size;
  return true;
}

} // namespace ckpt::rt::capi

#endif // CKPT_RT_CAPI_HANDLES_H
