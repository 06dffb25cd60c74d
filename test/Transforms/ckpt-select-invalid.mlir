// What selection refuses: a step that is selected already, an unknown target.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-select 2>&1 | FileCheck %s
// RUN: ckpt-opt %s --ckpt-select --verify-diagnostics
// RUN: not ckpt-opt %s --ckpt-select=target=cuda 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: target: expected host or nvptx, found 'cuda'
// CHECK: error: 'ckpt.launch' op expected tensor ops, saves and loads in a step that is not selected yet

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
      // expected-error @below {{'ckpt.launch' op expected tensor ops, saves and loads in a step that is not selected yet}}
      %y = ckpt.launch @silu id "f0"(%x) : (!ckpt.tensor<n x f32>) -> !ckpt.tensor<n x f32>
      ckpt.yield %y : !ckpt.tensor<n x f32>
    }
    backward(%dy : !ckpt.tensor<n x f32>) {
      %dx = ckpt.scale %dy : !ckpt.tensor<n x f32>
      ckpt.yield %dx : !ckpt.tensor<n x f32>
    }
