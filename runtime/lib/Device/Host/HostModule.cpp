//===- HostModule.cpp - a shared object in memory -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Host/HostDevice.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ckpt::rt;

namespace {
class HostModule : public Module {
public:
  explicit HostModule(const HostDevice &device) : device(device) {}
  ~HostModule() override;
  Status load(const std::vector<uint8_t> &object);
  Result<KernelHandle> find(const Kernel &kernel, const SizeValues &sizes,
                            const std::vector<std::string> &names) override;

private:
  const HostDevice &device;
  /// Stays open as long as the object is loaded: the loader knows objects by
  /// their path, which holds this number, and would take the next module that
  /// got the number for this one.
  int descriptor = -1;
  void *library = nullptr;
  /// Owns the functions that handles point to; nodes never move.
  std::map<std::string, HostDevice::KernelFunction> found;
};
} // namespace

HostModule::~HostModule() {
  if (library)
    dlclose(library);
  if (descriptor >= 0)
    close(descriptor);
}

Status HostModule::load(const std::vector<uint8_t> &object) {
  descriptor = memfd_create("ckpt-kernels", MFD_CLOEXEC);
  if (descriptor < 0)
    return Error{std::string("kernel object: memfd_create failed: ") +
                 std::strerror(errno)};
  for (size_t written = 0; written < object.size();) {
    ssize_t count =
        write(descriptor, object.data() + written, object.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Error{"kernel object: cannot write " +
                   std::to_string(object.size()) +
                   " bytes to memory: " + std::strerror(errno)};
    written += count;
  }
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{"kernel object of " + std::to_string(object.size()) +
                 " bytes: cannot load it: " + dlerror()};
  return {};
}

Result<KernelHandle> HostModule::find(const Kernel &kernel, const SizeValues &,
                                      const std::vector<std::string> &) {
  if (const auto *function = device.findRegistered(kernel.symbol))
    return static_cast<KernelHandle>(function);
  if (!library)
    return Error{"kernel '" + kernel.symbol +
                 "': the program holds no compiled kernels; compile it for "
                 "target host"};
  auto known = found.find(kernel.symbol);
  if (known != found.end())
    return static_cast<KernelHandle>(&known->second);
  void *symbol = dlsym(library, kernel.symbol.c_str());
  if (!symbol)
    return Error{"kernel '" + kernel.symbol + "': not in the program's object"};
  auto function =
      reinterpret_cast<void (*)(void *const *, const int64_t *, void *)>(
          symbol);
  return static_cast<KernelHandle>(
      &found.emplace(kernel.symbol, function).first->second);
}

Result<std::unique_ptr<Module>>
ckpt::rt::loadHostModule(const HostDevice &device, const Program &program) {
  if (program.target != "host")
    return Error{"host device: expected a program for target host, found one "
                 "for target " +
                 program.target};
  auto module = std::make_unique<HostModule>(device);
  if (!program.object.empty()) {
    Status loaded = module->load(program.object);
    if (!loaded.ok())
      return Error{loaded.message()};
  }
  return std::unique_ptr<Module>(std::move(module));
}
