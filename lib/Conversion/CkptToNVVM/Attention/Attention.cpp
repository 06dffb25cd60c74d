//===- Attention.cpp - what both directions of attention share ------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include <cmath>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

FailureOr<AttentionProblem> AttentionProblem::of(KernelOp kernel, Operation *op,
                                                 Value q, Value k,
                                                 std::optional<APFloat> scale) {
  auto type = cast<ckpt::TensorType>(q.getType());
  AttentionProblem problem;
  problem.kernel = kernel;
  problem.op = op;
  problem.batch = type.getDim(0);
  problem.queries = type.getDim(1);
  problem.heads = type.getDim(2);
  problem.keys = cast<ckpt::TensorType>(k.getType()).getDim(1);
  std::optional<int64_t> head = type.getDim(3).asConstant();
  if (head != 64 && head != 128)
    return op->emitOpError("expected a head size of 64 or 128 for nvptx, "
                           "found ")
           << type.getDim(3).str();
  problem.head = *head;
  Type element = type.getElementType();
  if (!element.isBF16() && !element.isF16())
    return op->emitOpError("expected bf16 or f16 operands for nvptx, found ")
           << element;
  problem.type = halfOf(element);
  problem.scale =
      scale ? scale->convertToDouble() : 1 / std::sqrt(double(*head));
  if (problem.scale <= 0)
    return op->emitOpError("expected a positive scale for nvptx, found ")
           << problem.scale;
  return problem;
}

std::string AttentionProblem::symbol(StringRef base) const {
  return (base + "_d" + Twine(head) + "_" + rt::nameOf(dtype())).str();
}

double AttentionProblem::log2Scale() const { return scale * M_LOG2E; }

//===----------------------------------------------------------------------===//
// Operands and results in memory
//===----------------------------------------------------------------------===//

static bool isMultipleOf8(const rt::Size &size) {
  return llvm::all_of(size.getTerms(),
                      [](const auto &term) { return term.second % 8 == 0; });
}

/// TMA takes 16-byte steps, and rows of a head in one piece.
static FailureOr<StridedView> checkTma(Operation *op, StringRef name,
                                       std::optional<StridedView> view) {
  if (!view)
    return op->emitOpError("expected ")
           << name
           << " to be a part of one argument or result for nvptx: "
              "slices, reshapes and concats of it, nothing computed";
  if (view->argument < 0)
    return *view;
  if (!view->strides.back().isConstant(1))
    return op->emitOpError("expected ")
           << name
           << " with its last dimension dense in memory for nvptx, "
              "found a stride of "
           << view->strides.back().str() << " elements";
  for (const rt::Size &stride :
       llvm::reverse(ArrayRef(view->strides).drop_back()))
    if (!isMultipleOf8(stride))
      return op->emitOpError("expected ")
             << name << " with strides of whole 16 bytes for nvptx, found "
             << stride.str() << " elements";
  if (!isMultipleOf8(view->offset))
    return op->emitOpError("expected ")
           << name
           << " to begin at a multiple of 16 bytes for nvptx, found "
              "element "
           << view->offset.str();
  return *view;
}

FailureOr<StridedView> AttentionProblem::operand(Value value,
                                                 StringRef name) const {
  return checkTma(op, name, viewOf(value));
}

FailureOr<StridedView> AttentionProblem::result(Value value,
                                                StringRef name) const {
  return checkTma(op, name, resultViewOf(kernel, value));
}

FailureOr<StridedView> AttentionProblem::rows(Value value, bool isResult,
                                              StringRef name) const {
  std::optional<StridedView> view =
      isResult ? resultViewOf(kernel, value) : viewOf(value);
  if (!view || !view->isDense())
    return op->emitOpError("expected ") << name << " dense in memory for nvptx";
  return *view;
}

rt::LaunchArgument AttentionProblem::map(const StridedView &view,
                                         int rows) const {
  rt::LaunchArgument argument;
  argument.kind = rt::LaunchArgument::Kind::Map;
  argument.argument = view.argument;
  argument.offset = view.offset * 2;
  argument.dtype = dtype();
  for (unsigned dim : {3, 1, 2, 0})
    argument.extents.push_back(view.extents[dim]);
  for (unsigned dim : {1, 2, 0})
    argument.strides.push_back(view.strides[dim] * 2);
  argument.box = {64, rows, 1, 1};
  return argument;
}

rt::LaunchArgument nvptx::pointerArgument(const StridedView &view,
                                          int elementBytes) {
  if (view.argument < 0)
    return int64Argument(0);
  return pointerArgument(view.argument, view.offset * elementBytes);
}

//===----------------------------------------------------------------------===//
// Code of both
//===----------------------------------------------------------------------===//

Threads::Threads(PtxBuilder &ptx) {
  thread = ptx.threadX();
  lane = ptx.bitAnd(thread, 31);
  warp = ptx.broadcast(ptx.shiftRight(thread, 5));
  warpgroup = ptx.shiftRight(warp, 2);
}

void FragmentStore::stage(ArrayRef<Value> fragment, const SharedTile &tile,
                          Value warpRows) {
  Value rows = ptx.at(ptx.sharedMemory(), warpRows);
  for (int c = 0; c < tile.chunks(); ++c)
    for (int k = 0; k < 4; ++k)
      chunk.store(ptx.at(rows, tile.offset + c * tile.chunkBytes()), k,
                  packFragment(ptx, fragment.slice(c * 32 + k * 8, 8), type));
}

void FragmentStore::send(Value map, const SharedTile &tile, Value warpRows,
                         Value row, Value head, Value batch) {
  Value rows = ptx.at(ptx.sharedMemory(), warpRows);
  for (int c = 0; c < tile.chunks(); ++c)
    ptx.storeTile(map, ptx.at(rows, tile.offset + c * tile.chunkBytes()),
                  {ptx.constant(64 * c), row, head, batch});
}
