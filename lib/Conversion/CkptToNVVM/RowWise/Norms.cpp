//===- Norms.cpp - norms and their gradients ------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// A row belongs to a warp if that is enough, else to a block. It is read once
// and stays in registers, and so do the other tensors of its shape that are
// needed after the norm: all loads are on their way before the first sum. Sums
// go through the lanes of a warp by shuffles and from warp to warp through
// shared memory, each in a place of its own, so that one barrier is enough.
// Rows that are too long for registers, or of a length that is known at run
// time alone, are read again for each sum.
//
//===----------------------------------------------------------------------===//

#include "../../Codegen/RowNorms.h"
#include "RowWise.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::rowwise;

namespace {

struct NormTile {
  /// `vectors` of a row, of `width` elements; `streams`: tensors of which a row
  /// stays in registers.
  NormTile(int64_t vectors, unsigned width, int streams);

  /// That share a row, and their vectors at a time.
  int threads = 512, unroll = 2;
  /// In a block.
  int rows = 1;
  bool inRegisters = false;
};

} // namespace

NormTile::NormTile(int64_t vectors, unsigned width, int streams) {
  auto threadsFor = [&](int64_t unroll) -> int64_t {
    return (vectors + unroll * 32 - 1) / (unroll * 32) * 32;
  };
  // 48 f32 a thread leave room for many threads; with twice as many, 512 still
  // fit.
  int64_t few = std::clamp<int64_t>(48 / (streams * width), 1, 12);
  inRegisters = true;
  if (threadsFor(few) == 32) {
    threads = 32;
    rows = 4;
    unroll = (vectors + 31) / 32;
    return;
  }
  // Few barriers, but enough threads; none idle, if that can be.
  int64_t best = -1;
  for (int64_t count = 1; count <= few; ++count) {
    int64_t candidate = threadsFor(count);
    if (candidate > 512 || (candidate < 96 && best > 0))
      continue;
    if (best < 0 ||
        candidate * count - vectors <= threadsFor(best) * best - vectors)
      best = count;
  }
  for (int64_t count = few + 1; best < 0 && count <= 2 * few; ++count)
    if (threadsFor(count) <= 512)
      best = count;
  if (best < 0) {
    inRegisters = false;
    return;
  }
  unroll = best;
  threads = threadsFor(best);
}

namespace {

/// The row of a block or of a warp.
class Row final : public codegen::RowNorms {
public:
  Row(RowFunction &f, const NormTile &tile, ArrayRef<Value> row, Value thread,
      const rt::Size &extent, unsigned width);

  /// Reads the row's part of `value` ahead.
  void prefetch(Value value);
  void write(ArrayRef<const Sink *> group);

  int sharedBytes() const { return sharedFloats * 4; }

private:
  SmallVector<Value> means(unsigned number, Terms terms) override;
  void once(llvm::function_ref<void()> body) override {
    f.cb.ifThen(f.cb.less(thread, f.cb.index(1)), body);
  }
  /// This thread's vectors from `first` on, and whether each exists (null:
  /// it does).
  void vectorsFrom(Value first, SmallVector<Index> &indices,
                   SmallVector<Value> &valid);
  SmallVector<Value> addTerms(ArrayRef<Index> indices, ArrayRef<Value> valid,
                              ArrayRef<Value> sums, Terms terms);

  RowFunction &f;
  const NormTile &tile;
  Value thread;
  rt::Size extent;
  unsigned width;
  /// Vectors of a row.
  Value vectors;
  std::optional<int64_t> constantVectors;
  SmallVector<Index> indices;
  SmallVector<Value> valid;
  int sharedFloats = 0;
};

} // namespace

Row::Row(RowFunction &f, const NormTile &tile, ArrayRef<Value> row,
         Value thread, const rt::Size &extent, unsigned width)
    : RowNorms(f.cb, f.results, row), f(f), tile(tile), thread(thread),
      extent(extent), width(width) {
  if (std::optional<int64_t> constant = extent.asConstant())
    constantVectors = *constant / width;
  vectors = constantVectors ? f.cb.index(*constantVectors) : f.cb.size(extent);
  if (tile.inRegisters)
    vectorsFrom(Value(), indices, valid);
}

void Row::vectorsFrom(Value first, SmallVector<Index> &indices,
                      SmallVector<Value> &valid) {
  GpuBuilder &cb = f.cb;
  int64_t step = int64_t(tile.threads) * tile.unroll;
  for (int u = 0; u < tile.unroll; ++u) {
    int64_t begin = int64_t(u) * tile.threads, end = begin + tile.threads;
    Value vector = cb.add(thread, cb.index(begin));
    if (first)
      vector = cb.add(first, vector);
    bool allExist = constantVectors && (first ? *constantVectors % step == 0
                                              : end <= *constantVectors);
    Value exists;
    if (!allExist) {
      exists = cb.less(vector, vectors);
      vector = cb.min(vector, cb.sub(vectors, cb.index(1)));
    }
    indices.push_back(at(cb.mul(vector, cb.index(width)), width));
    valid.push_back(exists);
  }
}

SmallVector<Value> Row::addTerms(ArrayRef<Index> indices, ArrayRef<Value> valid,
                                 ArrayRef<Value> sums, Terms terms) {
  GpuBuilder &cb = f.cb;
  SmallVector<Value> result(sums);
  for (auto [index, exists] : llvm::zip(indices, valid)) {
    for (auto [sum, term] : llvm::zip_equal(result, terms(index))) {
      Value value = term;
      if (exists)
        value = arith::SelectOp::create(cb.b, cb.loc, exists, value,
                                        cb.f32(0, width));
      sum = sum ? cb.fadd(sum, value) : value;
    }
  }
  return result;
}

