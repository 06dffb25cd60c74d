// Kernels that have no code for the host.
// RUN: ckpt-opt %s --ckpt-to-host --split-input-file --verify-diagnostics

// expected-error @below {{'ckpt.kernel' op expected a linear, linear_dx or linear_dw in a gemm, found none}}
ckpt.kernel @k gemm(%x : !ckpt.tensor<4 x f32>)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.silu %x : !ckpt.tensor<4 x f32>
  ckpt.yield %y : !ckpt.tensor<4 x f32>
}

// -----

// expected-error @below {{'ckpt.kernel' op uses the size 'n', which is not one of the program's sizes}}
ckpt.kernel @k row_wise(%x : !ckpt.tensor<n x f32>)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.yield %y : !ckpt.tensor<n x f32>
}

// -----

ckpt.kernel @k row_wise(%x : !ckpt.tensor<4 x 8 x f32>, %w : !ckpt.tensor<8 x 8 x f32>)
    workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear' op has no code in this place of a kernel}}
  %y = ckpt.linear %x, %w : !ckpt.tensor<4 x 8 x f32>, !ckpt.tensor<8 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<4 x 8 x f32>
}

// -----

// The rows of the norm are not those of the result.
ckpt.kernel @k row_wise(%x : !ckpt.tensor<4 x 8 x f32>)
    workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm' op has no code in this place of a kernel}}
  %n = ckpt.layer_norm %x {eps = 1.0e-6} : !ckpt.tensor<4 x 8 x f32>
  %t = ckpt.transpose %n {permutation = array<i64: 1, 0>} : !ckpt.tensor<4 x 8 x f32>
  ckpt.yield %t : !ckpt.tensor<8 x 4 x f32>
}

// -----

ckpt.size @d
ckpt.kernel @k attention_forward(%q : !ckpt.tensor<1 x 4 x 2 x d x f32>)
    workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected a constant last extent of q for the host, found d}}
  %o = ckpt.sdpa %q, %q, %q {scale = 1.0} : !ckpt.tensor<1 x 4 x 2 x d x f32>
  ckpt.yield %o : !ckpt.tensor<1 x 4 x 2 x d x f32>
}

// -----

// expected-error @below {{'ckpt.kernel' op expected result 0 to be o or lse of the sdpa}}
ckpt.kernel @k attention_forward(%q : !ckpt.tensor<1 x 4 x 2 x 8 x f32>)
    workspace "0" flops "0" traffic "0" {
  %o = ckpt.sdpa %q, %q, %q {scale = 1.0} : !ckpt.tensor<1 x 4 x 2 x 8 x f32>
  %y = ckpt.silu %o : !ckpt.tensor<1 x 4 x 2 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<1 x 4 x 2 x 8 x f32>
}

// -----

// expected-error @below {{'ckpt.kernel' op expected result 1 to have the shape of the product '!ckpt.tensor<4 x 8 x f32>', found '!ckpt.tensor<2 x 8 x f32>'}}
ckpt.kernel @k gemm(%x : !ckpt.tensor<4 x 8 x f32>, %w : !ckpt.tensor<8 x 8 x f32>, %z : !ckpt.tensor<2 x 8 x f32>)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.linear %x, %w : !ckpt.tensor<4 x 8 x f32>, !ckpt.tensor<8 x 8 x f32>
  %s = ckpt.silu %z : !ckpt.tensor<2 x 8 x f32>
  ckpt.yield %y, %s : !ckpt.tensor<4 x 8 x f32>, !ckpt.tensor<2 x 8 x f32>
}

// -----

// Block IR: nothing is erased in silence.
// expected-error @below {{expected kernels, found none; run ckpt-differentiate and ckpt-select first}}
module {
  ckpt.size @n
  ckpt.block @b states(%x : !ckpt.tensor<n x f32> differentiable) {
    %y = ckpt.silu %x : !ckpt.tensor<n x f32>
    ckpt.return %y : !ckpt.tensor<n x f32>
  }
  ckpt.stack @model { ckpt.repeat @b, 1 }
}
