//===- Forward.h - flash attention, forward ---------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_FORWARD_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_FORWARD_H

#include "Attention.h"

namespace ckpt::nvptx {

/// Sizes of a forward kernel's tiles.
struct ForwardTiles {
  int head = 128;
  Half type = Half::BF16;
  /// Keys of a step.
  int keys = 176;
  /// Warpgroups of 64 queries.
  int consumers = 2;
  /// Blocks of queries that share what they load of k and v: two for a head
  /// of 128, or one.
  int cluster = 2;
  static constexpr int stages = 2;

  int queries() const { return 64 * consumers; }
  SharedTile q() const { return {0, queries(), head}; }
  SharedTile k() const { return {q().bytes(), keys, head}; }
  SharedTile v() const {
    return {k().offset + stages * k().bytes(), keys, head};
  }
  /// mbarriers: q; k full, k empty, v full, v empty of each stage.
  int64_t barriers() const { return v().offset + stages * v().bytes(); }
  int sharedBytes() const { return barriers() + 8 * (1 + 4 * stages); }
  int threads() const { return 128 * (consumers + 1); }
};

/// Parameters: maps of q, k, v, o; pointers to o and lse, each null if left
/// out; queries, keys; the scale times log2(e), and a power of two no larger.
Function makeForwardKernel(mlir::MLIRContext *context, mlir::Location loc,
                           const std::string &symbol,
                           const ForwardTiles &tiles);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_FORWARD_H
