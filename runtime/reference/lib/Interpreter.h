//===- Interpreter.h - block graphs on LibTorch -----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Evaluates a block graph op by op with ATen, so that autograd gives its
/// gradients. LibTorch throws; this and Oracle.cpp let it, Oracle's public
/// functions catch.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_REFERENCE_INTERPRETER_H
#define CKPT_REFERENCE_INTERPRETER_H

#include "Program/Program.h"
#include "Program/Result.h"

#include <ATen/core/Tensor.h>

namespace ckpt::rt {

/// The arithmetic of an evaluation.
enum class Arithmetic {
  /// Everything in float64, casts without effect: the reference.
  Float64,
  /// Each op in its declared types as PyTorch computes it: the yardstick.
  /// Products of bf16 matrices are summed in f32 and rounded once.
  Declared
};

at::ScalarType scalarTypeOf(DType dtype);

/// The extents of `type`; every name has a value (see bindSizes).
std::vector<int64_t> extentsOf(const TensorType &type, const SizeValues &sizes);

/// The graph's results. `values` holds its states, inputs and parameters, in
/// float64 or their declared types as `arithmetic` says. Fails on an op that
/// the interpreter does not know or whose result is not of its declared shape.
Result<std::vector<at::Tensor>> evaluate(const Graph &graph,
                                         const SizeValues &sizes,
                                         Arithmetic arithmetic,
                                         std::vector<at::Tensor> values);

} // namespace ckpt::rt

#endif // CKPT_REFERENCE_INTERPRETER_H
