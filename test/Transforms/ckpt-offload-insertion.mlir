// Copies out behind the producer, copies in before the first reader.
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth-ffn" --ckpt-rematerialize --ckpt-offload-insertion | FileCheck %s
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch-ffn" --ckpt-rematerialize --ckpt-offload-insertion | FileCheck %s --check-prefix=KEPT
// RUN: ckpt-opt %s --ckpt-rematerialize --ckpt-offload-insertion | FileCheck %s --check-prefix=VALUE

// The state of a block is copied out at its start; block 0's is the caller's
// and stays. The replay reads it first, so the copy in stands there, and the
// backward loads it.
//
// CHECK:      ckpt.variant @mlp_v0 {{.*}} fates [keep,
// CHECK-NOT:    ckpt.copy
// CHECK:      ckpt.variant @mlp_v1 {{.*}} fates [offload, recompute, recompute]
// CHECK-NEXT:   forward(%[[X:[^:]*]]:
// CHECK-NEXT:     ckpt.copy_out %[[X]] "x"
// CHECK-NEXT:     ckpt.launch @layer_norm id "f0"
// CHECK-NOT:      ckpt.save
// CHECK:        replay
// CHECK-NEXT:     %[[IN:.*]] = ckpt.copy_in "x"
// CHECK-NEXT:     ckpt.save %[[IN]] "x"
// CHECK-NEXT:     ckpt.launch @layer_norm id "f0"(%[[IN]])
// CHECK-NOT:      ckpt.copy
// CHECK:        backward
// CHECK-NOT:      ckpt.copy
// CHECK:          ckpt.load "x"
// CHECK-NOT:      ckpt.copy
// CHECK:      ckpt.table

// Nothing is offloaded, nothing is copied.
// KEPT:     ckpt.variant
// KEPT-NOT: ckpt.copy
// KEPT:     ckpt.table

// A value made in the block, read by the backward alone: behind its producer,
// and before its first reader, which is not the first op of the backward.
//
// VALUE:      ckpt.variant @a_v0
// VALUE:        forward
// VALUE:          %[[H:.*]] = ckpt.launch @silu id "f0"
// VALUE-NEXT:     ckpt.copy_out %[[H]] "h"
// VALUE-NEXT:     ckpt.launch @silu id "f1"
// VALUE:        replay({{.*}}) {
// VALUE-NEXT:     ckpt.yield
// VALUE:        backward
// VALUE-NEXT:     %[[D:.*]] = ckpt.launch @silu id "b0"
// VALUE-NEXT:     %[[IN:.*]] = ckpt.copy_in "h"
// VALUE-NEXT:     ckpt.launch @silu_dx id "b1"(%[[D]], %[[IN]])
// VALUE-NEXT:     ckpt.launch @silu_dx id "b2"({{.*}}, %[[IN]])
// VALUE-NOT:      ckpt.load
// VALUE:          ckpt.yield

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %h = ckpt.silu %x : !t
  %y = ckpt.silu %h : !t
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
      %h = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      %y = ckpt.launch @silu id "f1"(%h) : (!t) -> !t
      ckpt.save %h "h" : !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %h = ckpt.load "h" : !t
      %0 = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      %1 = ckpt.launch @silu_dx id "b1"(%0, %h) : (!t, !t) -> !t
      %dx = ckpt.launch @silu_dx id "b2"(%1, %h) : (!t, !t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 1 }
ckpt.variant @a_v0 of @a_step fates [offload] replay_results [false] state_gradients [true]
