//===- RowWise.cpp - norms, sums, element-wise ops and copies -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// In this order:
//   1. each reduce_sum and accumulate into the workspace, in f32, row by row in
//      memory order;
//   2. for the results of each shape a loop over rows: what a norm or a norm's
//      backward must know about the row, read completely; then the elements.
//
//===----------------------------------------------------------------------===//

#include "../Codegen/RowNorms.h"
#include "Generators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

static SmallVector<Operation *> sumsOf(KernelOp kernel) {
  SmallVector<Operation *> sums;
  for (Operation &op : kernel.getBody().front())
    if (isa<ReduceSumOp, AccumulateOp>(op))
      sums.push_back(&op);
  return sums;
}

/// What is summed: the last operand.
static Value summand(Operation *sum) { return sum->getOperands().back(); }

rt::Size host::rowWiseWorkspace(KernelOp kernel) {
  rt::Size elements = 0;
  for (Operation *sum : sumsOf(kernel))
    elements += tensorOf(sum->getResult(0)).getNumElements();
  return elements;
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// The sum of `op` into `total`, a dense f32 tensor of the result's shape.
static void emitSum(KernelFrame &frame, Operation *op, Value total) {
  HostBuilder &hb = frame.hb;
  Value x = summand(op);
  auto xType = tensorOf(x), type = tensorOf(op->getResult(0));
  hb.loop(hb.i64(0), hb.size(type.getNumElements()), 1,
          [&](Value at) { hb.store(hb.f32(0), total, at); });
  SmallVector<Value> leading = frame.values.extentsOf(x);
  Value extent = leading.pop_back_val();
  hb.nest(leading, [&](ArrayRef<Value> row) {
    auto element = [&](Value column, unsigned width) {
      Index index;
      index.at.assign(row.begin(), row.end());
      index.at.push_back(column);
      index.width = width;
      return index;
    };
    Index first =
        frame.values.broadcast(type, xType, element(hb.i64(0), lanes));
    Value out =
        hb.advance(total, frame.values.linearize(type.getShape(), first.at));
    // `broadcast` narrows the index where the last dimension repeats.
    if (first.width == lanes) {
      hb.columns(extent, [&](Value column, unsigned width) {
        Value value = frame.values.emit(x, element(column, width));
        hb.store(hb.fadd(hb.load(out, column, width), value), out, column);
      });
      return;
    }
    Value sum = hb.reduceColumns(
        extent, {0},
        [&](Value column, unsigned width,
            ValueRange carried) -> SmallVector<Value> {
          return {hb.fadd(carried[0],
                          frame.values.emit(x, element(column, width)))};
        },
        [&](Value vector) { return hb.sumLanes(vector); })[0];
    hb.store(hb.fadd(hb.load(out, hb.i64(0)), sum), out, hb.i64(0));
  });
}

static void emitSums(KernelFrame &frame) {
  Workspace workspace(frame.hb, frame.workspace);
  for (Operation *op : sumsOf(frame.kernel)) {
    Value result = op->getResult(0);
    Value total = workspace.take(tensorOf(result).getNumElements());
    emitSum(frame, op, total);
    frame.values.bind(result, [=, &frame](const Index &index) {
      HostBuilder &hb = frame.hb;
      Value position =
          frame.values.linearize(tensorOf(result).getShape(), index.at);
      Value value = hb.load(total, position, index.width);
      if (auto accumulate = dyn_cast<AccumulateOp>(op))
        value = hb.fadd(frame.values.emit(accumulate.getSum(), index), value);
      return value;
    });
  }
}

//===----------------------------------------------------------------------===//
// Sums over the last dimension
//===----------------------------------------------------------------------===//

namespace {

class RowReduction final : public RowNorms {
public:
  RowReduction(KernelFrame &frame, ArrayRef<Value> row, Value extent)
      : RowNorms(frame.hb, frame, row), hb(frame.hb), extent(extent) {
    count =
        hb.b.createOrFold<arith::SIToFPOp>(hb.loc, hb.b.getF32Type(), extent);
  }

private:
  SmallVector<Value> means(unsigned number, Terms terms) override {
    SmallVector<Value> sums = hb.reduceColumns(
        extent, SmallVector<double>(number, 0),
        [&](Value column, unsigned width, ValueRange carried) {
          SmallVector<Value> next;
          for (auto [sum, term] :
               llvm::zip_equal(carried, terms(at(column, width))))
            next.push_back(hb.fadd(sum, term));
          return next;
        },
        [&](Value vector) { return hb.sumLanes(vector); });
    for (Value &sum : sums)
      sum = hb.fdiv(sum, count);
    return sums;
  }
  void once(llvm::function_ref<void()> body) override { body(); }

  HostBuilder &hb;
  Value extent, count;
};

} // namespace

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

LogicalResult host::emitRowWise(KernelFrame &frame) {
  HostBuilder &hb = frame.hb;
  SmallVector<Operation *> norms;
  for (Operation &op : frame.kernel.getBody().front())
    if (isa<LayerNormOp, RmsNormOp, LayerNormDxOp, RmsNormDxOp>(op))
      norms.push_back(&op);
  emitSums(frame);

  // Statistics are written with the rows of their norm.
  SmallVector<const Sink *> left;
  SmallVector<Value> shapes;
  for (Operation *norm : norms)
    shapes.push_back(norm->getResult(0));
  for (const Sink &sink : frame.sinks) {
    if (codegen::isStats(sink.root))
      continue;
    left.push_back(&sink);
    shapes.push_back(sink.root);
  }
  SmallVector<ArrayRef<StringAttr>> done;
  for (Value like : shapes) {
    ArrayRef<StringAttr> dims = tensorOf(like).getDims();
    if (llvm::is_contained(done, dims))
      continue;
    done.push_back(dims);
    SmallVector<const Sink *> group;
    for (const Sink *sink : left)
      if (tensorOf(sink->root).getDims() == dims)
        group.push_back(sink);
    SmallVector<Value> leading = frame.values.extentsOf(like);
    Value extent = leading.pop_back_val();
    hb.nest(leading, [&](ArrayRef<Value> row) {
      RowReduction reduction(frame, row, extent);
      for (Operation *norm : norms)
        if (tensorOf(norm->getResult(0)).getDims() == dims)
          reduction.emit(norm);
      if (!group.empty())
        hb.ifThen(frame.anyWanted(group), [&] {
          hb.columns(extent, [&](Value column, unsigned width) {
            Index index;
            index.at.assign(row.begin(), row.end());
            index.at.push_back(column);
            index.width = width;
            frame.write(group, index);
          });
        });
      // Outside the row there is nothing to ask a norm for.
      for (Operation *norm : norms)
        for (Value value : norm->getResults())
          frame.values.unbind(value);
    });
  }
  return success();
}
