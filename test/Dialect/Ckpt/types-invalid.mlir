// `!ckpt.tensor`: bad extents and element types are located errors.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

ckpt.kernel @no_element_type row_wise(
  // expected-error @below {{expected ' x ' and the element type f32, bf16 or f16 after the extents}}
  %x: !ckpt.tensor<batch x 8>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @element_type row_wise(
  // expected-error @below {{expected ' x ' and the element type f32, bf16 or f16 after the extents}}
  %x: !ckpt.tensor<batch x 8 x f64>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @element_type_i32 row_wise(
  // expected-error @below {{expected ' x ' and the element type f32, bf16 or f16 after the extents}}
  %x: !ckpt.tensor<i32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @question_mark row_wise(
  // expected-error @below {{expected a named size or an integer}}
  %x: !ckpt.tensor<? x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @empty row_wise(
  // expected-error @below {{expected a named size or an integer}}
  %x: !ckpt.tensor<>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @no_spaces row_wise(
  // expected-error @below {{expected ' x ' and the element type f32, bf16 or f16 after the extents}}
  %x: !ckpt.tensor<8x16xf32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @zero row_wise(
  // expected-error @below {{expected a positive extent, got '0'}}
  %x: !ckpt.tensor<batch x 0 x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @negative row_wise(
  // expected-error @below {{expected a positive extent, got '-8'}}
  %x: !ckpt.tensor<-8 x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @negative_symbolic row_wise(
  // expected-error @below {{expected a positive extent, got '-image'}}
  %x: !ckpt.tensor<4 - image - 4 x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @cancelled row_wise(
  // expected-error @below {{expected a positive extent, got '0'}}
  %x: !ckpt.tensor<image - image x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @term row_wise(
  // expected-error @below {{expected ' x ' and the element type f32, bf16 or f16 after the extents}}
  %x: !ckpt.tensor<batch + x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @factor row_wise(
  // expected-error @below {{expected ' x ' and the element type f32, bf16 or f16 after the extents}}
  %x: !ckpt.tensor<2* x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @too_large row_wise(
  // expected-error @below {{expected a size below 2^56}}
  %x: !ckpt.tensor<1152921504606846976 x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @too_many row_wise(
  // expected-error @below {{expected at most 2^56 elements, got 1.844674e+19}}
  %x: !ckpt.tensor<4294967296 x 4294967296 x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

ckpt.kernel @not_an_integer row_wise(
  // expected-error @below {{integer value too large}}
  %x: !ckpt.tensor<99999999999999999999 x f32>) workspace "0" flops "0" traffic "0" {
}
