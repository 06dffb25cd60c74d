// What is not step IR: a block without a step, a step that launches already.
//
// RUN: ckpt-opt %s --split-input-file --ckpt-verify-steps --verify-diagnostics

ckpt.size @n
// expected-error @below {{'ckpt.block' op expected a ckpt.step of it, found none; run ckpt-differentiate}}
ckpt.block @b states(%x : !ckpt.tensor<n x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.return %y : !ckpt.tensor<n x f32>
}

// -----

ckpt.size @n
ckpt.block @b states(%x : !ckpt.tensor<n x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.return %y : !ckpt.tensor<n x f32>
}
ckpt.kernel @silu row_wise(%x : !ckpt.tensor<n x f32>) workspace "0" flops "n" traffic "8*n" {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.yield %y : !ckpt.tensor<n x f32>
}
ckpt.step @b_step of @b
    forward(%x : !ckpt.tensor<n x f32>) {
      // expected-error @below {{'ckpt.launch' op expected tensor ops, saves and loads only at this level}}
      %y = ckpt.launch @silu id "f0"(%x) : (!ckpt.tensor<n x f32>) -> !ckpt.tensor<n x f32>
      ckpt.yield %y : !ckpt.tensor<n x f32>
    }
    backward(%dy : !ckpt.tensor<n x f32>) {
      %dx = ckpt.scale %dy : !ckpt.tensor<n x f32>
      ckpt.yield %dx : !ckpt.tensor<n x f32>
    }
