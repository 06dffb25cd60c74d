//===- Externals.h - the tensors that the caller owns -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every tensor that the caller passes, under one name each:
///   `x`             an initial state or an input, by its port's name
///   `blocks.3.w`    a parameter, `{i}` replaced by the block's index
///   `out.x`         a final state
///   `grad.out.x`    the gradient that comes in for it
///   `grad.x`, `grad.blocks.3.w`   the gradients that go out
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_EXTERNALS_H
#define CKPT_RT_PROGRAM_EXTERNALS_H

#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::rt {

enum class ExternalKind {
  State,
  Input,
  Param,
  Output,
  OutputGradient,
  Gradient
};

struct External {
  std::string name;
  TensorType type;
  ExternalKind kind;
};

/// One block of a (perhaps shortened) run of the program's stacks.
struct BlockRef {
  int stack = 0;
  /// Index within its stack: what `{i}` stands for.
  int index = 0;
  /// Index into Program::kinds.
  int kind = 0;
};

/// The blocks in order, the first `limit` of each stack (all when absent).
/// Fails when the states of neighbours do not fit.
Result<std::vector<BlockRef>> blocksOf(const Program &program,
                                       std::optional<int64_t> limit);

/// Every tensor of these blocks, each name once, in a fixed order: states,
/// inputs, parameters, outputs, output gradients, gradients.
std::vector<External> externalsOf(const Program &program,
                                  const std::vector<BlockRef> &blocks);

/// `name` with `{i}` replaced.
std::string expandName(const std::string &name, int64_t index);

/// All sizes of the program with the caller's values and the defaults. Fails
/// on one that is missing, unknown or not positive, naming it; `flag` and then
/// `name=N` is how a user gives one.
Result<SizeValues> bindSizes(const Program &program, const SizeValues &given,
                             const std::string &flag = "--dim ");

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_EXTERNALS_H
