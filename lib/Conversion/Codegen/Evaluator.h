//===- Evaluator.h - values of a kernel's body, on demand -------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All generators pull values through one evaluator: ask for elements of a
/// value of the body, and it builds the code that loads or computes them. So
/// views and element-wise ops fuse everywhere without a word about them in a
/// generator. What a generator computes itself (a contraction, the statistics
/// of a row) it binds first, and likewise an argument that it has brought
/// somewhere itself (a tile in shared memory):
///
///   Evaluator values(cb);
///   values.bindArgument(bias, pointer);
///   values.bind(product, [&](const Index &index) { return pair; });
///   values.bind(residual, [&](const Index &index) { return staged; });
///   Index index;
///   index.at = values.delinearize(leadingShape, row);
///   index.at.push_back(column);
///   index.width = 2;
///   Value elements = values.emit(root, index);
///
/// A source is asked for the index that its value's reader wants: views and
/// broadcasts are already applied to it. It gives f32, or a vector of it.
/// Equal coordinates are the same `Value`s if they come from the same call, so
/// build a row's coordinates once. Code is reused where it dominates by
/// regions: build loops and branches with scf only.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_EVALUATOR_H
#define CKPT_LIB_CONVERSION_CODEGEN_EVALUATOR_H

#include "CodeBuilder.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace ckpt::codegen {

/// `width` neighbours along the last dimension; the first of them is `at`.
struct Index {
  SmallVector<Value> at;
  unsigned width = 1;
  /// The last coordinate is known to be a multiple of `width`.
  bool aligned = true;
};

/// `size` is a constant multiple of `unit`.
bool isMultiple(const rt::Size &size, unsigned unit);
/// The elements of a dense tensor of this shape lie at a multiple of the width.
bool isAligned(ArrayRef<rt::Size> shape, const Index &index);

class Evaluator {
public:
  explicit Evaluator(CodeBuilder &cb) : cb(cb) {}

  using Source = std::function<Value(const Index &)>;

  /// Where an argument of the body lies.
  void bindArgument(Value argument, Value ptr) { pointers[argument] = ptr; }
  /// Who computes a result.
  void bind(Value value, Source source) { sources[value] = std::move(source); }
  void unbind(Value value) { sources.erase(value); }

  /// The elements at `index`, all of which exist: f32 or a vector of it.
  Value emit(Value value, const Index &index);
  /// One element, for all lanes.
  Value emitSplat(Value value, ArrayRef<Value> at, unsigned width);

  /// Reports an op that has no code where it stands; gives some value.
  Value reject(mlir::Operation *op, unsigned width);
  bool failed() const { return hasFailed; }

  /// The extents of a value.
  SmallVector<Value> extentsOf(Value value);
  /// The position in memory of a dense tensor of this shape, an i64. What
  /// `delinearize` took apart is not put together again.
  Value linearize(ArrayRef<rt::Size> shape, ArrayRef<Value> at);
  /// The coordinates of a position, of the index type whatever its own.
  SmallVector<Value> delinearize(ArrayRef<rt::Size> shape, Value position);
  /// The same elements under another shape; nothing where neighbours would not
  /// stay neighbours.
  std::optional<Index> reshape(ArrayRef<rt::Size> from, ArrayRef<rt::Size> to,
                               const Index &index);
  /// `index` of a result as an index of an operand that broadcasts to it.
  Index broadcast(TensorType operand, TensorType result, const Index &index);

private:
  Value compute(Value value, const Index &index);
  Value emitBroadcast(Value operand, Value result, const Index &index);
  /// Element by element.
  Value emitLanes(Value value, const Index &index);
  Value emitElementwise(mlir::Operation *op, const Index &index);
  Value emitView(mlir::Operation *op, const Index &index);
  Value emitConcat(ConcatOp op, const Index &index);
  Value emitPad(PadOp op, const Index &index);
  Value emitRope(RopeOp op, const Index &index);
  Value emitNormalize(NormalizeOp op, const Index &index);

  CodeBuilder &cb;
  llvm::DenseMap<Value, Value> pointers;
  llvm::DenseMap<Value, Source> sources;
  struct Known {
    Value value;
    Index index;
    Value result;
  };
  /// What was built so far; of use where it dominates.
  SmallVector<Known> known;
  struct Position {
    SmallVector<rt::Size> shape;
    SmallVector<Value> at;
    Value position;
  };
  /// What `delinearize` took apart.
  SmallVector<Position> positions;
  bool hasFailed = false;
};

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_EVALUATOR_H
