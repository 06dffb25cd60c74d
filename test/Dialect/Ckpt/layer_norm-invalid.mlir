// `ckpt.layer_norm`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// A scalar.
ckpt.kernel @layer_norm_c1 row_wise(%x: !ckpt.tensor<f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op expected x with at least one dimension, got '!ckpt.tensor<f32>'}}
  %y = ckpt.layer_norm %x {eps = 0.0} : !ckpt.tensor<f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A weight of another width.
ckpt.kernel @layer_norm_c2 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>, %w: !ckpt.tensor<4 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op expected the weight to be 8 as the last extent of x is, got 4}}
  %y = ckpt.layer_norm %x, %w {eps = 0.0} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<4 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A bf16 bias beside an f32 x.
ckpt.kernel @layer_norm_c2_type row_wise(%x: !ckpt.tensor<batch x 8 x f32>, %w: !ckpt.tensor<8 x f32>, %b: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op expected the bias to be f32 or 'f32' as x is, got 'bf16'}}
  %y = ckpt.layer_norm %x, %w, %b {eps = 0.0} : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A negative eps.
ckpt.kernel @layer_norm_c3 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op expected eps to be finite and not negative, got -1.000000e+00 : f64}}
  %y = ckpt.layer_norm %x {eps = -1.0} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x bf16>
}

// -----

// A bias without a weight; only the generic form can say it.
ckpt.kernel @layer_norm_c4 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>, %b: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op expected a weight beside the bias}}
  %y = "ckpt.layer_norm"(%x, %b) <{eps = 0.0, operandSegmentSizes = array<i32: 1, 0, 1>}> : (!ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<8 x f32>) -> !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x bf16>
}

// -----

// No eps.
ckpt.kernel @layer_norm_eps row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op requires attribute 'eps'}}
  %y = ckpt.layer_norm %x : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x bf16>
}
