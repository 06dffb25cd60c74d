// A tensor without extents has no rows, so no kernel could run over it.
//
// RUN: ckpt-opt %s --ckpt-verify-blocks --verify-diagnostics

ckpt.size @n
// expected-error @below {{'ckpt.block' op expected tensors of at least one extent, got '!ckpt.tensor<f32>'; give a scalar the extent 1}}
ckpt.block @b states(%x : !ckpt.tensor<n x f32> differentiable)
    params(%g "g.{i}" trainable : !ckpt.tensor<f32>) {
  %y = ckpt.mul %x, %g : !ckpt.tensor<n x f32>, !ckpt.tensor<f32>
  ckpt.return %y : !ckpt.tensor<n x f32>
}
ckpt.stack @model { ckpt.repeat @b, 2 }
