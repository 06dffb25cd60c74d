//===- Tiles.h - tiles in shared memory, fragments in registers -*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The middle layer. A tile of 16-bit elements lies in shared memory as TMA
/// writes it: chunks of 64 elements (128 bytes) along the fast dimension, one
/// after the other, each with its rows 128 bytes apart and 16-byte pieces
/// permuted by the row (piece ^ (row & 7)), in units of 8 rows = 1024 bytes.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_TILES_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_TILES_H

#include "PtxBuilder.h"

namespace ckpt::nvptx {

/// How an operand lies in memory: its fast dimension is K, or M (A) or N (B).
enum class Major { K, MN };

/// `rows` x `columns` elements, `columns` the fast dimension and a multiple of
/// 64, `rows` a multiple of 8.
struct SharedTile {
  /// Bytes from the start of shared memory, a multiple of 1024.
  int64_t offset = 0;
  int rows = 0, columns = 0;

  int64_t chunkBytes() const { return int64_t(rows) * 128; }
  int chunks() const { return columns / 64; }
  int64_t bytes() const { return chunkBytes() * chunks(); }

  /// As an operand whose K runs along the columns (Major::K). `base` is the
  /// word of the tile's first byte: (address >> 4) & 0x3FFF, without `offset`.
  Descriptor kMajor(Value base) const { return make(base, 16); }
  /// Bytes from one k16 step to the next.
  int64_t kMajorStep(int step) const {
    return (step / 4) * chunkBytes() + (step % 4) * 32;
  }
  /// As an operand whose K runs along the rows (Major::MN), chunks of 64 along
  /// M or N: use with the transpose flag.
  Descriptor mnMajor(Value base) const { return make(base, chunkBytes()); }
  int64_t mnMajorStep(int step) const { return int64_t(step) * 2048; }

private:
  Descriptor make(Value base, int64_t leadingBytes) const {
    // Stride 1024 bytes between units of 8 rows, 128-byte swizzle.
    return {base, (offset >> 4) | ((leadingBytes >> 4) << 16), (1 << 30) | 64};
  }
};

/// The low word that descriptors start from.
Value descriptorBase(PtxBuilder &ptx, Value shared);

/// Stage and parity of a ring of `stages` buffers.
struct Ring {
  Value stage, parity;
  Ring next(PtxBuilder &ptx, int stages) const;
};

/// A 64 x n accumulator of a warpgroup. Thread t holds, for column group g =
/// n / 8, the elements (row, 8 g + 2 (t % 4) + {0, 1}) as values 4 g + {0, 1}
/// and those 8 rows below as values 4 g + {2, 3}; row = 16 (warp % 4) + t % 32
/// / 4.
///
/// As the A operand of the next product: words 4 s .. 4 s + 3 of k16 step s.
Values packFragment(PtxBuilder &ptx, ArrayRef<Value> accumulators, Half type);
/// Which of a thread's two rows an accumulator belongs to.
inline int rowOf(unsigned index) { return (index / 2) % 2; }

/// Addresses for a warp's 16 rows of one chunk of 64 columns in a tile that
/// starts at `warpRows` (16 rows of 128 bytes): `words` k = 0..3 are the packed
/// columns 16 k .. 16 k + 15.
class WarpChunk {
public:
  WarpChunk(PtxBuilder &ptx, Value lane);
  /// Stores columns 16 k.. of a fragment: 4 words.
  void store(Value warpRows, int k, ArrayRef<Value> words) const;
  /// Loads them back (or what TMA brought): the words of the same elements.
  Values load(Value warpRows, int k) const;

private:
  PtxBuilder &ptx;
  SmallVector<Value> offsets;
};

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_TILES_H
