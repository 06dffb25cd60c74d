//===- Backward.h - flash attention, backward -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_BACKWARD_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_BACKWARD_H

#include "Attention.h"

namespace ckpt::nvptx {

/// Sizes of the backward's tiles, which its three kernels share.
struct BackwardTiles {
  int head = 128;
  Half type = Half::BF16;
  /// dQ is added in the order of the keys.
  bool deterministic = false;
  /// Queries of a step: 80 for a head of 128, 128 for 64.
  int queries = 80;
  /// k16 steps of dV that are issued before dS is computed.
  int earlySteps = 3;
  /// Blocks of queries by which each block of keys starts later than its
  /// neighbour, so that they do not add to the same dQ at a time.
  int rotation = 2;
  static constexpr int keys = 128;
  static constexpr int stages = 2;
  static constexpr int threads = 384;

  SharedTile k() const { return {0, keys, head}; }
  SharedTile v() const { return {k().bytes(), keys, head}; }
  SharedTile q() const { return {2 * k().bytes(), queries, head}; }
  SharedTile dout() const {
    return {q().offset + stages * q().bytes(), queries, head};
  }
  /// dS^T, queries x keys; two of them.
  SharedTile slope() const {
    return {dout().offset + stages * q().bytes(), queries, keys};
  }
  /// f32 of dQ that wait to be added: each warp's share.
  int64_t staging() const { return slope().offset + 2 * slope().bytes(); }
  int64_t stagingBytes() const { return int64_t(queries) * head / 2; }
  /// Vectors over a step's queries, f32.
  int64_t lse() const { return staging() + 8 * stagingBytes(); }
  int64_t vectorBytes() const { return (queries * 4 + 127) / 128 * 128; }
  int64_t delta() const { return lse() + stages * vectorBytes(); }
  /// mbarriers, then the ticket.
  int64_t barriers() const { return delta() + stages * vectorBytes(); }
  static constexpr int numBarriers = 2 + 2 * stages + 8;
  int sharedBytes() const { return barriers() + 8 * (numBarriers + 1); }

  /// Accumulators of a thread: S and dP; dV and dK; dQ.
  int scoreValues() const { return queries / 2; }
  int outputValues() const { return head / 2; }
  int dqValues() const { return queries * head / 256; }
};

/// Before: -lse log2(e) and minus the row sums of o dout, padded with zeros to
/// whole steps; zeros dQ and, if deterministic, the counters.
/// Parameters: o and dout; strides of batch, query and head in bytes, three for
/// each; lse; the two vectors; dQ in f32; counters or null; queries.
Function makeBackwardPrepareKernel(mlir::MLIRContext *context,
                                   mlir::Location loc,
                                   const std::string &symbol,
                                   const BackwardTiles &tiles);

/// Parameters: maps of q, k, v, dout, dk, dv; dk and dv, null if left out; the
/// two vectors; dQ in f32; counters or null; queries, keys; parts; the scale
/// times log2(e), the scale. A grid of blocks of keys times parts: each part
/// goes over some of the queries, so more than one is for dq alone.
Function makeBackwardKernel(mlir::MLIRContext *context, mlir::Location loc,
                            const std::string &symbol,
                            const BackwardTiles &tiles);

/// Queries of a block of threads.
int backwardPrepareRows(const BackwardTiles &tiles);

/// After: dQ to its place. Parameters: map of dq; dq, null if left out; dQ in
/// f32; the scale.
Function makeBackwardFinishKernel(mlir::MLIRContext *context,
                                  mlir::Location loc, const std::string &symbol,
                                  const BackwardTiles &tiles);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_ATTENTION_BACKWARD_H
