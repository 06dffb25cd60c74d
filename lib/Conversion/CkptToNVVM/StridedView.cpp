//===- StridedView.cpp - where an operand lies in memory ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "StridedView.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

StridedView StridedView::dense(int argument, ArrayRef<rt::Size> shape) {
  StridedView view;
  view.argument = argument;
  view.extents = shape.vec();
  view.strides.resize(shape.size());
  rt::Size stride = 1;
  for (unsigned i = shape.size(); i-- > 0; stride *= shape[i])
    view.strides[i] = stride;
  return view;
}

StridedView StridedView::slice(unsigned dim, const rt::Size &begin,
                               const rt::Size &extent) const {
  StridedView view = *this;
  view.offset += begin * strides[dim];
  view.extents[dim] = extent;
  return view;
}

std::optional<StridedView>
StridedView::reshape(ArrayRef<rt::Size> shape) const {
  // Runs of dimensions without a gap, from the last on; an extent of 1 has no
  // stride of its own.
  struct Run {
    rt::Size elements, stride;
  };
  SmallVector<Run> runs;
  for (unsigned i = extents.size(); i-- > 0;) {
    if (extents[i].isConstant(1))
      continue;
    if (!runs.empty() &&
        strides[i] == runs.back().elements * runs.back().stride)
      runs.back().elements *= extents[i];
    else
      runs.push_back({extents[i], strides[i]});
  }
  StridedView view;
  view.argument = argument;
  view.offset = offset;
  view.extents = shape.vec();
  view.strides.resize(shape.size());
  // Each new dimension lies within one run.
  unsigned run = 0;
  rt::Size used = 1;
  for (unsigned i = shape.size(); i-- > 0;) {
    if (run < runs.size() && used == runs[run].elements) {
      ++run;
      used = 1;
    }
    if (run == runs.size()) {
      // Only extents of 1 are left; any stride will do.
      view.strides[i] = i + 1 < shape.size()
                            ? view.strides[i + 1] * shape[i + 1]
                            : rt::Size(1);
      continue;
    }
    view.strides[i] = runs[run].stride * used;
    used *= shape[i];
    if (!runs[run].elements.divideExactly(used))
      return std::nullopt;
  }
  return view;
}

bool StridedView::isDense() const {
  return strides == dense(argument, extents).strides;
}

static SmallVector<rt::Size> shapeOf(Value value) {
  return cast<ckpt::TensorType>(value.getType()).getShape();
}

std::optional<StridedView> nvptx::viewOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return StridedView::dense(argument.getArgNumber(), shapeOf(value));
  Operation *op = value.getDefiningOp();
  if (!isa<SliceOp, ReshapeOp, TransposeOp>(op))
    return std::nullopt;
  std::optional<StridedView> view = viewOf(op->getOperand(0));
  if (!view)
    return std::nullopt;
  if (auto slice = dyn_cast<SliceOp>(op))
    return view->slice(slice.getDim(),
                       *rt::Size::parse(slice.getOffset().str()),
                       *rt::Size::parse(slice.getExtent().str()));
  if (isa<ReshapeOp>(op))
    return view->reshape(shapeOf(value));
  StridedView permuted = *view;
  for (auto [i, from] :
       llvm::enumerate(cast<TransposeOp>(op).getPermutation())) {
    permuted.extents[i] = view->extents[from];
    permuted.strides[i] = view->strides[from];
  }
  return permuted;
}

/// Collects the places of `wanted` within `value`, which lies at `view`. False
/// when one is not evenly spaced.
static bool collectPlaces(Value value, const StridedView &view, Value wanted,
                          std::vector<StridedView> &places) {
  if (value == wanted) {
    places.push_back(view);
    return true;
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    std::optional<StridedView> from = view.reshape(shapeOf(reshape.getX()));
    std::vector<StridedView> probe;
    if (from)
      return collectPlaces(reshape.getX(), *from, wanted, places);
    // Harmless where the value is not behind it.
    StridedView any = StridedView::dense(-1, shapeOf(reshape.getX()));
    return collectPlaces(reshape.getX(), any, wanted, probe) && probe.empty();
  }
  if (auto concat = value.getDefiningOp<ConcatOp>()) {
    unsigned dim = concat.getDim();
    rt::Size begin = 0;
    for (Value part : concat.getInputs()) {
      rt::Size extent = shapeOf(part)[dim];
      if (!collectPlaces(part, view.slice(dim, begin, extent), wanted, places))
        return false;
      begin += extent;
    }
  }
  return true;
}

std::optional<StridedView> nvptx::resultViewOf(KernelOp kernel, Value value) {
  Block &body = kernel.getBody().front();
  std::vector<StridedView> places;
  for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
    StridedView whole =
        StridedView::dense(body.getNumArguments() + operand.getOperandNumber(),
                           shapeOf(operand.get()));
    if (!collectPlaces(operand.get(), whole, value, places))
      return std::nullopt;
  }
  if (places.empty())
    return StridedView();
  if (places.size() > 1)
    return std::nullopt;
  return places.front();
}
