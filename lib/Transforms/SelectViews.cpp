//===- SelectViews.cpp - who reads through a view ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Views and widening casts cost nothing where their reader can take them as
// strides and a conversion at the load. Each such reader gets its own copy
// here, so that what is left to decide is an op with one reader or an op that
// must be run.
//
//===----------------------------------------------------------------------===//

#include "SelectViews.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ckpt;
using rt::Size;

bool ckpt::isView(Operation *op) {
  return isa<SliceOp, ReshapeOp, TransposeOp>(op);
}

bool ckpt::isWideningCast(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && cast.getY().getType().getElementType().isF32() &&
         !cast.getX().getType().getElementType().isF32();
}

bool ckpt::isElementwise(Operation *op) {
  return isa<GeluOp, GeluDxOp, SiluOp, SiluDxOp, ScaleOp, CastOp, AddOp, SubOp,
             MulOp>(op);
}

bool ckpt::isRowReduction(Operation *op) {
  return isa<LayerNormOp, RmsNormOp, LayerNormDxOp, RmsNormDxOp>(op);
}

bool ckpt::isSum(Operation *op) { return isa<ReduceSumOp, AccumulateOp>(op); }

bool ckpt::isContraction(Operation *op) {
  return isa<LinearOp, LinearDxOp, LinearDwOp>(op);
}

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

namespace {
/// Extents and distances, both in elements.
struct Layout {
  SmallVector<Size> shape, strides;
};

/// What a reader can do with an operand that is not dense in memory.
enum class Reach { Nothing, DenseViews, Views, ViewsAndCasts };
} // namespace

static Layout denseLayout(ArrayRef<Size> shape) {
  Layout layout;
  layout.shape.assign(shape.begin(), shape.end());
  layout.strides.resize(shape.size());
  Size stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    layout.strides[i] = stride;
    stride *= shape[i];
  }
  return layout;
}

static bool isDense(const Layout &layout) {
  Layout dense = denseLayout(layout.shape);
  for (size_t i = 0; i < layout.shape.size(); ++i)
    if (!layout.shape[i].isConstant(1) && layout.strides[i] != dense.strides[i])
      return false;
  return true;
}

/// The strides of `shape` over the elements of `from`, if there are any: runs
/// of dimensions are matched from the last to the first, and within a run the
/// elements must follow one another.
static std::optional<Layout> reshapeLayout(const Layout &from,
                                           ArrayRef<Size> shape) {
  if (isDense(from))
    return denseLayout(shape);
  Layout to = denseLayout(shape);
  size_t i = from.shape.size(), j = shape.size();
  auto skipUnits = [](ArrayRef<Size> dims, size_t &k) {
    while (k > 0 && dims[k - 1].isConstant(1))
      --k;
  };
  while (true) {
    skipUnits(from.shape, i);
    skipUnits(shape, j);
    if (i == 0 || j == 0)
      return i == j ? std::optional<Layout>(to) : std::nullopt;
    // A run: old dimensions [i0, i) hold as many elements as new [j0, j).
    size_t i0 = i - 1, j0 = j - 1;
    Size before = from.shape[i0], after = shape[j0];
    while (before != after) {
      if (before.divideExactly(after) && j0 > 0) {
        after *= shape[--j0];
      } else if (after.divideExactly(before) && i0 > 0) {
        --i0;
        if (!from.shape[i0].isConstant(1) &&
            from.strides[i0] != from.strides[i - 1] * before)
          return std::nullopt;
        before *= from.shape[i0];
      } else {
        return std::nullopt;
      }
    }
    Size stride = from.strides[i - 1];
    for (size_t k = j; k-- > j0;) {
      to.strides[k] = stride;
      stride *= shape[k];
    }
    i = i0;
    j = j0;
  }
}

/// The layout of `op`'s result, given its operand's.
static std::optional<Layout> layoutThrough(Operation *op, const Layout &from) {
  auto type = cast<ckpt::TensorType>(op->getResult(0).getType());
  if (isa<ReshapeOp>(op))
    return reshapeLayout(from, type.getShape());
  Layout to = from;
  if (isa<SliceOp>(op))
    to.shape = type.getShape();
  if (auto transpose = dyn_cast<TransposeOp>(op))
    for (auto [i, source] : llvm::enumerate(transpose.getPermutation())) {
      to.shape[i] = from.shape[source];
      to.strides[i] = from.strides[source];
    }
  return to;
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

/// `use`'s owner is run: as part of some kernel, or as a copy.
static Reach reachOf(OpOperand &use) {
  Operation *reader = use.getOwner();
  if (isContraction(reader))
    return Reach::DenseViews;
  // The sum is updated where it lies.
  if (isa<AccumulateOp>(reader) && use.getOperandNumber() == 0)
    return Reach::Nothing;
  if (isa<SdpaOp, SdpaDxOp, ConcatOp, PadOp>(reader) || isView(reader))
    return Reach::Views;
  if (isElementwise(reader) || isRowReduction(reader) || isSum(reader) ||
      isa<RopeOp, NormalizeOp>(reader))
    return Reach::ViewsAndCasts;
  return Reach::Nothing;
}

/// The reader of `use` can read through `op`, whose result `use` is. `taken`
/// holds later views of which that has been decided.
static bool canTake(Operation *op, OpOperand &use,
                    const DenseSet<Operation *> &taken) {
  SmallVector<Operation *> chain = {op};
  OpOperand *last = &use;
  while (taken.contains(last->getOwner())) {
    chain.push_back(last->getOwner());
    last = &*last->getOwner()->use_begin();
  }
  Reach reach = reachOf(*last);
  if (reach == Reach::Nothing)
    return false;
  if (reach != Reach::ViewsAndCasts && llvm::any_of(chain, isWideningCast))
    return false;
  std::optional<Layout> layout = denseLayout(
      cast<ckpt::TensorType>(op->getOperand(0).getType()).getShape());
  for (Operation *link : chain)
    if (!(layout = layoutThrough(link, *layout)))
      return false;
  return reach != Reach::DenseViews || isDense(*layout);
}

void ckpt::separateViews(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  DenseSet<Operation *> taken;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (taken.contains(&op) || (!isView(&op) && !isWideningCast(&op)))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      if (!canTake(&op, use, taken))
        continue;
      Operation *copy = OpBuilder(use.getOwner()).clone(op);
      use.set(copy->getResult(0));
      taken.insert(copy);
    }
    if (op.use_empty())
      op.erase();
  }
}

DenseSet<Operation *> ckpt::findTakenViews(Block &block) {
  DenseSet<Operation *> taken;
  for (Operation &op : llvm::reverse(block))
    if ((isView(&op) || isWideningCast(&op)) && op.hasOneUse() &&
        canTake(&op, *op.use_begin(), taken))
      taken.insert(&op);
  return taken;
}
