//===- Attention.cpp - what both directions of attention share ------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include <cmath>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

static int64_t blockOf(const rt::Size &size) {
  std::optional<int64_t> constant = size.asConstant();
  // 48 suits tiles and panels alike.
  return constant ? std::min(attentionBlock, (*constant + 47) / 48 * 48)
                  : attentionBlock;
}

AttentionShape::AttentionShape(Value q, Value k) {
  SmallVector<rt::Size> shape = tensorOf(q).getShape();
  batch = shape[0];
  queries = shape[1];
  heads = shape[2];
  depth = shape[3];
  keys = tensorOf(k).getDim(1);
  stride = (depth.asConstant().value_or(0) + panelColumns - 1) / panelColumns *
           panelColumns;
  queryBlock = blockOf(queries);
  keyBlock = blockOf(keys);
}

LogicalResult AttentionShape::verify(Operation *op) const {
  if (depth.asConstant())
    return success();
  return op->emitOpError("expected a constant last extent of q for the host, "
                         "found ")
         << depth.str();
}

double host::attentionScale(std::optional<APFloat> scale,
                            const AttentionShape &shape) {
  if (scale)
    return scale->convertToDouble();
  return 1 / std::sqrt(double(*shape.depth.asConstant()));
}

RowSource host::headSource(KernelFrame &frame, Value value, Value batch,
                           Value first, Value head) {
  return [=, &frame](Value row) {
    Value token = frame.hb.add(first, row);
    return [=, &frame](Value column, unsigned width) {
      Index index;
      index.at = {batch, token, head, column};
      index.width = width;
      return frame.values.emit(value, index);
    };
  };
}

void host::writeHeadRows(KernelFrame &frame, Value result,
                         const AttentionShape &shape, Value block, Value batch,
                         Value first, Value head, Value count,
                         llvm::function_ref<Value(Value, Value)> finish) {
  HostBuilder &hb = frame.hb;
  SmallVector<const Sink *> group;
  for (const Sink &sink : frame.sinks)
    if (sink.root == result)
      group.push_back(&sink);
  if (group.empty())
    return;
  hb.loop(hb.i64(0), count, 1, [&](Value row) {
    Value from = hb.advance(block, hb.mul(row, hb.i64(shape.stride)));
    hb.columns(hb.size(shape.depth), [&](Value column, unsigned width) {
      Index index;
      index.at = {batch, hb.add(first, row), head, column};
      index.width = width;
      Value element = hb.load(from, column, width);
      if (finish)
        element = finish(element, row);
      bindElements(frame.values, result, index, element);
      frame.write(group, index);
    });
  });
}
