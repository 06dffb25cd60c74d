// Every op of a step points at the op of the block that it comes from.
//
// RUN: ckpt-opt %s --ckpt-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %h = ckpt.gelu %x {approximate = erf} : !t loc("first":1:1)
  %y = ckpt.silu %h : !t loc("second":2:2)
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @a_step
// CHECK:         ckpt.gelu {{.*}} loc("first":1:1)
// CHECK-NEXT:    ckpt.save {{.*}} "gelu0" {{.*}} loc("first":1:1)
// CHECK-NEXT:    ckpt.silu {{.*}} loc("second":2:2)
// CHECK:         ckpt.load "gelu0" {{.*}} loc("first":1:1)
// CHECK:         ckpt.silu_dx {{.*}} loc("second":2:2)
// CHECK:         ckpt.gelu_dx {{.*}} loc("first":1:1)
