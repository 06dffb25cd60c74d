//===- Pipeline.h - the ring between producer and consumers -----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A stage is full when its bytes have arrived, and empty again when every
/// consumer warpgroup of every block of the cluster has said so: with
/// multicast, a block's stage is filled by the others too.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_PIPELINE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_PIPELINE_H

#include "TileShape.h"

namespace ckpt::nvptx::gemm {

class Pipeline {
public:
  Pipeline(PtxBuilder &ptx, const TileShape &shape);

  /// By one thread, before the blocks of the cluster meet.
  void init();

  /// Producer: until all have released the stage.
  void waitEmpty(const Ring &ring);
  /// The same, and announces `bytes`.
  void acquire(const Ring &ring, int64_t bytes);
  /// Consumer: sets up releases for thread `thread` of its warpgroup.
  void enterConsumer(Value thread);
  void waitFull(const Ring &ring);
  /// Called by all threads of the warpgroup when none reads the stage any more.
  void release(Value stage);

  Value fullBarrier(Value stage);
  /// The first byte of a stage.
  Value stageBase(Value stage);
  Ring next(const Ring &ring) { return ring.next(ptx, shape.stages); }

  PtxBuilder &ptx;
  const TileShape &shape;
  /// The block's shared memory.
  Value shared;

private:
  Value emptyBarrier(Value stage);

  Value full, empty;
  /// Consumers: whether this thread reports releases, and to which block.
  Value reports, remoteEmpty;
};

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_PIPELINE_H
