//===- Parts.cpp - the parts of a sum over rows ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Block y is a part. Where columns stay, a thread has one vector of them and
// goes down the part's rows, some at a time; block x counts kept rows times the
// blocks of a row. Where they are summed too, block x is a kept row, and the
// threads go along the columns of one row after the other.
//
//===----------------------------------------------------------------------===//

#include "RowWise.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::rowwise;

namespace {

/// The code of one function.
class PartsCode {
public:
  PartsCode(RowFunction &f, const Sum &sum, unsigned width)
      : f(f), cb(f.cb), sum(sum), shape(tensorOf(sum.x).getShape()),
        width(width), thread(cb.ptx().threadX()), part(cb.ptx().blockY()) {
    for (unsigned dim : sum.summed)
      summedShape.push_back(shape[dim]);
    for (unsigned dim : sum.kept)
      keptShape.push_back(shape[dim]);
    begin = cb.mul(part, f.rowsPerPart);
    end = cb.min(cb.add(begin, f.rowsPerPart), cb.size(sum.summedRows));
    vectors = width == 1 ? cb.size(shape.back())
                         : cb.index(*shape.back().asConstant() / width);
  }

  void sumColumns();
  int sumAll();

  Value vectors;

private:
  /// A vector of x.
  Index at(ArrayRef<Value> keptAt, Value summedRow, Value vector) {
    SmallVector<Value> summedAt = f.values.delinearize(summedShape, summedRow);
    Index index;
    index.at.resize(shape.size());
    for (auto [dim, at] : llvm::zip(sum.summed, summedAt))
      index.at[dim] = at;
    for (auto [dim, at] : llvm::zip(sum.kept, keptAt))
      index.at[dim] = at;
    index.at.back() = cb.mul(vector, cb.index(width));
    index.width = width;
    return index;
  }
  /// Of this part's sum, from element `offset` on.
  void store(Value value, Value offset) {
    Value first =
        cb.mul(cb.offset(part), cb.offset(cb.size(sum.resultElements())));
    cb.store(value, f.parts, cb.add(first, offset), cb.b.getF32Type(),
             /*aligned=*/true);
  }

  RowFunction &f;
  GpuBuilder &cb;
  const Sum &sum;
  SmallVector<rt::Size> shape, summedShape, keptShape;
  unsigned width;
  Value thread, part, begin, end;
};

} // namespace

void PartsCode::sumColumns() {
  constexpr int64_t step = 8;
  Value columnBlocks = cb.div(cb.add(vectors, cb.index(f.task.threads - 1)),
                              cb.index(f.task.threads));
  Value keptRow = cb.div(cb.ptx().blockX(), columnBlocks);
  Value block = cb.rem(cb.ptx().blockX(), columnBlocks);
  SmallVector<Value> keptAt = f.values.delinearize(keptShape, keptRow);
  Value vector = cb.add(cb.mul(block, cb.index(f.task.threads)), thread);
  cb.ifThen(cb.less(vector, vectors), [&] {
    Value total = cb.loop(
        begin, end, step, {cb.f32(0, width)},
        [&](Value first, ValueRange carried) -> SmallVector<Value> {
          Value total = carried[0], last = cb.sub(end, cb.index(1));
          SmallVector<Value> terms, valid;
          for (int64_t i = 0; i < step; ++i) {
            Value row = cb.add(first, cb.index(i));
            valid.push_back(cb.less(row, end));
            terms.push_back(
                f.values.emit(sum.x, at(keptAt, cb.min(row, last), vector)));
          }
          for (auto [term, exists] : llvm::zip(terms, valid))
            total =
                cb.fadd(total, arith::SelectOp::create(cb.b, cb.loc, exists,
                                                       term, cb.f32(0, width)));
          return {total};
        })[0];
    Value column = cb.offset(cb.mul(vector, cb.index(width)));
    store(total,
          cb.add(cb.mul(cb.offset(keptRow), cb.offset(cb.size(shape.back()))),
                 column));
  });
}

int PartsCode::sumAll() {
  Value keptRow = cb.ptx().blockX();
  SmallVector<Value> keptAt = f.values.delinearize(keptShape, keptRow);
  Value total = cb.loop(
      begin, end, 1, {cb.f32(0, width)},
      [&](Value row, ValueRange carried) -> SmallVector<Value> {
        return cb.loop(
            thread, vectors, f.task.threads, SmallVector<Value>(carried),
            [&](Value vector, ValueRange carried) -> SmallVector<Value> {
              return {cb.fadd(carried[0],
                              f.values.emit(sum.x, at(keptAt, row, vector)))};
            });
      })[0];
  int sharedFloats = 0;
  total = sumOverThreads(cb, thread, f.task.threads, {cb.sumLanes(total)},
                         sharedFloats)[0];
  cb.ifThen(cb.less(thread, cb.index(1)),
            [&] { store(total, cb.offset(keptRow)); });
  return sharedFloats * 4;
}

LogicalResult rowwise::generateParts(const Task &from, Code &code) {
  Task task = from;
  const Sum &sum = *task.parts;
  SmallVector<rt::Size> shape = tensorOf(sum.x).getShape();
  unsigned width = vectorWidth(shape, valuesOf(task, Signature(task)));
  task.threads = sum.sumsColumns ? 256 : 128;
  RowFunction f(task);
  PartsCode parts(f, sum, width);
  if (sum.sumsColumns) {
    int sharedBytes = parts.sumAll();
    return f.finish(code, sum.keptRows, sum.parts, sharedBytes);
  }
  parts.sumColumns();
  rt::Formula vectors =
      width == 1 ? rt::Formula(shape.back())
                 : rt::Formula(*shape.back().asConstant() / int64_t(width));
  return f.finish(code,
                  rt::Formula::ceilDiv(vectors, task.threads) *
                      rt::Formula(sum.keptRows),
                  sum.parts);
}
