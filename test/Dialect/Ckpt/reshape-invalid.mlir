// `ckpt.reshape`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// An extent of 0.
ckpt.kernel @reshape_c1 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.reshape' op expected 'shape' to be positive, got "0"}}
  %y = ckpt.reshape %x {shape = ["batch", "0"]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Elements are lost.
ckpt.kernel @reshape_c2 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.reshape' op expected a shape of 8*batch*image elements as x has, got batch x image x 2 x 3 with 6*batch*image}}
  %y = ckpt.reshape %x {shape = ["batch", "image", "2", "3"]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// image and text differ for some values.
ckpt.kernel @reshape_c2_symbolic row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.reshape' op expected a shape of 8*batch*image elements as x has, got batch x text x 8 with 8*batch*text}}
  %y = ckpt.reshape %x {shape = ["batch", "text", "8"]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A product past 63 bits.
ckpt.kernel @reshape_overflow row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.reshape' op expected a result of at most 2^56 elements}}
  %y = ckpt.reshape %x {shape = ["4294967296", "4294967296"]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Numbers, not sizes.
ckpt.kernel @reshape_shape row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.reshape' op attribute 'shape' failed to satisfy constraint: string array attribute}}
  %y = ckpt.reshape %x {shape = [1, 2]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}
