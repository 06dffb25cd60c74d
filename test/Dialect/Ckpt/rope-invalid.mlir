// `ckpt.rope`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// An odd d.
ckpt.kernel @rope_c1 row_wise(%x: !ckpt.tensor<batch x image x 2 x 7 x f32>, %cos: !ckpt.tensor<image x 3 x f32>, %sin: !ckpt.tensor<image x 3 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rope' op expected an even d, got 7}}
  %y = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 2 x 7 x f32>, !ckpt.tensor<image x 3 x f32>, !ckpt.tensor<image x 3 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Heads are not split off.
ckpt.kernel @rope_c1_rank row_wise(%x: !ckpt.tensor<batch x image x 8 x f32>, %cos: !ckpt.tensor<image x 4 x f32>, %sin: !ckpt.tensor<image x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rope' op expected x of batch x tokens x heads x d, got '!ckpt.tensor<batch x image x 8 x f32>'}}
  %y = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<image x 4 x f32>, !ckpt.tensor<image x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Tables in bf16.
ckpt.kernel @rope_c2 row_wise(%x: !ckpt.tensor<batch x image x 2 x 8 x bf16>, %cos: !ckpt.tensor<image x 4 x bf16>, %sin: !ckpt.tensor<image x 4 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rope' op expected cos and sin of one type in f32, got '!ckpt.tensor<image x 4 x bf16>' and '!ckpt.tensor<image x 4 x bf16>'}}
  %y = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 2 x 8 x bf16>, !ckpt.tensor<image x 4 x bf16>, !ckpt.tensor<image x 4 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A table for all channels.
ckpt.kernel @rope_c3 row_wise(%x: !ckpt.tensor<batch x image x 2 x 8 x bf16>, %cos: !ckpt.tensor<image x 8 x f32>, %sin: !ckpt.tensor<image x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rope' op expected tables of image x 4 or batch x image x 4, got image x 8}}
  %y = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 2 x 8 x bf16>, !ckpt.tensor<image x 8 x f32>, !ckpt.tensor<image x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}
