//===- TileShape.h - one way to cut a product into tiles --------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared memory of a block, in bytes:
///
///   stages x (A: bm x 64, B: 64 x bn)     ring of k blocks, 128-byte swizzle
///   warps x buffers x outputs x 2048      results, 16 rows x 64 columns each
///   stages x 2 x 8                        mbarriers: full, empty
///
/// 128x256 with one 16-bit result: 4 x 48 KB + 8 x 2 x 2 KB = 224 KB of 227;
/// with two results three stages, and twice the buffers.
///
/// Registers of a consumer thread: bn / 2 accumulators (128 of 232 at bn =
/// 256), about 40 for addresses and the epilogue.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_TILESHAPE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_TILESHAPE_H

#include "../Tiles.h"
#include "ckpt/Dialect/Ckpt/IR/LowRank.h"

namespace ckpt::nvptx::gemm {

/// Elements of K in a stage.
constexpr int blockK = 64;
static_assert(blockK == lowRankDepth, "a product of low rank is one block");
/// Dynamic shared memory that a block of sm_90 can have.
constexpr int64_t sharedLimit = 227 * 1024;

struct TileShape {
  /// Warpgroups that multiply, 64 rows each.
  int consumers = 2;
  int bn = 256;
  /// Blocks along M that share each tile of B by multicast.
  int cluster = 2;
  Major aMajor = Major::K, bMajor = Major::K;
  Half type = Half::BF16;
  /// 16-bit results that leave through shared memory.
  int staged = 1;
  /// Operands of the epilogue that arrive through the ring.
  int auxiliaries = 0;
  /// Blocks take a part of K each and write sums in f32.
  bool splitK = false;

  // `finish` fills these in.
  int stages = 0;
  /// Buffers of each warp for each staged result.
  int buffers = 2;

  void finish();

  int bm() const { return 64 * consumers; }
  int warps() const { return 4 * consumers; }
  int threads() const { return 128 * (consumers + 1); }

  /// A's and B's part of a stage.
  SharedTile aTile() const {
    if (aMajor == Major::K)
      return {0, bm(), blockK};
    return {0, blockK, bm()};
  }
  SharedTile bTile() const {
    int64_t offset = aTile().bytes();
    if (bMajor == Major::K)
      return {offset, bn, blockK};
    // Chunks are 64 wide, also where fewer columns are used.
    return {offset, blockK, (bn + 63) / 64 * 64};
  }
  int64_t stageBytes() const { return aTile().bytes() + bTile().bytes(); }

  /// Operands of the epilogue: tiles of bm rows and 64 columns.
  int64_t auxiliaryBytes() const { return int64_t(bm()) * 128; }
  int auxiliariesPerStage() const { return stageBytes() / auxiliaryBytes(); }
  int chunks() const { return (bn + 63) / 64; }

  int64_t bufferBytes() const { return int64_t(staged) * 2048; }
  int64_t stagingOffset() const { return stages * stageBytes(); }
  int64_t stagingBytes() const {
    return int64_t(warps()) * buffers * bufferBytes();
  }
  int64_t fullBarriers() const { return stagingOffset() + stagingBytes(); }
  int64_t emptyBarriers() const { return fullBarriers() + 8 * stages; }
  int64_t sharedBytes() const { return emptyBarriers() + 8 * stages; }

  /// `128x256 cluster 2`.
  std::string name() const;
};

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_TILESHAPE_H
