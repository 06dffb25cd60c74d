//===- ForwardKernel.h - attention forward, its code ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_FORWARDKERNEL_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_FORWARDKERNEL_H

#include "Forward.h"

namespace ckpt::nvptx {

/// What is known of a thread's two rows (`rowOf`).
struct Softmax {
  Values maximum, sum;
};

class ForwardKernel {
public:
  ForwardKernel(PtxBuilder &ptx, mlir::ValueRange parameters,
                const ForwardTiles &tiles);
  void emit();

private:
  void initBarriers();
  Value stageBarrier(Value first, Value stage) {
    return ptx.at(first, ptx.mul(stage, 8));
  }

  // Producer.
  void produce();
  void loadKeys(const SharedTile &tile, Value map, Value full, Value empty,
                Ring ring, Value row);

  // Consumers.
  void consume();
  void release(Value empty, Value stage);
  void takeTurn();
  void passTurn();
  Values scores(Value stage);
  Values addWeighted(Value stage, ArrayRef<Value> p, ArrayRef<Value> o,
                     Value first);
  Values maskKeys(ArrayRef<Value> s);
  Values softmax(ArrayRef<Value> s, Softmax &state, Values *shrink);
  Values step(Ring ring, Ring last, Value accumulate, Softmax &state,
              ArrayRef<Value> p, ArrayRef<Value> o);
  void finish(ArrayRef<Value> o, const Softmax &state);

  PtxBuilder &ptx;
  const ForwardTiles tiles;
  Value mapQ, mapK, mapV, mapO, pointerO, pointerLse, queries, keys, scale,
      powerScale;
  Threads threads;
  Value shared, head, batch, firstQuery, keyBlocks;
  Value fullQ, fullK, emptyK, fullV, emptyV, rank;

  // Of a consumer.
  Value consumer, warp, thread, base, remoteEmptyK, remoteEmptyV, releases;
  Value myTurn, nextTurn, hugeExponent;
};

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_FORWARDKERNEL_H
