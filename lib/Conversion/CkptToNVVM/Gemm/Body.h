//===- Body.h - the element-wise ops behind a product -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Evaluates a kernel's outputs at one place, given the product there.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_BODY_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_BODY_H

#include "../../Codegen/Evaluator.h"
#include "../GpuBuilder.h"
#include "Signature.h"

namespace ckpt::nvptx::gemm {

/// `width` neighbours in a row.
struct Place {
  /// Within the result, or clamped to it.
  Value row, column;
  unsigned width = 2;
};

class Body {
public:
  /// What the ops read; f32 or a vector of it. A null value means that it is
  /// read through its pointer.
  struct Operands {
    Value product, bias;
    SmallVector<Value, 2> auxiliaries;
  };

  Body(const PtxBuilder &ptx, const Problem &problem,
       const Parameters &parameters);

  /// Builds the coordinates of a row, so that they stand before any branch in
  /// which `evaluate` is called for it.
  void prepare(PtxBuilder &ptx, Value row);
  /// The outputs' elements, built at the end of `ptx`'s block.
  Values evaluate(PtxBuilder &ptx, const Place &place,
                  const Operands &operands);
  /// Stores an output's elements, all of which exist.
  void store(PtxBuilder &ptx, unsigned output, const Place &place, Value value);
  bool failed() const { return values.failed(); }

private:
  SmallVector<Value> leadingOf(ArrayRef<rt::Size> shape, Value row);

  const Problem &problem;
  const Parameters &parameters;
  GpuBuilder cb;
  codegen::Evaluator values;
  struct Leading {
    SmallVector<rt::Size> shape;
    Value row;
    SmallVector<Value> at;
  };
  /// Coordinates of rows, built once each.
  SmallVector<Leading> known;
};

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_BODY_H
