// `ckpt.slice`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// A negative dimension.
ckpt.kernel @slice_c1 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op expected 'dim' in [0, 3), got -1}}
  %y = ckpt.slice %x {dim = -1, extent = "4", offset = "0"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A negative offset.
ckpt.kernel @slice_c2 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op expected 'offset' to be not negative, got "-1"}}
  %y = ckpt.slice %x {dim = 2, extent = "4", offset = "-1"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Nothing left.
ckpt.kernel @slice_c2_extent row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op expected 'extent' to be positive, got "0"}}
  %y = ckpt.slice %x {dim = 2, extent = "0", offset = "0"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// No size.
ckpt.kernel @slice_c2_text row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op expected 'extent' to be a size, got "image /"}}
  %y = ckpt.slice %x {dim = 2, extent = "image /", offset = "0"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Past the end.
ckpt.kernel @slice_c3 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op expected offset + extent of at most 8 as dimension 2 of x is, got 10}}
  %y = ckpt.slice %x {dim = 2, extent = "4", offset = "6"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Past the end for all values: image + text > text.
ckpt.kernel @slice_c3_symbolic row_wise(%x: !ckpt.tensor<batch x text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op expected offset + extent of at most text as dimension 1 of x is, got image + text}}
  %y = ckpt.slice %x {dim = 1, extent = "text", offset = "image"} : !ckpt.tensor<batch x text x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// No offset.
ckpt.kernel @slice_offset row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.slice' op requires attribute 'offset'}}
  %y = ckpt.slice %x {dim = 1, extent = "4"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}
