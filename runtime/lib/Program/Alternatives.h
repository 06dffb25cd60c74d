//===- Alternatives.h - the way in which a kernel runs ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_ALTERNATIVES_H
#define CKPT_RT_PROGRAM_ALTERNATIVES_H

#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::rt {

/// The alternative of least cost, the first among equals. `values` holds the
/// named sizes and `multiprocessors`.
Result<const Alternative *> chooseAlternative(const Kernel &kernel,
                                              const SizeValues &values);

/// Its name at these sizes on a device of `count` multiprocessors; empty where
/// the kernel has no code for a GPU or `count` is 0.
std::string chosenAlternative(const Kernel &kernel, const SizeValues &sizes,
                              int64_t count);

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_ALTERNATIVES_H
