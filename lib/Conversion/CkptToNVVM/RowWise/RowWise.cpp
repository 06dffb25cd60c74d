//===- RowWise.cpp - norms, sums, element-wise ops and copies -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "RowWise.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::rowwise;

rt::Size rowwise::rowsOf(ArrayRef<rt::Size> shape) {
  rt::Size rows = 1;
  for (const rt::Size &dim : shape.drop_back())
    rows *= dim;
  return rows;
}

SmallVector<Value> rowwise::valuesOf(const Task &task,
                                     const Signature &signature) {
  SmallVector<Value> values(signature.reads.begin(), signature.reads.end());
  for (Operation *op : signature.ops)
    values.append(op->result_begin(), op->result_end());
  Operation *yield = KernelOp(task.kernel).getBody().front().getTerminator();
  for (const Sink *sink : task.group)
    values.push_back(yield->getOperand(sink->result));
  return values;
}

unsigned rowwise::vectorWidth(ArrayRef<rt::Size> shape,
                              ArrayRef<Value> values) {
  bool isNarrow = llvm::any_of(values, [&](Value value) {
    SmallVector<rt::Size> own = tensorOf(value).getShape();
    return !elementOf(value).isF32() && !own.empty() &&
           own.back() == shape.back();
  });
  unsigned width = isNarrow ? 8 : 4;
  while (width > 1 && !isMultiple(shape.back(), width))
    width /= 2;
  return width;
}

rt::Size nvptx::rowWiseWorkspace(KernelOp kernel) {
  rt::Size elements = 0;
  for (const Sum &sum : sumsOf(kernel))
    if (!sum.isDirect())
      elements = sum.offset + sum.workspaceElements() + rt::Size(3);
  return elements * rt::Size(4);
}

LogicalResult nvptx::generateRowWise(KernelOp kernel, const Options &,
                                     Code &code) {
  std::vector<Sum> sums = sumsOf(kernel);
  SmallVector<Sink> sinks = codegen::sinksOf(kernel);
  code.alternatives.emplace_back();
  code.alternatives.back().name = "rows";
  Task task;
  task.kernel = kernel;
  task.sums = sums;
  for (const Sum &sum : sums) {
    if (sum.isDirect())
      continue;
    task.parts = &sum;
    if (failed(generateParts(task, code)))
      return failure();
  }
  task.parts = nullptr;

  // Statistics are made with the rows of their norm.
  auto shapeOf = [](const Sink &sink) {
    Value like = isStats(sink.root) ? sink.root.getDefiningOp()->getResult(0)
                                    : sink.root;
    return tensorOf(like).getDims();
  };
  SmallVector<ArrayRef<StringAttr>> done;
  for (const Sink &first : sinks) {
    ArrayRef<StringAttr> dims = shapeOf(first);
    if (llvm::is_contained(done, dims))
      continue;
    done.push_back(dims);
    SmallVector<const Sink *> group;
    for (const Sink &sink : sinks)
      if (shapeOf(sink) == dims)
        group.push_back(&sink);
    task.group = group;
    SmallVector<Operation *> norms;
    for (Operation *op : Signature(task).ops)
      if (isa<LayerNormOp, RmsNormOp, LayerNormDxOp, RmsNormDxOp>(op) &&
          tensorOf(op->getResult(0)).getDims() == dims)
        norms.push_back(op);
    if (failed(norms.empty() ? generateElements(task, code)
                             : generateNorms(task, norms, code)))
      return failure();
  }
  return success();
}
