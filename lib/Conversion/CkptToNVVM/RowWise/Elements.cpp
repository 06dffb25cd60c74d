//===- Elements.cpp - element-wise results --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// A block covers `rows` x `columns` vectors, `unroll` per thread. Block x
// counts groups of rows, block y the parts of a row, so that no position but
// that of an element in memory needs 64 bits. Threads and columns divide one
// another where that can be, so that a thread's vectors share a column or a
// row.
//
//===----------------------------------------------------------------------===//

#include "RowWise.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::rowwise;

namespace {

struct ElementTile {
  /// `vectors`: of a row. `isSmall`: there is more to do for a vector than
  /// there are vectors, so they are spread over as many blocks as can be.
  ElementTile(int64_t vectors, bool isSmall);

  int threads = 256, unroll = 4;
  int64_t rows = 1, columns = 1;
  /// Blocks that a row takes.
  int64_t columnBlocks = 1;
};

} // namespace

ElementTile::ElementTile(int64_t vectors, bool isSmall) {
  const int64_t most = isSmall ? 64 : 1536;
  columnBlocks = (vectors + most - 1) / most;
  columns = (vectors + columnBlocks - 1) / columnBlocks;
  if (isSmall) {
    threads = most;
    unroll = 1;
    rows = threads / columns;
    return;
  }
  // The nearest to 256 threads that divide the columns or are divided.
  auto fits = [&](int64_t count) {
    return count % columns == 0 ||
           (columns % count == 0 && columns / count <= 8);
  };
  for (int distance = 0; distance <= 256; distance += 32) {
    for (int count : {256 + distance, 256 - distance})
      if (count >= 96 && count <= 512 && fits(count)) {
        threads = count;
        unroll = columns > count ? columns / count : 4;
        if (unroll < 3)
          unroll *= 2;
        rows = int64_t(threads) * unroll / columns;
        return;
      }
  }
  // As many rows, or steps along a row, as leave few threads idle.
  if (columns > threads) {
    unroll = (columns + threads - 1) / threads;
    return;
  }
  rows = threads * unroll / columns;
}

/// A thread's vectors, and whether each exists (none: all do).
static SmallVector<Index> indicesOf(RowFunction &f, const ElementTile &tile,
                                    ArrayRef<rt::Size> shape, int64_t vectors,
                                    unsigned width, SmallVector<Value> &valid) {
  GpuBuilder &cb = f.cb;
  Value thread = cb.ptx().threadX();
  Value firstRow = cb.mul(cb.ptx().blockX(), cb.index(tile.rows));
  Value firstColumn = tile.columnBlocks == 1
                          ? cb.index(0)
                          : cb.mul(cb.ptx().blockY(), cb.index(tile.columns));
  Value rowCount = cb.size(rowsOf(shape));
  Value lastRow = cb.sub(rowCount, cb.index(1));
  Value columns = cb.index(tile.columns);
  bool exact = tile.rows * tile.columns == int64_t(tile.threads) * tile.unroll;
  bool checksColumn =
      tile.columns * tile.columnBlocks != vectors || (tile.rows == 1 && !exact);

  SmallVector<Index> indices;
  Value row, column;
  int64_t knownRow = -1;
  SmallVector<Value> rowAt;
  for (int u = 0; u < tile.unroll; ++u) {
    // Which row of the block, and which column of it.
    int64_t constantRow = -1;
    if (tile.rows == 1) {
      row = cb.index(0);
      constantRow = 0;
      column = cb.add(thread, cb.index(int64_t(u) * tile.threads));
    } else if (tile.threads % tile.columns == 0) {
      if (!column)
        column = cb.rem(thread, columns);
      row = cb.add(cb.div(thread, columns),
                   cb.index(u * (tile.threads / tile.columns)));
    } else if (tile.columns % tile.threads == 0) {
      int64_t steps = tile.columns / tile.threads;
      constantRow = u / steps;
      row = cb.index(constantRow);
      column = cb.add(thread, cb.index(u % steps * tile.threads));
    } else {
      Value vector = cb.add(thread, cb.index(int64_t(u) * tile.threads));
      row = cb.div(vector, columns);
      column = cb.rem(vector, columns);
    }
    Value exists;
    auto require = [&](Value condition) {
      exists = exists ? arith::AndIOp::create(cb.b, cb.loc, exists, condition)
                      : condition;
    };
    if (!exact && tile.rows > 1)
      require(cb.less(row, cb.index(tile.rows)));
    if (constantRow < 0 || constantRow != knownRow) {
      Value at = cb.add(firstRow, row);
      if (tile.rows > 1)
        at = cb.min(at, lastRow);
      rowAt = f.values.delinearize(shape.drop_back(), at);
      knownRow = constantRow;
    }
    if (tile.rows > 1)
      require(cb.less(cb.add(firstRow, row), rowCount));
    Value vector = cb.add(firstColumn, column);
    if (checksColumn) {
      require(cb.less(column, columns));
      require(cb.less(vector, cb.index(vectors)));
      vector = cb.min(vector, cb.index(vectors - 1));
    }
    Index index;
    index.at = rowAt;
    index.at.push_back(cb.mul(vector, cb.index(width)));
    index.width = width;
    indices.push_back(std::move(index));
    if (exists)
      valid.push_back(exists);
  }
  return indices;
}

/// Rows of a length that is known at run time alone.
static LogicalResult generateLongRows(const Task &from,
                                      ArrayRef<rt::Size> shape, Code &code) {
  Task task = from;
  task.threads = 256;
  RowFunction f(task);
  GpuBuilder &cb = f.cb;
  SmallVector<Value> row =
      f.values.delinearize(shape.drop_back(), cb.ptx().blockX());
  cb.loop(cb.ptx().threadX(), cb.size(shape.back()), task.threads,
          [&](Value column) {
            Index index;
            index.at = row;
            index.at.push_back(column);
            f.results.write(task.group, index);
          });
  return f.finish(code, rowsOf(shape), 1);
}

LogicalResult rowwise::generateElements(const Task &from, Code &code) {
  SmallVector<rt::Size> shape = tensorOf(from.group.front()->root).getShape();
  std::optional<int64_t> extent = shape.back().asConstant();
  if (!extent)
    return generateLongRows(from, shape, code);
  Task task = from;
  Signature signature(task);
  unsigned width = vectorWidth(shape, valuesOf(task, signature));
  int64_t vectors = *extent / width;
  std::optional<int64_t> rows = rowsOf(shape).asConstant();
  bool isSmall =
      !signature.sumsRead.empty() || (rows && *rows * vectors < 1 << 16);
  ElementTile tile(vectors, isSmall);
  task.threads = tile.threads;
  RowFunction f(task);
  SmallVector<Value> valid;
  SmallVector<Index> indices = indicesOf(f, tile, shape, vectors, width, valid);
  f.results.write(task.group, indices, valid);
  return f.finish(code, rt::Formula::ceilDiv(rowsOf(shape), tile.rows),
                  tile.columnBlocks);
}
