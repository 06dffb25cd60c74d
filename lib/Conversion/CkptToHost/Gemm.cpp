//===- Gemm.cpp - linear, linear_dx and linear_dw -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// C (m x n) = A (m x k) B (k x n), block by block: both operands are packed
// into the workspace, converted to f32 on the way, and C's block stays there in
// f32 until all of k is added. So the workspace does not depend on sizes, and
// the three ops differ only in how they pack:
//
//                m          n         k        A              B
//   linear       rows of x  w's rows  columns  x              w transposed
//   linear_dx    rows of dy w's cols  w's rows dy             w
//   linear_dw    w's rows   w's cols  rows     dy transposed  x
//
// A product of low rank that is added to the first (LowRank.h) goes on where
// that ends, in the same block of C.
//
//===----------------------------------------------------------------------===//

#include "BlockGemm.h"
#include "Generators.h"
#include "ckpt/Dialect/Ckpt/IR/LowRank.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

namespace {

/// What is multiplied, and the sizes of blocks. A block of A and one of B fill
/// about half of a second-level cache of 1 MiB, a panel of B half of the first.
struct GemmPlan {
  GemmPlan() = default;
  explicit GemmPlan(Operation *op) : op(op) {
    a = op->getOperand(0);
    b = op->getOperand(1);
    result = op->getResult(0);
    n = tensorOf(result).getShape().back();
    SmallVector<rt::Size> aShape = tensorOf(a).getShape();
    rt::Size rows = 1;
    for (const rt::Size &dim : ArrayRef(aShape).drop_back())
      rows *= dim;
    transposeA = isa<LinearDwOp>(op);
    transposeB = isa<LinearOp>(op);
    m = transposeA ? aShape.back() : rows;
    k = transposeA ? rows : aShape.back();
    mBlock = blockOf(m, 384, tileRows);
    nBlock = blockOf(n, 256, panelColumns);
    kBlock = blockOf(k, 256, lanes);
    // An odd number of cache lines, so that a column of A does not fall on few
    // sets of the cache.
    aRow = transposeA ? 1 : kBlock;
    aColumn = transposeA ? roundedUp(mBlock, 32) + 16 : 1;
  }

  static int64_t roundedUp(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
  }
  static int64_t blockOf(const rt::Size &size, int64_t most, int64_t unit) {
    std::optional<int64_t> constant = size.asConstant();
    return constant ? std::min(most, roundedUp(*constant, unit)) : most;
  }

  int64_t aElements() const {
    return transposeA ? kBlock * aColumn : mBlock * aRow;
  }
  int64_t bElements() const { return kBlock * nBlock; }
  int64_t cElements() const { return mBlock * nBlock; }

  Operation *op = nullptr;
  Value a, b, result;
  rt::Size m, n, k;
  bool transposeA = false, transposeB = false;
  int64_t mBlock = 0, nBlock = 0, kBlock = 0;
  int64_t aRow = 0, aColumn = 0;
};

/// A kernel's product and the one that is added up beside it, if any.
struct GemmPlans {
  explicit GemmPlans(KernelOp kernel) {
    for (Operation &op : kernel.getBody().front())
      if (isa<LinearOp, LinearDxOp, LinearDwOp>(op))
        (productBeside(&op) ? low : main) = GemmPlan(&op);
  }

  int64_t aElements() const {
    return std::max(main.aElements(), low.aElements());
  }
  int64_t bElements() const {
    return std::max(main.bElements(), low.bElements());
  }

  GemmPlan main, low;
};

} // namespace

rt::Size host::gemmWorkspace(KernelOp kernel) {
  GemmPlans plans(kernel);
  return plans.aElements() + plans.bElements() + plans.main.cElements();
}

/// `value` as a matrix: all dimensions but the last are its rows; its elements
/// from (`row`, `column`) on.
static RowSource matrixSource(KernelFrame &frame, Value value, Value firstRow,
                              Value firstColumn) {
  return [=, &frame](Value row) {
    HostBuilder &hb = frame.hb;
    SmallVector<rt::Size> shape = tensorOf(value).getShape();
    SmallVector<Value> at = frame.values.delinearize(
        ArrayRef(shape).drop_back(), hb.add(firstRow, row));
    return [=, &frame](Value column, unsigned width) {
      Index index;
      index.at = at;
      index.at.push_back(frame.hb.add(firstColumn, column));
      index.width = width;
      return frame.values.emit(value, index);
    };
  };
}

