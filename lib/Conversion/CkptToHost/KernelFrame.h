//===- KernelFrame.h - what all generators start from -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel's function with its arguments bound, and where its results go.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_KERNELFRAME_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_KERNELFRAME_H

#include "Evaluator.h"

namespace ckpt::host {

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

/// The sinks of a kernel, in the order of its results.
SmallVector<Sink> sinksOf(KernelOp kernel);

class KernelFrame {
public:
  KernelFrame(KernelOp kernel, HostBuilder &hb, Evaluator &values,
              Value workspace, SmallVector<Value> results);

  KernelOp kernel;
  HostBuilder &hb;
  Evaluator &values;
  Value workspace;
  SmallVector<Sink> sinks;

  /// Evaluates the roots of `group` at `index` (all of one shape) and then
  /// stores those whose result was asked for. In this order a result may stand
  /// in the place of an argument that is read at the same elements.
  void write(ArrayRef<const Sink *> group, const Index &index);
  /// One of the results was asked for.
  Value anyWanted(ArrayRef<const Sink *> group);

private:
  void store(const Sink &sink, const Index &index, Value value);

  SmallVector<Value> results, wanted;
};

/// Binds a result to the elements at `current`. A body that asks for others is
/// rejected.
void bindElements(KernelFrame &frame, Value value, const Index &current,
                  Value elements);

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_KERNELFRAME_H
