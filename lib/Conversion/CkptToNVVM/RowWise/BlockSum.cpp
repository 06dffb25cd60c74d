//===- BlockSum.cpp - sums over the threads of a block --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "RowWise.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::rowwise;

SmallVector<Value> rowwise::sumOverThreads(GpuBuilder &cb, Value thread,
                                           int threads, ArrayRef<Value> sums,
                                           int &sharedFloats) {
  PtxBuilder ptx = cb.ptx();
  SmallVector<Value> shared(sums);
  for (Value &sum : shared)
    for (int mask = 16; mask; mask /= 2)
      sum = ptx.fadd(sum, ptx.shuffleXor(sum, mask));
  int warps = threads / 32;
  if (warps == 1)
    return shared;
  // Every warp writes its own words, then all threads add all of them up.
  Value place = ptx.at(ptx.sharedMemory(), int64_t(sharedFloats) * 4);
  sharedFloats += warps * int(sums.size());
  Value lane = ptx.bitAnd(thread, 31);
  Value ofWarp = ptx.at(place, ptx.mul(ptx.shiftRight(thread, 5), 4));
  cb.ifThen(ptx.equal(lane, 0), [&] {
    PtxBuilder inside = cb.ptx();
    for (auto [i, sum] : llvm::enumerate(shared))
      inside.store(sum, inside.at(ofWarp, int64_t(i) * warps * 4));
  });
  ptx = cb.ptx();
  ptx.syncBlock();
  for (auto [i, sum] : llvm::enumerate(shared)) {
    sum = Value();
    for (int warp = 0; warp < warps; ++warp) {
      Value word =
          ptx.load(ptx.at(place, (int64_t(i) * warps + warp) * 4), ptx.f32());
      sum = sum ? ptx.fadd(sum, word) : word;
    }
  }
  return shared;
}
