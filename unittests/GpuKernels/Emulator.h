//===- Emulator.h - GPU functions on this processor -------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs functions of the row-wise family without a GPU: their instructions are
/// replaced by calls, they are compiled for this processor, and the threads of
/// a block are run in turns, one block after the other, by the launch recipe.
/// Knows what that family uses: thread and block numbers, shuffles, barriers,
/// shared memory, the special functions. Reports a warp that does not meet in a
/// shuffle and a block that does not meet in a barrier.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_UNITTESTS_GPUKERNELS_EMULATOR_H
#define CKPT_UNITTESTS_GPUKERNELS_EMULATOR_H

#include "Program/Program.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt::test {

class Emulator {
public:
  /// Makes the kernel's code; a failure is the test's.
  explicit Emulator(KernelOp kernel);
  ~Emulator();

  /// Runs the only way there is. `args`: reads, then writes; null for a result
  /// left out.
  void run(const std::vector<void *> &args, const rt::SizeValues &sizes,
           void *workspace);

private:
  std::vector<rt::Alternative> alternatives;
  std::vector<rt::GpuFunction> functions;
  std::vector<void *> libraries;
  std::vector<int> files;
};

} // namespace ckpt::test

#endif // CKPT_UNITTESTS_GPUKERNELS_EMULATOR_H
