//===- RowNorms.h - norms and their gradients -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Norms and their backwards for one row: what they must know about the row is
/// read first, then their results are bound.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_ROWNORMS_H
#define CKPT_LIB_CONVERSION_CODEGEN_ROWNORMS_H

#include "Results.h"

namespace ckpt::codegen {

class RowNorms {
public:
  /// `row`: the coordinates of a row. What is bound refers to this object.
  RowNorms(CodeBuilder &cb, Results &results, ArrayRef<Value> row)
      : cb(cb), results(results), values(results.values), row(row) {}
  virtual ~RowNorms();

  /// Reads the row, writes statistics that are results, and binds the results
  /// of `op`, a norm or a norm's gradient.
  void emit(mlir::Operation *op);

protected:
  using Terms = llvm::function_ref<SmallVector<Value>(const Index &)>;
  /// Means over the row of the `number` values that `terms` gives for each
  /// element.
  virtual SmallVector<Value> means(unsigned number, Terms terms) = 0;
  /// Runs `body` once per row.
  virtual void once(llvm::function_ref<void()> body) = 0;

  Index at(Value column, unsigned width) const;

  CodeBuilder &cb;
  Results &results;
  Evaluator &values;

private:
  bool isThisRow(const Index &index) const;
  Value normalized(Value x, Value mean, Value r);
  Value parameter(Value operand, Value result, const Index &index);
  void writeStats(Value tensor, ArrayRef<Value> stats);
  template <typename NormOp>
  void emitNorm(NormOp op);
  template <typename NormDxOp>
  void emitNormDx(NormDxOp op);

  SmallVector<Value> row;
};

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_ROWNORMS_H
