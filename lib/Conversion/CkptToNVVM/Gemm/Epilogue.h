//===- Epilogue.h - from accumulators to results ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each warp finishes its 16 rows by itself, 64 columns at a time: the
/// element-wise ops run on pairs of neighbours in registers, results go through
/// the warp's own buffers in shared memory (stmatrix, TMA store) and drain
/// under the next tile.
///
/// Full-size operands come through the ring: behind the last k block of a tile
/// the producer sends their tiles as further stages, so that they arrive under
/// the last products and cost no shared memory of their own. The bias is loaded
/// before the main loop, one pair of columns a lane, and handed around by
/// shuffles. What else the ops read (the rows of a gate) is loaded in place.
///
/// Results in f32, narrow ones and the partial sums of split-K are stored
/// straight from registers.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_EPILOGUE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_EPILOGUE_H

#include "../GpuBuilder.h"
#include "Body.h"
#include "Pipeline.h"

namespace ckpt::nvptx::gemm {

class Epilogue {
public:
  /// In a consumer: `warpgroup` counts consumers, `warp` is that within the
  /// warpgroup.
  Epilogue(Pipeline &pipeline, const Problem &problem,
           const Parameters &parameters, Value warpgroup, Value warp,
           Value lane);

  /// Before the main loop of the tile whose first row and column these are.
  void beginTile(Value row, Value column);
  /// After it; `part`: which part of K this is. Gives the ring behind the
  /// operands that came through it.
  Ring finishTile(ArrayRef<Value> accumulators, Ring ring, Value part);
  /// Until the results have left shared memory.
  void leave();
  bool failed() const { return body.failed(); }

private:
  /// Stores that this warp began since it last used the buffer of this chunk.
  int storesSince(int chunk) const;
  void storeStaged(ArrayRef<Value> accumulators, Ring &ring);
  /// Per output, the words of 16 columns of a chunk: two of each row.
  SmallVector<Values> finishWords(ArrayRef<Value> accumulators, int chunk,
                                  int k, ArrayRef<Values> arrived);
  void sendChunk(int chunk, Value buffer);
  void storeDirect(ArrayRef<Value> accumulators);
  void storePartial(ArrayRef<Value> accumulators, Value part);
  /// This lane's pair of the bias for a chunk of 64 columns: two f32 or a word.
  Values loadBias(int chunk);
  /// The thread's pair of 8 columns of the chunk.
  Value biasPair(int chunk, int group);
  bool hasStagedBias() const;

  Pipeline &pipeline;
  PtxBuilder &ptx;
  const TileShape &shape;
  const Problem &problem;
  const Parameters &parameters;
  Value warpgroup, warpOfBlock, lane, isFirstLane;
  Body body;
  WarpChunk warpChunk;
  /// The warp's buffers, and where its rows begin in a tile of an auxiliary.
  Value staging, auxiliaryRows;
  /// Per output, in a kernel of several: somebody asked for it.
  Values wanted;

  // Of the tile at hand.
  Value warpRow, tileColumn;
  /// The thread's two rows, also clamped to those that exist, and its first
  /// column.
  Value rows[2], insideRows[2], column;
  SmallVector<Values> bias;
};

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_EPILOGUE_H
