//===- DeviceTensors.h - the caller's tensors on a device -------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_DEVICETENSORS_H
#define CKPT_TOOLS_CKPT_RUN_DEVICETENSORS_H

#include "Executor/Step.h"
#include "Tensors.h"

namespace ckpt::run {

/// Where a step reads and writes its tensors: the host device where they are,
/// a GPU in one allocation of its own, so that what its driver says is taken
/// is arena, tensors and nothing that grows with their number.
class DeviceTensors {
public:
  /// `tensors` must outlive this.
  DeviceTensors(std::shared_ptr<rt::Device> device,
                std::vector<Tensor> &tensors, bool inPlace)
      : device(std::move(device)), tensors(tensors), inPlace(inPlace) {}
  ~DeviceTensors();
  DeviceTensors(const DeviceTensors &) = delete;

  /// Sets memory aside and copies everything there but the results.
  rt::Status upload();
  /// Copies the results to their tensors.
  rt::Status download();
  rt::Status bindTo(rt::Step &step) const;
  /// Bytes of device memory.
  int64_t bytes() const { return slabBytes; }

private:
  void *at(size_t index) const;

  std::shared_ptr<rt::Device> device;
  std::vector<Tensor> &tensors;
  const bool inPlace;
  std::unique_ptr<rt::Stream> stream;
  void *slab = nullptr;
  int64_t slabBytes = 0;
  /// One per tensor, in the slab.
  std::vector<int64_t> offsets;
};

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_DEVICETENSORS_H
