//===- RowFunction.h - one function of a row-wise kernel --------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A function with its arguments bound. It is given what its values reach, its
/// results, and the named sizes that occur, so it does not depend on the value
/// of a size that has a name.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_ROWFUNCTION_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_ROWFUNCTION_H

#include "../../Codegen/Results.h"
#include "../GpuBuilder.h"
#include "../KernelModule.h"
#include "Sum.h"

#include "llvm/ADT/SetVector.h"

#include <set>

namespace ckpt::nvptx::rowwise {

using codegen::elementOf;
using codegen::Index;
using codegen::isMultiple;
using codegen::isStats;
using codegen::Sink;
using codegen::tensorOf;

/// What a function makes: results, or a sum's parts.
struct Task {
  KernelOp kernel;
  /// All sums of the kernel.
  ArrayRef<Sum> sums;
  ArrayRef<const Sink *> group;
  /// Of `sums`; its parts are the function's only result.
  const Sum *parts = nullptr;
  int threads = 0;
};

/// What a task's function is given, as the launch and as the function see it.
class Signature {
public:
  explicit Signature(const Task &task);

  std::vector<rt::LaunchArgument> arguments;
  /// Ops and arguments of the body that the task's values reach, operands
  /// first. A sum with parts in the workspace is reached itself, not what it
  /// sums.
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<Value> reads;

  // Positions in `arguments`.
  SmallVector<std::pair<std::string, int>> sizes;
  SmallVector<std::pair<Value, int>> readPointers;
  SmallVector<std::pair<unsigned, int>> resultPointers;
  struct SumPosition {
    const Sum *sum;
    int pointer, parts;
  };
  /// Sums whose parts are read, and the one that is made.
  SmallVector<SumPosition> sumsRead;
  int partsPointer = -1, rowsPerPart = -1;

  KernelModule makeModule(const Task &task) const;

private:
  int add(rt::LaunchArgument argument);
  int addPointer(int argument);
  int addNumber(const rt::Formula &value);
  int addParts(const Sum &sum);
  void reach(Value value, const Task &task);

  std::set<std::string> names;
};

class RowFunction {
public:
  explicit RowFunction(const Task &task);

  const Task task;
  const Signature signature;

private:
  KernelModule module;

public:
  GpuBuilder cb;
  codegen::Evaluator values;
  codegen::Results results;
  /// Of the task's parts: where they lie, and rows of one.
  Value parts, rowsPerPart;

  /// Appends the function and its launch; fails if the body has ops that have
  /// no code here.
  llvm::LogicalResult finish(Code &code, const rt::Formula &gridX,
                             const rt::Formula &gridY, int sharedBytes = 0);

private:
  Value parameter(int position) const;
  SmallVector<Value> resultPointers();
  void bindSum(const Signature::SumPosition &read);
};

} // namespace ckpt::nvptx::rowwise

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ROWWISE_ROWFUNCTION_H
