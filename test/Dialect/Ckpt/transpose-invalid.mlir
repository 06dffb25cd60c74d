// `ckpt.transpose`: its constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// A dimension twice.
ckpt.kernel @transpose_c1 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.transpose' op expected a permutation of the 3 dimensions of x, got array<i64: 0, 2, 2>}}
  %y = ckpt.transpose %x {permutation = array<i64: 0, 2, 2>} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Too few dimensions.
ckpt.kernel @transpose_c1_rank row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.transpose' op expected a permutation of the 3 dimensions of x, got array<i64: 1, 0>}}
  %y = ckpt.transpose %x {permutation = array<i64: 1, 0>} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A dimension that is not there.
ckpt.kernel @transpose_c1_range row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.transpose' op expected a permutation of the 3 dimensions of x, got array<i64: 0, 1, 3>}}
  %y = ckpt.transpose %x {permutation = array<i64: 0, 1, 3>} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}
