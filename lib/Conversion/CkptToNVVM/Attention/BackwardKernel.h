//===- BackwardKernel.h - attention backward, its code ----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_BACKWARDKERNEL_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_BACKWARDKERNEL_H

#include "Backward.h"

namespace ckpt::nvptx {

class BackwardKernel {
public:
  BackwardKernel(PtxBuilder &ptx, mlir::ValueRange parameters,
                 const BackwardTiles &tiles);
  void emit();

private:
  Value barrierAt(Value first, Value index) {
    return ptx.at(first, ptx.mul(index, 8));
  }
  void initBarriers();
  void emitRoles();
  /// The block of queries visited at `step`.
  Value blockAt(Value step);

  void produce();
  void loadTileOf(const SharedTile &tile, Value to, Value map, Value barrier,
                  Value row);
  void addInOrder(Value half);

  // Consumers.
  struct Outputs {
    Values dv, dk;
  };
  void consume();
  Outputs step(Value step, Ring ring, Value dqPointer, const Outputs &outputs,
               bool first);
  Values scores(Descriptor a, const SharedTile &b, Value stage);
  Values addTransposed(ArrayRef<Value> words, const SharedTile &b, Value stage,
                       ArrayRef<Value> sum, Value accumulate, int firstStep);
  Values dqOf(Value buffer);
  Values columnVector(int64_t offset, Value stage);
  Values maskKeys(ArrayRef<Value> words);
  void storeSlope(ArrayRef<Value> words, Value buffer);
  void addDq(ArrayRef<Value> dq, Value pointer, Value step);
  void finish(const Outputs &outputs);

  PtxBuilder &ptx;
  const BackwardTiles tiles;
  Value mapQ, mapK, mapV, mapDout, mapDk, mapDv, pointerDk, pointerDv, lse,
      delta, dq, counters, queries, keys, parts, scale, plainScale;
  Threads threads;
  Value shared, head, batch, headIndex, keyBlock, firstKey, rotation;
  /// Steps of the head; the first of this block, and how many it goes over.
  Value allSteps, firstStep, steps;
  Value fullK, fullV, fullQ, emptyQ, fullSlope, emptySlope, fullStaging,
      emptyStaging;

  // Of a consumer.
  Value consumer, warp, warpOfBoth, isLane0, base;
  Descriptor ownK, ownV, transposedK;
  Value slopeStore, stagingWarp, stagingLane, wrapStep, wrapBytes;
  Value masks, maskOfRow[2];
};

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_BACKWARDKERNEL_H
