//===- Attention.h - what both directions of attention share ----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_ATTENTION_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_ATTENTION_H

#include "../Generators.h"
#include "../LaunchArguments.h"
#include "../StridedView.h"
#include "../Tiles.h"

namespace ckpt::nvptx {

/// An `sdpa` or `sdpa_dx` with q batch x queries x heads x head and k, v batch
/// x keys x heads x head.
struct AttentionProblem {
  KernelOp kernel;
  mlir::Operation *op = nullptr;
  rt::Size batch, queries, keys, heads;
  int head = 0;
  Half type = Half::BF16;
  double scale = 0;

  /// Reports what there is no code for.
  static llvm::FailureOr<AttentionProblem>
  of(KernelOp kernel, mlir::Operation *op, Value q, Value k,
     std::optional<llvm::APFloat> scale);

  rt::DType dtype() const {
    return type == Half::BF16 ? rt::DType::BF16 : rt::DType::F16;
  }
  /// `attention_forward_d128_bf16`.
  std::string symbol(llvm::StringRef base) const;
  /// log2(e) times the scale: the softmax is one of powers of two.
  double log2Scale() const;

  /// Where an operand called `name` lies, or a result goes; reports it when
  /// TMA cannot reach it there.
  llvm::FailureOr<StridedView> operand(Value value, llvm::StringRef name) const;
  llvm::FailureOr<StridedView> result(Value value, llvm::StringRef name) const;
  /// The same for f32 rows, batch x heads x queries, which must be dense.
  llvm::FailureOr<StridedView> rows(Value value, bool isResult,
                                    llvm::StringRef name) const;

  /// A map of [batch, length, heads, head] with boxes of 64 columns x `rows` of
  /// one head; coordinates are (column, row, head, batch).
  rt::LaunchArgument map(const StridedView &view, int rows) const;
};

/// Its first element; null for a result that is not yielded.
rt::LaunchArgument pointerArgument(const StridedView &view, int elementBytes);

/// What a thread of a kernel of one producer warpgroup and some consumers
/// knows about itself.
struct Threads {
  explicit Threads(PtxBuilder &ptx);

  /// Of the block; both uniform over the warp.
  Value thread, lane, warp, warpgroup;
};

/// Rounds a 64 x n fragment and stores it over a tile of `tile`'s chunks, from
/// there by TMA to memory: each warp its own 16 rows, which nobody else reads
/// any more.
class FragmentStore {
public:
  /// `warpRows`: the warp's first row in the tile, in bytes from its start.
  FragmentStore(PtxBuilder &ptx, Value lane, Half type)
      : ptx(ptx), chunk(ptx, lane), type(type) {}

  void stage(ArrayRef<Value> fragment, const SharedTile &tile, Value warpRows);
  /// One thread; the coordinates are those of the warp's first row.
  void send(Value map, const SharedTile &tile, Value warpRows, Value row,
            Value head, Value batch);

private:
  PtxBuilder &ptx;
  WarpChunk chunk;
  Half type;
};

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_ATTENTION_H
