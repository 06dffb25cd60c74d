//===- TestProgram.h - programs for tests, made by hand ---------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the compiler would write for two small blocks, so that the runtime is
/// tested without it. They have no object: symbols name what a kernel does.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_TESTPROGRAM_H
#define CKPT_RT_TEST_TESTPROGRAM_H

#include "Program/Program.h"

namespace ckpt::rt {

struct DitShape {
  int64_t width = 3072;
  int64_t heads = 24;
  int64_t hidden = 4 * 3072;
  DType dtype = DType::BF16;
};

/// A pre-norm transformer block with frozen parameters and a differentiable
/// state `x`, `blocks` times; sizes `batch` (default 1) and `image`.
/// u = batch x image x width; all ops and what they read and make:
///   f0 norm            x            -> n, stats1       (attention)
///   f1 gemm_bias       n wqkv bqkv  -> qkv (3u)
///   f2 attention       qkv          -> o, lse
///   f3 gemm_residual_wo  o wo bo x  -> x1
///   f4 norm            x1           -> n2, stats2      (ffn)
///   f5 gemm_gelu       n2 w1 b1     -> a, h (hidden wide)
///   f6 gemm_residual_w2  a w2 b2 x1 -> y
///   b0 gemm_gelu_dx    dy w2 h      -> dh
///   b1 gemm_dx_w1      dh w1        -> dn2
///   b2 norm_dx_add     dn2 x1 stats2 dy -> dx1
///   b3 gemm_dx_wo      dx1 wo       -> do
///   b4 attention_dx    qkv o lse do -> dqkv, workspace dq in f32
///   b5 gemm_dx_wqkv    dqkv wqkv    -> dn
///   b6 norm_dx_add     dn x stats1 dx1 -> dx
/// Saved, in order: x stats1 qkv o lse x1 stats2 h. The variants are the menu.
Program makeDitProgram(int blocks, const DitShape &shape = {});

/// The same block, small enough to run: width 32, 2 heads, hidden 64, f32.
DitShape smallDitShape();

/// y = x w + bias + cond with a trainable `blocks.{i}.w`, a trainable shared
/// `bias`, a differentiable input `cond` of one row, and a plain state `x`:
///   f0 gemm_bias_add   x w bias cond -> y
///   b0 gemm_dx         dy w          -> dx
///   b1 gemm_dw         x dy          -> dw
///   b2 accumulate_rows dy dbias      -> dbias
///   b3 accumulate_rows dy dcond      -> dcond
/// Saved: x. Its block graph is there too. It has neither attention nor ffn;
/// f32, width 8, size `rows`.
Program makeAdapterProgram(int blocks);

/// Fills the variants of every kind with the menu of `program`.
void fillMenu(Program &program);

} // namespace ckpt::rt

#endif // CKPT_RT_TEST_TESTPROGRAM_H
