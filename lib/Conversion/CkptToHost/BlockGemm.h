//===- BlockGemm.h - products of packed blocks ------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// C += A B on f32 blocks that lie packed in the workspace and fit the caches.
/// Contractions and attention are made of it.
///
///   A   any two strides; read an element at a time
///   B   panels of 16 columns: element (k, n) at (n / 16) stride + 16 k + n %
///   16 C   row-major
///
/// A tile of 6 x 16 stays in registers (12 of the 16). Rows of A and C must
/// exist up to the next multiple of 6, columns of B and C up to the next
/// multiple of 16; what stands there is of no consequence.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_BLOCKGEMM_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_BLOCKGEMM_H

#include "HostBuilder.h"

#include <functional>

namespace ckpt::host {

constexpr int64_t tileRows = 6, panelColumns = 16;

/// Elements of a block's source: first which row, then `width` neighbours from
/// a column on. Columns are asked for at multiples of `width`.
using RowSource =
    std::function<std::function<Value(Value column, unsigned width)>(Value)>;

/// To `out`, element (row, column) at row * stride + column.
void packRows(HostBuilder &hb, const RowSource &source, Value rows,
              Value columns, Value out, int64_t stride);
/// To `out` as B with k = row, n = column.
void packPanels(HostBuilder &hb, const RowSource &source, Value rows,
                Value columns, Value out, int64_t panelStride);
/// To `out` as B with k = column, n = row.
void packPanelsTransposed(HostBuilder &hb, const RowSource &source, Value rows,
                          Value columns, Value out, int64_t panelStride);

/// `rows` x `columns` zeros, the columns rounded up to whole panels.
void zeroBlock(HostBuilder &hb, Value out, Value rows, Value columns,
               int64_t stride);

struct BlockGemm {
  Value a;
  int64_t aRow, aColumn;
  Value b;
  int64_t panelStride;
  Value c;
  int64_t cRow;
  Value m, n, k;
};
/// A call of a function that is made once per module.
void emitBlockGemm(HostBuilder &hb, const BlockGemm &gemm);

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_BLOCKGEMM_H
