//===- Driver.cpp - NVIDIA's driver, opened at run time -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

using namespace ckpt::rt;
using namespace ckpt::rt::cuda;

static Status findAll(Driver &driver, void *library, const std::string &path) {
#define CKPT_CUDA_FIND(member, symbol, parameters)                             \
  driver.member =                                                              \
      reinterpret_cast<decltype(driver.member)>(dlsym(library, #symbol));      \
  if (!driver.member)                                                          \
    return Error{"cuda device: expected " #symbol " in the driver " + path +   \
                 ", found none; install driver 550 or newer"};
  CKPT_CUDA_FUNCTIONS(CKPT_CUDA_FIND)
#undef CKPT_CUDA_FIND
  return {};
}

Result<const Driver *> Driver::open() {
  static std::mutex mutex;
  static Driver driver;
  static bool isOpen = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (isOpen)
    return static_cast<const Driver *>(&driver);
  const char *other = std::getenv("CKPT_CUDA_DRIVER");
  std::string path = other && *other ? other : "libcuda.so.1";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{"cuda device: expected NVIDIA's driver " + path + ", found " +
                 dlerror() +
                 "; install the driver, or compile the step for target host"};
  Driver found;
  Status status = findAll(found, library, path);
  if (status.ok())
    if (Code code = found.init(0))
      status = Error{"cuda device: " + found.error(code, "cuInit").message +
                     "; nvidia-smi shows whether driver and GPU work"};
  if (!status.ok()) {
    dlclose(library);
    return Error{status.message()};
  }
  driver = found;
  isOpen = true;
  return static_cast<const Driver *>(&driver);
}

Error Driver::error(Code code, const std::string &what) const {
  const char *name = nullptr, *text = nullptr;
  (void)errorName(code, &name);
  (void)errorString(code, &text);
  return {what + ": " +
          (name ? std::string(name) : "error " + std::to_string(code)) +
          (text ? " (" + std::string(text) + ")" : "")};
}