/// Stores one block of C, after what follows the product.
static void emitEpilogue(KernelFrame &frame, const GemmPlans &plans, Value c,
                         Value firstRow, Value firstColumn, Value rows,
                         Value columns) {
  HostBuilder &hb = frame.hb;
  const GemmPlan &plan = plans.main;
  SmallVector<const Sink *> group;
  for (const Sink &sink : frame.sinks)
    group.push_back(&sink);
  SmallVector<rt::Size> shape = tensorOf(plan.result).getShape();
  Value bias;
  if (auto linear = dyn_cast<LinearOp>(plan.op))
    bias = linear.getBias();
  hb.loop(hb.i64(0), rows, 1, [&](Value row) {
    SmallVector<Value> at = frame.values.delinearize(
        ArrayRef(shape).drop_back(), hb.add(firstRow, row));
    Value from = hb.advance(c, hb.mul(row, hb.i64(plan.nBlock)));
    hb.columns(columns, [&](Value column, unsigned width) {
      Index index;
      index.at = at;
      index.at.push_back(hb.add(firstColumn, column));
      index.width = width;
      Value sum = hb.load(from, column, width);
      if (bias) {
        Index mapped = frame.values.broadcast(tensorOf(bias),
                                              tensorOf(plan.result), index);
        sum = hb.fadd(sum, hb.splat(frame.values.emit(bias, mapped), width));
      }
      bindElements(frame.values, plan.result, index, sum);
      // It is in the sum already; -0 changes nothing that it is added to.
      if (plans.low.op)
        bindElements(frame.values, plans.low.result, index,
                     hb.f32(-0.0, width));
      frame.write(group, index);
    });
  });
}

LogicalResult host::emitGemm(KernelFrame &frame) {
  GemmPlans plans(frame.kernel);
  const GemmPlan &plan = plans.main;
  if (!plan.op)
    return frame.kernel.emitOpError(
        "expected a linear, linear_dx or linear_dw in a gemm, found none");
  for (const Sink &sink : frame.sinks)
    if (tensorOf(sink.root).getDims() != tensorOf(plan.result).getDims())
      return frame.kernel.emitOpError("expected result ")
             << sink.result << " to have the shape of the product "
             << plan.result.getType() << ", found " << sink.root.getType();
  HostBuilder &hb = frame.hb;
  Workspace workspace(hb, frame.workspace);
  Value a = workspace.take(plans.aElements());
  Value b = workspace.take(plans.bElements());
  Value c = workspace.take(plan.cElements());
  Value zero = hb.i64(0);
  Value m = hb.size(plan.m), n = hb.size(plan.n);
  // The part of a block that exists; whole where blocks divide the size.
  auto part = [&](Value begin, Value end, const rt::Size &size, int64_t block) {
    if (isMultiple(size, block))
      return hb.i64(block);
    return hb.min(hb.i64(block), hb.sub(end, begin));
  };
  /// Adds all of K to the block of C at (i, j).
  auto addProduct = [&](const GemmPlan &plan, Value i, Value j, Value rows,
                        Value columns) {
    Value k = hb.size(plan.k);
    hb.loop(zero, k, plan.kBlock, [&](Value p) {
      Value depth = part(p, k, plan.k, plan.kBlock);
      if (plan.transposeA)
        packRows(hb, matrixSource(frame, plan.a, p, i), depth, rows, a,
                 plan.aColumn);
      else
        packRows(hb, matrixSource(frame, plan.a, i, p), rows, depth, a,
                 plan.aRow);
      int64_t panelStride = plan.kBlock * panelColumns;
      if (plan.transposeB)
        packPanelsTransposed(hb, matrixSource(frame, plan.b, j, p), columns,
                             depth, b, panelStride);
      else
        packPanels(hb, matrixSource(frame, plan.b, p, j), depth, columns, b,
                   panelStride);
      emitBlockGemm(hb, {a, plan.aRow, plan.aColumn, b, panelStride, c,
                         plan.nBlock, rows, columns, depth});
    });
  };

  hb.loop(zero, n, plan.nBlock, [&](Value j) {
    Value columns = part(j, n, plan.n, plan.nBlock);
    hb.loop(zero, m, plan.mBlock, [&](Value i) {
      Value rows = part(i, m, plan.m, plan.mBlock);
      zeroBlock(hb, c, rows, columns, plan.nBlock);
      addProduct(plan, i, j, rows, columns);
      if (plans.low.op)
        addProduct(plans.low, i, j, rows, columns);
      emitEpilogue(frame, plans, c, i, j, rows, columns);
    });
  });
  return success();
}
