//===- CudaModule.cpp - GPU code and the choice of a way to run it --------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Cuda/CudaKernel.h"
#include "Program/Alternatives.h"

#include <string>

using namespace ckpt::rt;
using namespace ckpt::rt::cuda;

namespace {
class CudaModule : public Module {
public:
  CudaModule(CudaDevice &device, std::shared_ptr<const Program> program)
      : device(device), program(std::move(program)),
        functions(this->program->functions.size()) {}
  ~CudaModule() override;
  Result<KernelHandle> find(const Kernel &kernel, const SizeValues &sizes,
                            const std::vector<std::string> &names) override;

private:
  Status load(int function);
  Result<ModuleHandle> loadImage(const GpuFunction &function);

  CudaDevice &device;
  std::shared_ptr<const Program> program;
  /// One per Program::functions; null until a kernel calls it.
  std::vector<FunctionHandle> functions;
  std::vector<ModuleHandle> modules;
  std::vector<std::unique_ptr<CudaKernel>> kernels;
};
} // namespace

CudaModule::~CudaModule() {
  CudaScope scope(device);
  for (ModuleHandle module : modules)
    (void)device.driver.moduleUnload(module);
}

Result<ModuleHandle> CudaModule::loadImage(const GpuFunction &function) {
  const Driver &driver = device.driver;
  ModuleHandle module = nullptr;
  // Machine code of another chip or a newer driver's is refused: the text is
  // there for that.
  if (!function.cubin.empty() &&
      !driver.moduleLoad(&module, function.cubin.data(), 0, nullptr, nullptr))
    return module;
  char log[4096] = {};
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
  if (Code code =
          driver.moduleLoad(&module, function.ptx.c_str(), 2, options, values))
    return driver.error(
        code, "GPU function '" + function.symbol + "': cuModuleLoadDataEx of " +
                  std::to_string(function.ptx.size()) + " bytes of PTX" +
                  (*log ? " (" + std::string(log) + ")" : ""));
  return module;
}

Status CudaModule::load(int index) {
  if (functions[index])
    return {};
  const GpuFunction &function = program->functions[index];
  Result<ModuleHandle> module = loadImage(function);
  if (!module.ok())
    return Error{module.message()};
  modules.push_back(*module);
  FunctionHandle handle = nullptr;
  if (Code code = device.driver.moduleFunction(&handle, *module,
                                               function.symbol.c_str()))
    return device.driver.error(code, "GPU function '" + function.symbol +
                                         "': cuModuleGetFunction");
  if (function.sharedBytes > 0)
    if (Code code = device.driver.functionAttribute(
            handle, functionDynamicShared, function.sharedBytes))
      return device.driver.error(code,
                                 "GPU function '" + function.symbol +
                                     "': cuFuncSetAttribute of " +
                                     std::to_string(function.sharedBytes) +
                                     " bytes of dynamic shared memory");
  functions[index] = handle;
  return {};
}

Result<KernelHandle> CudaModule::find(const Kernel &kernel,
                                      const SizeValues &sizes,
                                      const std::vector<std::string> &names) {
  CudaScope scope(device);
  SizeValues values = sizes;
  values[multiprocessors] = device.multiprocessors;
  Result<const Alternative *> alternative = chooseAlternative(kernel, values);
  if (!alternative.ok())
    return alternative.takeError();
  for (const GpuLaunch &launch : (*alternative)->launches)
    if (launch.function >= 0)
      if (Status status = load(launch.function); !status.ok())
        return Error{"kernel '" + kernel.symbol + "': " + status.message()};
  Result<std::unique_ptr<CudaKernel>> made = CudaKernel::make(
      device, *program, kernel, **alternative, values, names, functions);
  if (!made.ok())
    return made.takeError();
  kernels.push_back(std::move(*made));
  return static_cast<KernelHandle>(kernels.back().get());
}

Result<std::unique_ptr<Module>>
ckpt::rt::loadCudaModule(CudaDevice &device,
                         std::shared_ptr<const Program> program) {
  if (program->target != "nvptx")
    return Error{"cuda device: expected a program for target nvptx, found one "
                 "for target " +
                 program->target};
  return std::unique_ptr<Module>(
      std::make_unique<CudaModule>(device, std::move(program)));
}
