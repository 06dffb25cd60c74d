//===- Attention.h - what both directions of attention share ----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_ATTENTION_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_ATTENTION_H

#include "BlockGemm.h"
#include "Generators.h"

namespace ckpt::host {

/// Queries or keys of a block at most: a multiple of `tileRows` and of
/// `panelColumns`.
constexpr int64_t attentionBlock = 192;

/// Extents of q (batch x queries x heads x d) and k.
struct AttentionShape {
  AttentionShape(Value q, Value k);
  rt::Size batch, queries, keys, heads, depth;
  /// Row length in the workspace: `depth`, which must be a constant, rounded up
  /// to whole panels.
  int64_t stride = 0;
  /// Block sizes, smaller where the sizes are known to be.
  int64_t queryBlock = 0, keyBlock = 0;

  /// Reports a depth that is not a constant.
  llvm::LogicalResult verify(mlir::Operation *op) const;
};

/// The softmax's factor, by default 1/sqrt(d).
double attentionScale(std::optional<llvm::APFloat> scale,
                      const AttentionShape &shape);

/// Rows (batch, first + row, head, :) of a batch x tokens x heads x d value.
RowSource headSource(KernelFrame &frame, Value value, Value batch, Value first,
                     Value head);

/// Writes rows [0, count) of `block` (row-major, `shape.stride`) as the
/// elements (batch, first + row, head, :) of `result`. `finish(element, row)`
/// is applied to each.
void writeHeadRows(
    KernelFrame &frame, Value result, const AttentionShape &shape, Value block,
    Value batch, Value first, Value head, Value count,
    llvm::function_ref<Value(Value element, Value row)> finish = nullptr);

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_ATTENTION_H
