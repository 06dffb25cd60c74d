// `ckpt.concat`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// No operand; only the generic form can say it.
ckpt.kernel @concat_c1 row_wise(%x: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.concat' op expected at least one operand}}
  // expected-error @below {{'ckpt.concat' op failed to infer returned types}}
  %y = "ckpt.concat"() <{dim = 0 : i64}> : () -> !ckpt.tensor<8 x f32>
  ckpt.yield %y : !ckpt.tensor<8 x f32>
}

// -----

// A dimension that is not there.
ckpt.kernel @concat_c2 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.concat' op expected 'dim' in [0, 3), got 3}}
  %y = ckpt.concat %x, %x {dim = 3} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// No dimension.
ckpt.kernel @concat_c2_none row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.concat' op requires attribute 'dim'}}
  %y = ckpt.concat %x, %x : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Another extent differs.
ckpt.kernel @concat_c3 row_wise(%a: !ckpt.tensor<batch x image x 8 x f32>, %b: !ckpt.tensor<1 x text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.concat' op expected operand #1 to have the extents of operand #0 except in dimension 1, got 1 x text x 8 and batch x image x 8}}
  %y = ckpt.concat %a, %b {dim = 1} : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<1 x text x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// bf16 beside f32.
ckpt.kernel @concat_c4 row_wise(%a: !ckpt.tensor<8 x f32>, %b: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.concat' op expected operand #1 to have element type 'f32' as operand #0 has, got 'bf16'; convert with ckpt.cast}}
  %y = ckpt.concat %a, %b {dim = 0} : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}
