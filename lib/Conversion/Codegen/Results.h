//===- Results.h - where the values of a kernel go --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The values that a generator must compute, and the way of their elements into
/// the results.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_RESULTS_H
#define CKPT_LIB_CONVERSION_CODEGEN_RESULTS_H

#include "Evaluator.h"

namespace ckpt::codegen {

/// A value that a generator computes and the way of its elements into a result.
/// Reshapes and concats at the end of a body are not computed but written
/// through: each part of a concat is a sink of its own.
struct Sink {
  Value root;
  unsigned result = 0;
  /// Reshapes and (one operand of) concats, from the root on.
  struct Step {
    mlir::Operation *op;
    unsigned operand;
  };
  SmallVector<Step> steps;
};

/// The statistics of a norm.
bool isStats(Value value);

/// The sinks of a kernel, in the order of its results.
SmallVector<Sink> sinksOf(KernelOp kernel);

class Results {
public:
  /// `pointers`: null at run time for a result that nobody asked for, unless
  /// `allWanted`.
  Results(KernelOp kernel, CodeBuilder &cb, Evaluator &values,
          SmallVector<Value> pointers, bool allWanted = false);

  KernelOp kernel;
  Evaluator &values;
  SmallVector<Sink> sinks;

  /// Evaluates the roots of `group` at `index` (all of one shape) and then
  /// stores those whose result was asked for. In this order a result may stand
  /// in the place of an argument that is read at the same elements.
  void write(ArrayRef<const Sink *> group, const Index &index);
  /// The same for several indices: all are evaluated before one is stored.
  /// `valid`, if there, says for each whether it is stored at all.
  void write(ArrayRef<const Sink *> group, ArrayRef<Index> indices,
             ArrayRef<Value> valid = {});
  /// One of the results was asked for.
  Value anyWanted(ArrayRef<const Sink *> group);

private:
  void store(const Sink &sink, const Index &index, Value value);
  mlir::Type elementOf(const Sink &sink);

  CodeBuilder &cb;
  SmallVector<Value> pointers, wanted;
};

/// Binds a result to the elements at `current`. A body that asks for others is
/// rejected.
void bindElements(Evaluator &values, Value value, const Index &current,
                  Value elements);

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_RESULTS_H
