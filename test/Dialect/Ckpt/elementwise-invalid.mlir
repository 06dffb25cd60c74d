// Ops that look at one element: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// Another element type.
ckpt.kernel @cast_c1 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.cast' op expected 'to' to be f32, bf16 or f16, got 'f64'}}
  %y = ckpt.cast %x {to = f64} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// No element type.
ckpt.kernel @cast_to row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.cast' op requires attribute 'to'}}
  %y = ckpt.cast %x : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A factor that is infinite.
ckpt.kernel @scale_c1 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.scale' op expected a finite factor and offset, got 0x7FF0000000000000 : f64 and 0.000000e+00 : f64}}
  %y = ckpt.scale %x {factor = 0x7FF0000000000000 : f64} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x bf16>
}

// -----

// Another kind of GELU.
ckpt.kernel @gelu_kind row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{expected 'approximate' to be tanh or erf, got sigmoid}}
  %y = ckpt.gelu %x {approximate = sigmoid} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// No kind of GELU.
ckpt.kernel @gelu_none row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{expected {approximate = tanh} or {approximate = erf}}}
  %y = ckpt.gelu %x {scope = "ffn"} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}
