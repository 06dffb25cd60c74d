//===- StubProgram.h - kernels and tensors without a compiler ---*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs programs that have no object. The stub of a kernel hashes every byte
/// that it reads, writes every byte of its workspace, and then fills every
/// output with bytes that follow from the hash, the kernel and the output's
/// position: so a result depends on all inputs and on the order in which sums
/// are added up, and on nothing else - leaving an output out changes no other.
///
/// No byte that a stub or a test writes is 0xff. So a read that holds one is a
/// read of poison, and the highest byte that is not poison was written.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_STUBPROGRAM_H
#define CKPT_RT_TEST_STUBPROGRAM_H

#include "Device/Host/HostDevice.h"
#include "Executor/Step.h"

namespace ckpt::rt::test {

/// What the stubs of one device saw.
struct StubCounts {
  std::atomic<int64_t> launches{0};
  /// Launches that read a byte of poison.
  std::atomic<int64_t> poisonReads{0};
};

/// Registers a stub for every kernel of `program`, for any sizes. `counts`
/// must live as long as the device launches.
void registerStubs(HostDevice &device, const Program &program,
                   StubCounts &counts);

/// `program` under `controls`, at `sizes`, for the host profile; fails the
/// test when there is no such schedule.
std::shared_ptr<const Schedule> scheduleOf(const Program &program,
                                           const Controls &controls,
                                           const SizeValues &sizes);

/// Every combination of controls that `program` allows.
std::vector<Controls> legalControls(const Program &program);
std::string describe(const Controls &controls);

/// The caller's side of a step: a tensor for each external. States, inputs,
/// parameters and incoming gradients hold bytes that follow from name and seed.
class Tensors {
public:
  Tensors(HostDevice &device, const Schedule &schedule, uint64_t seed = 1);
  ~Tensors();
  void bindTo(Step &step) const;
  /// Of all outputs and gradients.
  uint64_t digest() const;
  /// Overwrites outputs and gradients.
  void clearResults();

  struct Tensor {
    External external;
    void *data;
    int64_t bytes;
  };
  std::vector<Tensor> tensors;

private:
  HostDevice &device;
};

} // namespace ckpt::rt::test

#endif // CKPT_RT_TEST_STUBPROGRAM_H
