//===- AttentionForward.cpp - sdpa ----------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Per batch, head and block of queries: one pass over blocks of keys with a
// running maximum and sum per row. When a block raises the maximum, what was
// added so far is scaled down. Everything is f32; the order is that of the
// keys, so the bits depend on nothing else.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "VectorMath.h"

#include <limits>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

rt::Size host::attentionForwardWorkspace(KernelOp kernel) {
  auto op = cast_or_null<SdpaOp>(findOp<SdpaOp>(kernel));
  if (!op)
    return 0;
  AttentionShape shape(op.getQ(), op.getK());
  int64_t q = shape.queryBlock, k = shape.keyBlock, d = shape.stride;
  // q and o; k and v; scores; maximum and sum.
  return 2 * q * d + 2 * k * d + q * k + 2 * q;
}

/// Turns scores of row `row` into exp(scale s - maximum), and what was there
/// before to the new maximum.
static void emitSoftmaxRow(HostBuilder &hb, double scale, Value scores,
                           Value keys, Value maximum, Value sum, Value out,
                           int64_t depth, Value row) {
  auto scaled = [&](Value at, unsigned width) {
    return hb.fmul(hb.load(scores, at, width), hb.f32(scale, width));
  };
  Value largest = hb.reduceColumns(
      keys, {-std::numeric_limits<float>::infinity()},
      [&](Value at, unsigned width, ValueRange carried) -> SmallVector<Value> {
        return {hb.fmax(carried[0], scaled(at, width))};
      },
      [&](Value vector) { return hb.maxLanes(vector); })[0];
  Value before = hb.load(maximum, row);
  largest = hb.fmax(before, largest);
  Value added = hb.reduceColumns(
      keys, {0},
      [&](Value at, unsigned width, ValueRange carried) -> SmallVector<Value> {
        // A product and a difference, each rounded: fused, the largest
        // score's exponent would not be 0.
        Value p =
            emitExp(hb, hb.fsub(scaled(at, width), hb.splat(largest, width)));
        hb.store(p, scores, at);
        return {hb.fadd(carried[0], p)};
      },
      [&](Value vector) { return hb.sumLanes(vector); })[0];
  Value shrink = emitExp(hb, hb.fsub(before, largest));
  hb.store(hb.fma(hb.load(sum, row), shrink, added), sum, row);
  hb.store(largest, maximum, row);
  hb.columns(hb.i64(depth), [&](Value at, unsigned width) {
    hb.store(hb.fmul(hb.load(out, at, width), hb.splat(shrink, width)), out,
             at);
  });
}

LogicalResult host::emitAttentionForward(KernelFrame &frame) {
  auto op = cast_or_null<SdpaOp>(findOp<SdpaOp>(frame.kernel));
  if (!op)
    return frame.kernel.emitOpError(
        "expected an sdpa in an attention_forward, found none");
  AttentionShape shape(op.getQ(), op.getK());
  if (failed(shape.verify(op)))
    return failure();
  SmallVector<const Sink *> lseGroup;
  for (const Sink &sink : frame.sinks) {
    if (op.getLse() && sink.root == op.getLse())
      lseGroup.push_back(&sink);
    else if (sink.root != op.getO())
      return frame.kernel.emitOpError("expected result ")
             << sink.result << " to be o or lse of the sdpa";
  }
  HostBuilder &hb = frame.hb;
  double scale = attentionScale(op.getScale(), shape);
  int64_t queryBlock = shape.queryBlock, keyBlock = shape.keyBlock,
          stride = shape.stride;
  Workspace workspace(hb, frame.workspace);
  Value q = workspace.take(queryBlock * stride);
  Value o = workspace.take(queryBlock * stride);
  Value k = workspace.take(keyBlock * stride);
  Value v = workspace.take(keyBlock * stride);
  Value s = workspace.take(queryBlock * keyBlock);
  Value maximum = workspace.take(queryBlock);
  Value sum = workspace.take(queryBlock);
  Value zero = hb.i64(0), depth = hb.size(shape.depth);
  Value queries = hb.size(shape.queries), keys = hb.size(shape.keys);

  auto queryRows = [&](Value batch, Value head, Value first) {
    Value rows = hb.min(hb.i64(queryBlock), hb.sub(queries, first));
    packRows(hb, headSource(frame, op.getQ(), batch, first, head), rows, depth,
             q, stride);
    zeroBlock(hb, o, rows, depth, stride);
    hb.columns(rows, [&](Value row, unsigned width) {
      hb.store(hb.f32(-std::numeric_limits<float>::infinity(), width), maximum,
               row);
      hb.store(hb.f32(0, width), sum, row);
    });
    hb.loop(zero, keys, keyBlock, [&](Value from) {
      Value count = hb.min(hb.i64(keyBlock), hb.sub(keys, from));
      int64_t kPanel = stride * panelColumns, vPanel = keyBlock * panelColumns;
      packPanelsTransposed(hb, headSource(frame, op.getK(), batch, from, head),
                           count, depth, k, kPanel);
      packPanels(hb, headSource(frame, op.getV(), batch, from, head), count,
                 depth, v, vPanel);
      zeroBlock(hb, s, rows, count, keyBlock);
      emitBlockGemm(hb,
                    {q, stride, 1, k, kPanel, s, keyBlock, rows, count, depth});
      hb.loop(zero, rows, 1, [&](Value row) {
        emitSoftmaxRow(hb, scale, hb.advance(s, hb.mul(row, hb.i64(keyBlock))),
                       count, maximum, sum,
                       hb.advance(o, hb.mul(row, hb.i64(stride))), stride, row);
      });
      emitBlockGemm(hb,
                    {s, keyBlock, 1, v, vPanel, o, stride, rows, depth, count});
    });
    writeHeadRows(frame, op.getO(), shape, o, batch, first, head, rows,
                  [&](Value element, Value row) {
                    return hb.fdiv(element,
                                   hb.splat(hb.load(sum, row),
                                            HostBuilder::widthOf(element)));
                  });
    if (lseGroup.empty())
      return;
    hb.columns(rows, [&](Value row, unsigned width) {
      Index index;
      index.at = {batch, head, hb.add(first, row)};
      index.width = width;
      Value lse = hb.fadd(hb.load(maximum, row, width),
                          emitLog(hb, hb.load(sum, row, width)));
      bindElements(frame.values, op.getLse(), index, lse);
      frame.write(lseGroup, index);
    });
  };

  hb.nest({hb.size(shape.batch), hb.size(shape.heads)},
          [&](ArrayRef<Value> at) {
            hb.loop(zero, queries, queryBlock,
                    [&](Value first) { queryRows(at[0], at[1], first); });
          });
  return success();
}
