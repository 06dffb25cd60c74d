// `ckpt.rms_norm`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// A scalar.
ckpt.kernel @rms_norm_c1 row_wise(%x: !ckpt.tensor<f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rms_norm' op expected x with at least one dimension, got '!ckpt.tensor<f32>'}}
  %y = ckpt.rms_norm %x {eps = 0.0} : !ckpt.tensor<f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A weight for heads and d.
ckpt.kernel @rms_norm_c2 row_wise(%x: !ckpt.tensor<batch x 2 x 8 x bf16>, %w: !ckpt.tensor<2 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rms_norm' op expected the weight to be 8 as the last extent of x is, got 2 x 8}}
  %y = ckpt.rms_norm %x, %w {eps = 0.0} : !ckpt.tensor<batch x 2 x 8 x bf16>, !ckpt.tensor<2 x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// An eps that is no number.
ckpt.kernel @rms_norm_c3 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rms_norm' op expected eps to be finite and not negative, got 0x7FF8000000000000 : f64}}
  %y = ckpt.rms_norm %x {eps = 0x7FF8000000000000 : f64} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x bf16>
}
