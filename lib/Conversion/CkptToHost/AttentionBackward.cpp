//===- AttentionBackward.cpp - sdpa_dx ------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Per batch and head, with S = scale q k^T, P = exp(S - lse), delta the row sum
// of dout o, dS = P (dout v^T - delta) scale:
//
//   dv = P^T dout     dk = dS^T q     dq = dS k
//
// Blocks of keys are the outer loop, so that dk and dv of a block stay in the
// workspace; dq of the head stays there whole, in f32. S and dS are held
// transposed (keys are rows): then P^T and dS^T are left factors as they lie,
// and dS is the same memory with strides exchanged.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "VectorMath.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

rt::Size host::attentionBackwardWorkspace(KernelOp kernel) {
  auto op = cast_or_null<SdpaDxOp>(findOp<SdpaDxOp>(kernel));
  if (!op)
    return 0;
  AttentionShape shape(op.getQ(), op.getK());
  int64_t q = shape.queryBlock, k = shape.keyBlock, d = shape.stride;
  // k, v, dk, dv as rows, k as panels; q and dout as panels both ways; P^T and
  // dS^T. Then dq (with a tile's rows beyond the end) and delta.
  return rt::Size(5 * k * d + 4 * q * d + 2 * k * q) +
         (shape.queries + rt::Size(tileRows)) * rt::Size(d) + shape.queries;
}

namespace {

/// The workspace of a head, and the values that name it.
struct Backward {
  KernelFrame &frame;
  HostBuilder &hb;
  SdpaDxOp op;
  AttentionShape shape;
  double scale;
  Value kRows = {}, vRows = {}, kPanels = {}, dk = {}, dv = {};
  Value qPanels = {}, qColumns = {}, doutPanels = {}, doutColumns = {};
  Value p = {}, ds = {}, dq = {}, delta = {};
  Value batch = {}, head = {};

  RowSource source(Value value, Value first) {
    return headSource(frame, value, batch, first, head);
  }
  void emitDelta();
  void emitScores(Value firstQuery, Value queries, Value keys);
  void emitBlock(Value firstQuery, Value queries, Value keys);
  void emitHead();
};

} // namespace

/// Row sums of dout o.
void Backward::emitDelta() {
  hb.loop(hb.i64(0), hb.size(shape.queries), 1, [&](Value query) {
    auto dout = source(op.getDout(), hb.i64(0))(query);
    auto o = source(op.getO(), hb.i64(0))(query);
    Value sum = hb.reduceColumns(
        hb.size(shape.depth), {0},
        [&](Value at, unsigned width,
            ValueRange carried) -> SmallVector<Value> {
          return {hb.fma(dout(at, width), o(at, width), carried[0])};
        },
        [&](Value vector) { return hb.sumLanes(vector); })[0];
    hb.store(sum, delta, query);
  });
}

/// P^T and dS^T from the products that lie in their places.
void Backward::emitScores(Value firstQuery, Value queries, Value keys) {
  Value stride = hb.i64(shape.queryBlock);
  hb.loop(hb.i64(0), keys, 1, [&](Value key) {
    Value pRow = hb.advance(p, hb.mul(key, stride));
    Value dsRow = hb.advance(ds, hb.mul(key, stride));
    hb.columns(queries, [&](Value query, unsigned width) {
      Index row;
      row.at = {batch, head, hb.add(firstQuery, query)};
      row.width = width;
      Value lse = frame.values.emit(op.getLse(), row);
      Value s = hb.fmul(hb.load(pRow, query, width), hb.f32(scale, width));
      Value weight = emitExp(hb, hb.fsub(s, lse));
      Value slope = hb.fsub(hb.load(dsRow, query, width),
                            hb.load(delta, row.at.back(), width));
      hb.store(weight, pRow, query);
      hb.store(hb.fmul(hb.fmul(weight, slope), hb.f32(scale, width)), dsRow,
               query);
    });
  });
}

