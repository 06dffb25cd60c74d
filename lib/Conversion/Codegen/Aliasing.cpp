//===- Aliasing.cpp - results in the place of arguments -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Results.h"
#include "ckpt/Conversion/TargetInfo.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::codegen;

TargetInfo::~TargetInfo() = default;

namespace {

/// How far reading one element of a value reaches into an argument.
enum class Reach { None, Same, Other };

/// Looks for an argument behind a value, from a result's element on.
struct Search {
  Value argument;

  static Reach worse(Reach x, Reach y) { return std::max(x, y); }

  /// `same`: the element asked for lies where the result's lies.
  Reach visit(Value value, bool same) const {
    Operation *op = value.getDefiningOp();
    if (!op) {
      if (value != argument)
        return Reach::None;
      return same ? Reach::Same : Reach::Other;
    }
    // A sum is finished before a result is written, unless there is one element
    // in each, which is read with the others of its place.
    if (isa<AccumulateOp, ReduceSumOp>(op)) {
      Reach reach = Reach::None;
      if (auto accumulate = dyn_cast<AccumulateOp>(op))
        reach = visit(accumulate.getSum(), same);
      Value x = op->getOperands().back();
      if (tensorOf(x).getDims() == tensorOf(value).getDims())
        reach = worse(reach, visit(x, same));
      return reach;
    }
    Reach reach = Reach::None;
    for (Value operand : op->getOperands())
      reach = worse(reach, visit(operand, same && keepsPlace(op, operand)));
    return reach;
  }

  /// An element of `op` reads `operand` at its own place only; a norm reads its
  /// row, but has done so before it writes.
  static bool keepsPlace(Operation *op, Value operand) {
    if (isa<ReshapeOp>(op))
      return true;
    if (!isa<AddOp, SubOp, MulOp, ScaleOp, CastOp, SiluOp, GeluOp, SiluDxOp,
             GeluDxOp, NormalizeOp, LayerNormOp, RmsNormOp, LayerNormDxOp,
             RmsNormDxOp>(op))
      return false;
    return tensorOf(operand).getDims() == tensorOf(op->getResult(0)).getDims();
  }
};

} // namespace

bool TargetInfo::mayAlias(KernelOp kernel, unsigned operand,
                          unsigned result) const {
  KernelClass kind = kernel.getKernelClass();
  if (kind != KernelClass::Gemm && kind != KernelClass::RowWise)
    return false;
  Block &body = kernel.getBody().front();
  Value argument = body.getArgument(operand);
  Value yielded = body.getTerminator()->getOperand(result);
  if (argument.getType() != yielded.getType())
    return false;
  SmallVector<Sink> sinks = sinksOf(kernel);
  SmallVector<const Sink *> own, all;
  for (const Sink &sink : sinks) {
    all.push_back(&sink);
    if (sink.result == result)
      own.push_back(&sink);
  }
  // A part of a concat does not lie where its elements are read.
  if (own.size() != 1 ||
      llvm::any_of(own.front()->steps, [](const Sink::Step &step) {
        return !isa<ReshapeOp>(step.op);
      }))
    return false;
  Value root = own.front()->root;
  if (isStats(root))
    return false;
  Search search{argument};
  for (const Sink *sink : all) {
    Reach reach = search.visit(sink->root, true);
    if (reach == Reach::Other)
      return false;
    // Results of another shape are made in another loop, perhaps later.
    // Statistics are made in the same one.
    if (reach == Reach::Same && !isStats(sink->root) &&
        tensorOf(sink->root).getDims() != tensorOf(root).getDims())
      return false;
  }
  return true;
}
