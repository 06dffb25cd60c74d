// `ckpt.linear`: one case for each constraint, and for its assembly.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// The weight has one dimension.
ckpt.kernel @linear_c1 row_wise(%x: !ckpt.tensor<2 x 8 x f32>, %w: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op expected x with at least one dimension and a weight with two, got '!ckpt.tensor<2 x 8 x f32>' and '!ckpt.tensor<8 x f32>'}}
  %y = ckpt.linear %x, %w : !ckpt.tensor<2 x 8 x f32>, !ckpt.tensor<8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// x has no dimension.
ckpt.kernel @linear_c1_scalar row_wise(%x: !ckpt.tensor<f32>, %w: !ckpt.tensor<8 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op expected x with at least one dimension}}
  %y = ckpt.linear %x, %w : !ckpt.tensor<f32>, !ckpt.tensor<8 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// K differs.
ckpt.kernel @linear_c2 row_wise(%x: !ckpt.tensor<2 x image x f32>, %w: !ckpt.tensor<32 x text x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op expected the last extent of x to be text as the weight says, got image}}
  %y = ckpt.linear %x, %w : !ckpt.tensor<2 x image x f32>, !ckpt.tensor<32 x text x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// The bias is as long as K.
ckpt.kernel @linear_c3 row_wise(%x: !ckpt.tensor<2 x 8 x f32>, %w: !ckpt.tensor<32 x 8 x f32>, %b: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op expected the bias to be 32 as the weight says, got 8}}
  %y = ckpt.linear %x, %w, %b : !ckpt.tensor<2 x 8 x f32>, !ckpt.tensor<32 x 8 x f32>, !ckpt.tensor<8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// The weight is bf16.
ckpt.kernel @linear_c4 row_wise(%x: !ckpt.tensor<2 x 8 x f32>, %w: !ckpt.tensor<32 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op expected operand #1 to have element type 'f32' as operand #0 has, got 'bf16'; convert with ckpt.cast}}
  %y = ckpt.linear %x, %w : !ckpt.tensor<2 x 8 x f32>, !ckpt.tensor<32 x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// More types than operands.
ckpt.kernel @linear_types row_wise(%x: !ckpt.tensor<2 x 8 x f32>, %w: !ckpt.tensor<32 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{expected at most 2 operand types, got 3}}
  %y = ckpt.linear %x, %w : !ckpt.tensor<2 x 8 x f32>, !ckpt.tensor<32 x 8 x f32>, !ckpt.tensor<32 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A type that is no tensor.
// expected-note @below {{prior use here}}
ckpt.kernel @linear_tensor row_wise(%x: !ckpt.tensor<2 x 8 x f32>, %w: !ckpt.tensor<32 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{expects different type than prior uses: 'f32' vs '!ckpt.tensor<2 x 8 x f32>'}}
  %y = ckpt.linear %x, %w : f32, !ckpt.tensor<32 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// The result of the generic form is another one.
ckpt.kernel @linear_result row_wise(%x: !ckpt.tensor<2 x 8 x f32>, %w: !ckpt.tensor<32 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op inferred type(s) '!ckpt.tensor<2 x 32 x f32>' are incompatible with return type(s) of operation '!ckpt.tensor<2 x 8 x f32>'}}
  // expected-error @below {{'ckpt.linear' op failed to infer returned types}}
  %y = "ckpt.linear"(%x, %w) : (!ckpt.tensor<2 x 8 x f32>, !ckpt.tensor<32 x 8 x f32>) -> !ckpt.tensor<2 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<2 x 8 x f32>
}
