// `ckpt.add`, `ckpt.sub`, `ckpt.mul`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// Extents that are neither equal nor 1.
ckpt.kernel @add_c1 row_wise(%a: !ckpt.tensor<batch x image x 8 x f32>, %b: !ckpt.tensor<batch x text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.add' op expected extents that are equal or 1, aligned at the last dimension, got batch x image x 8 and batch x text x 8}}
  %y = ckpt.add %a, %b : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Extents that are neither equal nor 1.
ckpt.kernel @sub_c1 row_wise(%a: !ckpt.tensor<batch x image x 8 x f32>, %b: !ckpt.tensor<batch x text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sub' op expected extents that are equal or 1, aligned at the last dimension, got batch x image x 8 and batch x text x 8}}
  %y = ckpt.sub %a, %b : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Extents that are neither equal nor 1.
ckpt.kernel @mul_c1 row_wise(%a: !ckpt.tensor<batch x image x 8 x f32>, %b: !ckpt.tensor<batch x text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.mul' op expected extents that are equal or 1, aligned at the last dimension, got batch x image x 8 and batch x text x 8}}
  %y = ckpt.mul %a, %b : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// bf16 beside f32.
ckpt.kernel @add_c2 row_wise(%a: !ckpt.tensor<8 x f32>, %b: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.add' op expected operand #1 to have element type 'f32' as operand #0 has, got 'bf16'; convert with ckpt.cast}}
  %y = ckpt.add %a, %b : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// bf16 beside f32.
ckpt.kernel @sub_c2 row_wise(%a: !ckpt.tensor<8 x f32>, %b: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sub' op expected operand #1 to have element type 'f32' as operand #0 has, got 'bf16'; convert with ckpt.cast}}
  %y = ckpt.sub %a, %b : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// bf16 beside f32.
ckpt.kernel @mul_c2 row_wise(%a: !ckpt.tensor<8 x f32>, %b: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.mul' op expected operand #1 to have element type 'f32' as operand #0 has, got 'bf16'; convert with ckpt.cast}}
  %y = ckpt.mul %a, %b : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}
