// What is not selected: a tensor op that no kernel holds.
//
// RUN: ckpt-opt %s --ckpt-verify-selected --verify-diagnostics

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
      %y = ckpt.launch @silu id "f0"(%x) : (!ckpt.tensor<n x f32>) -> !ckpt.tensor<n x f32>
      ckpt.yield %y : !ckpt.tensor<n x f32>
    }
    backward(%dy : !ckpt.tensor<n x f32>) {
      // expected-error @below {{'ckpt.scale' op expected launches, saves and loads only at this level}}
      %dx = ckpt.scale %dy : !ckpt.tensor<n x f32>
      ckpt.yield %dx : !ckpt.tensor<n x f32>
    }