SmallVector<Value> Row::means(unsigned number, Terms terms) {
  GpuBuilder &cb = f.cb;
  SmallVector<Value> sums(number);
  if (tile.inRegisters) {
    sums = addTerms(indices, valid, sums, terms);
  } else {
    sums.assign(number, cb.f32(0, width));
    sums = cb.loop(cb.index(0), vectors, int64_t(tile.threads) * tile.unroll,
                   sums, [&](Value first, ValueRange carried) {
                     SmallVector<Index> indices;
                     SmallVector<Value> valid;
                     vectorsFrom(first, indices, valid);
                     return addTerms(indices, valid,
                                     SmallVector<Value>(carried), terms);
                   });
  }
  for (Value &sum : sums)
    sum = cb.sumLanes(sum);
  sums = sumOverThreads(cb, thread, tile.threads, sums, sharedFloats);
  Value share;
  if (std::optional<int64_t> constant = extent.asConstant())
    share = cb.f32(1.0 / double(*constant));
  else
    share = cb.fdiv(cb.f32(1), cb.b.createOrFold<arith::SIToFPOp>(
                                   cb.loc, cb.b.getF32Type(), cb.size(extent)));
  for (Value &sum : sums)
    sum = cb.fmul(sum, share);
  return sums;
}

void Row::prefetch(Value value) {
  for (const Index &index : indices)
    values.emit(value, index);
}

void Row::write(ArrayRef<const Sink *> group) {
  GpuBuilder &cb = f.cb;
  auto writeVectors = [&](ArrayRef<Index> indices, ArrayRef<Value> valid) {
    // Positions that exist need no test.
    SmallVector<Index> sure, other;
    SmallVector<Value> conditions;
    for (auto [index, exists] : llvm::zip(indices, valid)) {
      (exists ? other : sure).push_back(index);
      if (exists)
        conditions.push_back(exists);
    }
    if (conditions.empty() || sure.empty())
      return results.write(group, indices, conditions);
    Value always =
        arith::ConstantOp::create(cb.b, cb.loc, cb.b.getBoolAttr(true));
    SmallVector<Value> all(sure.size(), always);
    all.append(conditions);
    sure.append(other);
    results.write(group, sure, all);
  };
  if (tile.inRegisters)
    return writeVectors(indices, valid);
  cb.loop(cb.index(0), vectors, int64_t(tile.threads) * tile.unroll,
          [&](Value first) {
            SmallVector<Index> indices;
            SmallVector<Value> valid;
            vectorsFrom(first, indices, valid);
            writeVectors(indices, valid);
          });
}

/// Values of the norms' shape that are needed after a norm, but do not depend
/// on one.
static SmallVector<Value> valuesBeside(const Signature &signature,
                                       ArrayRef<Operation *> norms,
                                       ArrayRef<StringAttr> dims) {
  llvm::DenseSet<Value> after;
  llvm::SetVector<Value> beside;
  for (Operation *op : signature.ops) {
    bool isAfter = llvm::is_contained(norms, op);
    for (Value operand : op->getOperands())
      isAfter |= after.contains(operand);
    if (!isAfter)
      continue;
    after.insert(op->result_begin(), op->result_end());
    for (Value operand : op->getOperands())
      if (!after.contains(operand) && tensorOf(operand).getDims() == dims)
        beside.insert(operand);
  }
  return beside.takeVector();
}

LogicalResult rowwise::generateNorms(const Task &from,
                                     ArrayRef<Operation *> norms, Code &code) {
  Task task = from;
  auto type = tensorOf(norms.front()->getResult(0));
  SmallVector<rt::Size> shape = type.getShape();
  Signature signature(task);
  std::optional<int64_t> extent = shape.back().asConstant();
  unsigned width = vectorWidth(shape, valuesOf(task, signature));
  // Few lanes of a warp for a short row are worse than short vectors.
  while (extent && width > 2 && *extent / width < 32 && *extent >= 64)
    width /= 2;
  SmallVector<Value> beside = valuesBeside(signature, norms, type.getDims());
  NormTile tile(extent ? *extent / width : INT64_MAX / 4096, width,
                std::max<int>(beside.size(), 1));
  task.threads = tile.threads * tile.rows;

  RowFunction f(task);
  GpuBuilder &cb = f.cb;
  rt::Size rows = rowsOf(shape);
  Value thread = cb.ptx().threadX(), row = cb.ptx().blockX();
  // Statistics are written with their norm.
  SmallVector<const Sink *> elements;
  for (const Sink *sink : task.group)
    if (!isStats(sink->root))
      elements.push_back(sink);
  int sharedBytes = 0;
  auto emitRow = [&] {
    SmallVector<Value> at =
        f.values.delinearize(ArrayRef(shape).drop_back(), row);
    Row code(f, tile, at, thread, shape.back(), width);
    for (Value value : beside)
      code.prefetch(value);
    for (Operation *norm : norms)
      code.emit(norm);
    if (!elements.empty())
      code.write(elements);
    sharedBytes = code.sharedBytes();
  };
  if (tile.rows == 1) {
    emitRow();
  } else {
    Value warp = cb.ptx().shiftRight(thread, 5);
    thread = cb.ptx().bitAnd(thread, 31);
    row = cb.add(cb.mul(row, cb.index(tile.rows)), warp);
    cb.ifThen(cb.less(row, cb.size(rows)), emitRow);
  }
  return f.finish(code, rt::Formula::ceilDiv(rows, tile.rows), 1, sharedBytes);
}