/// What one block of queries adds to dk and dv of the block of keys, and to dq.
void Backward::emitBlock(Value firstQuery, Value queries, Value keys) {
  int64_t stride = shape.stride, queryBlock = shape.queryBlock;
  int64_t byDepth = stride * panelColumns, byQuery = queryBlock * panelColumns,
          byKey = shape.keyBlock * panelColumns;
  Value depth = hb.size(shape.depth);
  packPanelsTransposed(hb, source(op.getQ(), firstQuery), queries, depth,
                       qColumns, byDepth);
  packPanelsTransposed(hb, source(op.getDout(), firstQuery), queries, depth,
                       doutColumns, byDepth);
  packPanels(hb, source(op.getQ(), firstQuery), queries, depth, qPanels,
             byQuery);
  packPanels(hb, source(op.getDout(), firstQuery), queries, depth, doutPanels,
             byQuery);
  zeroBlock(hb, p, keys, queries, queryBlock);
  zeroBlock(hb, ds, keys, queries, queryBlock);
  emitBlockGemm(hb, {kRows, stride, 1, qColumns, byDepth, p, queryBlock, keys,
                     queries, depth});
  emitBlockGemm(hb, {vRows, stride, 1, doutColumns, byDepth, ds, queryBlock,
                     keys, queries, depth});
  emitScores(firstQuery, queries, keys);
  emitBlockGemm(hb, {p, queryBlock, 1, doutPanels, byQuery, dv, stride, keys,
                     depth, queries});
  emitBlockGemm(hb, {ds, queryBlock, 1, qPanels, byQuery, dk, stride, keys,
                     depth, queries});
  Value dqRows = hb.advance(dq, hb.mul(firstQuery, hb.i64(stride)));
  emitBlockGemm(hb, {ds, 1, queryBlock, kPanels, byKey, dqRows, stride, queries,
                     depth, keys});
}

void Backward::emitHead() {
  Value zero = hb.i64(0), depth = hb.size(shape.depth);
  Value allQueries = hb.size(shape.queries), allKeys = hb.size(shape.keys);
  emitDelta();
  zeroBlock(hb, dq, allQueries, depth, shape.stride);
  hb.loop(zero, allKeys, shape.keyBlock, [&](Value firstKey) {
    Value keys = hb.min(hb.i64(shape.keyBlock), hb.sub(allKeys, firstKey));
    packRows(hb, source(op.getK(), firstKey), keys, depth, kRows, shape.stride);
    packRows(hb, source(op.getV(), firstKey), keys, depth, vRows, shape.stride);
    packPanels(hb, source(op.getK(), firstKey), keys, depth, kPanels,
               shape.keyBlock * panelColumns);
    zeroBlock(hb, dk, keys, depth, shape.stride);
    zeroBlock(hb, dv, keys, depth, shape.stride);
    hb.loop(zero, allQueries, shape.queryBlock, [&](Value firstQuery) {
      Value queries =
          hb.min(hb.i64(shape.queryBlock), hb.sub(allQueries, firstQuery));
      emitBlock(firstQuery, queries, keys);
    });
    writeHeadRows(frame, op.getDk(), shape, dk, batch, firstKey, head, keys);
    writeHeadRows(frame, op.getDv(), shape, dv, batch, firstKey, head, keys);
  });
  writeHeadRows(frame, op.getDq(), shape, dq, batch, zero, head, allQueries);
}

LogicalResult host::emitAttentionBackward(KernelFrame &frame) {
  auto op = cast_or_null<SdpaDxOp>(findOp<SdpaDxOp>(frame.kernel));
  if (!op)
    return frame.kernel.emitOpError(
        "expected an sdpa_dx in an attention_backward, found none");
  AttentionShape shape(op.getQ(), op.getK());
  if (failed(shape.verify(op)))
    return failure();
  for (const Sink &sink : frame.sinks)
    if (sink.root.getDefiningOp() != op)
      return frame.kernel.emitOpError("expected result ")
             << sink.result << " to be made of dq, dk and dv of the sdpa_dx";
  HostBuilder &hb = frame.hb;
  int64_t q = shape.queryBlock, k = shape.keyBlock, d = shape.stride;
  Workspace workspace(hb, frame.workspace);
  Backward backward{frame, hb, op, shape, attentionScale(op.getScale(), shape)};
  for (Value *piece : {&backward.kRows, &backward.vRows, &backward.kPanels,
                       &backward.dk, &backward.dv})
    *piece = workspace.take(k * d);
  for (Value *piece : {&backward.qPanels, &backward.qColumns,
                       &backward.doutPanels, &backward.doutColumns})
    *piece = workspace.take(q * d);
  backward.p = workspace.take(k * q);
  backward.ds = workspace.take(k * q);
  backward.dq =
      workspace.take((shape.queries + rt::Size(tileRows)) * rt::Size(d));
  backward.delta = workspace.take(shape.queries);
  hb.nest({hb.size(shape.batch), hb.size(shape.heads)},
          [&](ArrayRef<Value> at) {
            backward.batch = at[0];
            backward.head = at[1];
            backward.emitHead();
          });
  return success();
}
