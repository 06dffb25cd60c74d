//===- Tiles.cpp - tiles in shared memory, fragments in registers ---------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Tiles.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

Value ckpt::nvptx::descriptorBase(PtxBuilder &ptx, Value shared) {
  return ptx.bitAnd(ptx.shiftRight(ptx.sharedAddress(shared), 4), 0x3FFF);
}

Ring Ring::next(PtxBuilder &ptx, int stages) const {
  Value following = ptx.add(stage, 1);
  Value wraps = ptx.equal(following, stages);
  return {ptx.select(wraps, ptx.constant(0), following),
          ptx.select(wraps, ptx.bitXor(parity, 1), parity)};
}

Values ckpt::nvptx::packFragment(PtxBuilder &ptx, ArrayRef<Value> accumulators,
                                 Half type) {
  Values words;
  for (unsigned i = 0; i + 1 < accumulators.size(); i += 2)
    words.push_back(ptx.pack(accumulators[i + 1], accumulators[i], type));
  return words;
}

WarpChunk::WarpChunk(PtxBuilder &ptx, Value lane) : ptx(ptx) {
  // Lane l gives the address of row l % 16, 16-byte piece 2 k + l / 16.
  Value row = ptx.mul(ptx.bitAnd(lane, 15), 128);
  Value piece =
      ptx.mul(ptx.bitXor(ptx.shiftRight(lane, 4), ptx.bitAnd(lane, 7)), 16);
  for (int k = 0; k < 4; ++k)
    offsets.push_back(ptx.add(row, ptx.bitXor(piece, k << 5)));
}

void WarpChunk::store(Value warpRows, int k, ArrayRef<Value> words) const {
  ptx.storeMatrix(ptx.at(warpRows, offsets[k]), words, /*transposed=*/false);
}

Values WarpChunk::load(Value warpRows, int k) const {
  return ptx.loadMatrix(ptx.at(warpRows, offsets[k]));
}
