//===- CudaKernel.h - a launch recipe at certain sizes ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a `KernelHandle` of the CUDA device points to: the chosen alternative
/// with every formula evaluated, its parameters laid out, and the TMA
/// descriptors that were encoded so far. Launching fills in addresses and
/// allocates nothing.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_DEVICE_CUDA_CUDAKERNEL_H
#define CKPT_RT_DEVICE_CUDA_CUDAKERNEL_H

#include "Device/Cuda/CudaDevice.h"

#include <vector>

namespace ckpt::rt {

/// One descriptor parameter. Block after block launches the same kernel on
/// other tensors, and every step on the same ones again, so descriptors are
/// kept by address.
class CudaMap {
public:
  /// Evaluates the shape; fails on one that TMA cannot address. `tensor` is
  /// what messages call it.
  static Result<CudaMap> make(const LaunchArgument &argument,
                              const SizeValues &values,
                              const std::string &tensor);

  /// The descriptor for a tensor at `address`; zeros for null.
  Result<cuda::TensorMap *> at(const cuda::Driver &driver, void *address);

  int argument = -1;
  int64_t offset = 0;

private:
  struct Entry {
    cuda::TensorMap map;
    void *address;
  };
  Status encode(const cuda::Driver &driver, void *address,
                cuda::TensorMap &map) const;

  std::string tensor;
  int dtype = 0, swizzle = 0;
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> box;
  /// An address has one place; another that falls there takes it.
  std::vector<Entry> entries;
};

class CudaKernel {
public:
  /// The alternative of least cost. `functions` are Program::functions, loaded
  /// as far as this kernel needs them.
  static Result<std::unique_ptr<CudaKernel>>
  make(const CudaDevice &device, const Program &program, const Kernel &kernel,
       const Alternative &alternative, const SizeValues &values,
       const std::vector<std::string> &names,
       const std::vector<cuda::FunctionHandle> &functions);

  Status launch(const Launch &launch, cuda::StreamHandle stream);

private:
  /// A pointer parameter.
  struct Pointer {
    int argument = -1;
    int64_t offset = 0;
    size_t position = 0;
  };
  struct Part {
    /// Null: fills `fillBytes` bytes at the one pointer.
    cuda::FunctionHandle function = nullptr;
    unsigned grid[3] = {1, 1, 1};
    unsigned threads = 1, sharedBytes = 0;
    int64_t fillBytes = 0;
    std::vector<Pointer> pointers;
    /// With their positions.
    std::vector<std::pair<CudaMap, size_t>> maps;
    /// Every parameter's value but the descriptors'.
    std::vector<uint64_t> values;
    /// Where each parameter is, as the driver takes them.
    std::vector<void *> parameters;
  };

  explicit CudaKernel(const cuda::Driver &driver) : driver(driver) {}
  Status add(const CudaDevice &device, const Program &program,
             const GpuLaunch &launch, const SizeValues &values,
             const std::vector<std::string> &names,
             const std::vector<cuda::FunctionHandle> &functions);
  Status launchPart(Part &part, const Launch &launch,
                    cuda::StreamHandle stream);

  const cuda::Driver &driver;
  /// `kernel 'gemm_bias' (128x256 cluster 2)`.
  std::string label;
  std::vector<Part> parts;
};

} // namespace ckpt::rt

#endif // CKPT_RT_DEVICE_CUDA_CUDAKERNEL_H
