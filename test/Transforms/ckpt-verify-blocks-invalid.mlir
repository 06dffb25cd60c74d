// What is not block IR: a kernel beside the blocks. The pipeline starts with
// this gate, so a module that is half-way through it is refused.
//
// RUN: ckpt-opt %s --ckpt-verify-blocks --verify-diagnostics

ckpt.size @n
ckpt.block @b states(%x : !ckpt.tensor<n x f32> differentiable) {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.return %y : !ckpt.tensor<n x f32>
}
ckpt.stack @model { ckpt.repeat @b, 2 }
// expected-error @below {{'ckpt.kernel' op expected sizes, blocks and stacks only at this level}}
ckpt.kernel @silu row_wise(%x : !ckpt.tensor<n x f32>) workspace "0" flops "n" traffic "8*n" {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.yield %y : !ckpt.tensor<n x f32>
}
