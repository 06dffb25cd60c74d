//===- Oracle.h - outputs and gradients of a program ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the blocks of a program in order on LibTorch, twice: in float64 (the
/// reference) and in the program's own types (the yardstick). Each pass keeps
/// only the states between blocks and differentiates block by block, last to
/// first, so that no more than one block's activations and parameters are in
/// memory at a time.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_REFERENCE_ORACLE_H
#define CKPT_REFERENCE_ORACLE_H

#include "Interpreter.h"
#include "Program/Externals.h"

#include <functional>
#include <memory>

namespace ckpt::rt {

/// A tensor's distance from the reference; see ckpt_reference.h.
struct Comparison {
  double error = 0, pytorchError = 0, bound = 0;
  bool passed = false;
};

class Oracle {
public:
  using Progress = std::function<void(int64_t done, int64_t total)>;

  /// `limit`: the first so many blocks of each stack. `threads`: LibTorch's,
  /// for the whole process.
  static Result<std::unique_ptr<Oracle>> create(Program program,
                                                std::optional<int64_t> limit,
                                                const SizeValues &sizes,
                                                int threads = 1);

  /// Gives a state, input, parameter or incoming gradient, dense in its type.
  /// The memory must live until run() is over.
  Status set(const std::string &name, const void *data, size_t bytes);

  Status run(const Progress &progress);

  /// Compares an output or a gradient, dense in its type, with the reference.
  Result<Comparison> compare(const std::string &name, const void *data,
                             size_t bytes) const;

  /// The reference of an output or a gradient, dense in float64.
  Result<at::Tensor> values(const std::string &name) const;

private:
  Oracle(Program program, SizeValues sizes, std::vector<BlockRef> blocks);

  using Tensors = std::map<std::string, at::Tensor>;
  /// Outputs and gradients by name, in float64 or in their declared types.
  Result<Tensors> runPass(Arithmetic arithmetic, const Progress &step) const;
  Status runBackward(Arithmetic arithmetic,
                     const std::vector<std::vector<at::Tensor>> &states,
                     const Progress &step, Tensors &results) const;
  /// States in, results out; the results carry gradients as the values do.
  Result<std::vector<at::Tensor>>
  runBlock(size_t block, Arithmetic arithmetic,
           std::vector<at::Tensor> values) const;
  /// The caller's tensor, converted for `arithmetic`.
  at::Tensor load(const std::string &name, Arithmetic arithmetic) const;
  /// Adds the tensors of a block that come from the caller to its states.
  std::vector<at::Tensor> valuesOf(size_t block, Arithmetic arithmetic,
                                   std::vector<at::Tensor> states) const;
  /// The result of that name; the message says why there is none.
  Result<const External *> findResult(const std::string &name) const;

  Program program;
  SizeValues sizes;
  std::vector<BlockRef> blocks;
  std::vector<External> externals;
  /// The caller's tensors.
  std::map<std::string, const void *> given;
  Tensors reference;
  /// PyTorch's own errors, by result.
  std::map<std::string, double> yardstick;
};

} // namespace ckpt::rt

#endif // CKPT_REFERENCE_ORACLE_H
