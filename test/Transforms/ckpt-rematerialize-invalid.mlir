// Variants that cannot be filled.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-rematerialize --ckpt-rematerialize 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics --ckpt-rematerialize

// TWICE: error: 'ckpt.variant' op expected empty regions, as ckpt-plan writes them

// The backward reads what the demand calls unused.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
ckpt.kernel @silu_dx row_wise(%dy: !t, %x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu_dx %dy, %x : !t
  ckpt.yield %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.save %x "x" : !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %x = ckpt.load "x" : !t
      %dx = ckpt.launch @silu_dx id "b0"(%dy, %x) : (!t, !t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 1 }
// expected-error @below {{'ckpt.variant' op @a: op b0 reads x, expected it saved or made again before, found fate unused}}
ckpt.variant @a_v0 of @a_step fates [unused] replay_results [false] state_gradients [true]
