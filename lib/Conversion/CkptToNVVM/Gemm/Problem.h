//===- Problem.h - what a GEMM kernel computes ------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The three contractions as one: D (m x n) = A (m x k) B (k x n), then
/// element-wise ops.
///
///              m          n         k       A             B
///   linear     rows of x  w's rows  w's cols  x, K-major  w, K-major
///   linear_dx  rows of dy w's cols  w's rows  dy, K-major w, N-major
///   linear_dw  dy's cols  x's cols  rows      dy, M-major x, N-major
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_PROBLEM_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_PROBLEM_H

#include "../StridedView.h"
#include "../Tiles.h"

#include "llvm/ADT/SetVector.h"

namespace ckpt::nvptx::gemm {

/// A row-major matrix in memory.
struct Matrix {
  /// Position in the kernel's reads and writes.
  int argument = -1;
  /// In elements, `offset` and the distance of rows too.
  rt::Size offset, rows, columns, rowStride;
  rt::DType type = rt::DType::BF16;
};

/// A result of the kernel.
struct Output {
  unsigned result = 0;
  /// Its value before reshapes.
  Value root;
  Matrix matrix;
};

/// An operand of the epilogue with as many elements as the product, 16 bits
/// each: TMA can bring it.
struct Auxiliary {
  Value value;
  Matrix matrix;
};

/// The product that is added up beside the main one (LowRank.h), with operands
/// that lie as its do. `product` is null where there is none.
struct LowRank {
  Value product;
  Matrix a, b;
};

struct Problem {
  KernelOp kernel;
  mlir::Operation *op = nullptr;
  Half type = Half::BF16;
  Matrix a, b;
  Major aMajor = Major::K, bMajor = Major::K;
  rt::Size m, n, k;
  Value product, bias;
  LowRank lowRank;
  SmallVector<Output> outputs;
  SmallVector<Auxiliary> auxiliaries;
  /// Arguments that the epilogue reads through a pointer, the bias among them.
  llvm::SmallSetVector<Value, 4> pointers;
  /// The epilogue asks which row it is at, beyond the auxiliaries.
  bool readsRows = false;

  mlir::Block &body() const { return KernelOp(kernel).getBody().front(); }
  int reads() const { return body().getNumArguments(); }
};

/// Emits a diagnostic at the op where there is no code for it.
llvm::FailureOr<Problem> analyze(KernelOp kernel);

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_PROBLEM_H
