// `ckpt.step`, `ckpt.kernel`, `ckpt.variant`, `ckpt.table` and what their regions
// hold: a SiLU block through levels 2 to 4.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}

// CHECK-LABEL: ckpt.step @act_step of @act
// CHECK-NEXT: forward(%[[X:.*]]: !ckpt.tensor<batch x 8 x f32>) {
// CHECK-NEXT: ckpt.save %[[X]] "x" : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: %[[Y:.*]] = ckpt.silu %[[X]] : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: ckpt.yield %[[Y]] : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: }
// CHECK-NEXT: backward(%[[DY:.*]]: !ckpt.tensor<batch x 8 x f32>) {
// CHECK-NEXT: %[[X:.*]] = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: %[[DX:.*]] = ckpt.silu_dx %[[DY]], %[[X]] : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: ckpt.yield %[[DX]] : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: }
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }

// CHECK-LABEL: ckpt.kernel @k0 row_wise(%{{.*}}: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
// CHECK-NEXT: ckpt.silu
// CHECK-NEXT: ckpt.yield
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}

// CHECK: ckpt.kernel @g gemm(
// CHECK: ckpt.kernel @af attention_forward(
// CHECK: ckpt.kernel @ab attention_backward({{.*}} attributes {note = 1 : i64} {
ckpt.kernel @g gemm(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @af attention_forward(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @ab attention_backward(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" attributes {note = 1} {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}

// CHECK-LABEL: ckpt.variant @act_v0 of @act_step fates [keep] replay_results [false] state_gradients [true]
// CHECK-NEXT: forward(%[[X:.*]]: !ckpt.tensor<batch x 8 x f32>) {
// CHECK-NEXT: ckpt.launch @k0 id "f0"(%[[X]]) {in_place = array<i64: 0, 0>} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: ckpt.save
// CHECK-NEXT: ckpt.yield
// CHECK-NEXT: }
// CHECK-NOT: replay(
// CHECK-NOT: backward(
ckpt.variant @act_v0 of @act_step fates [keep] replay_results [false] state_gradients [true]
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    %y = ckpt.launch @k0 id "f0"(%x) {in_place = array<i64: 0, 0>} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }

// CHECK-LABEL: ckpt.variant @act_v1 of @act_step fates [offload] replay_results [true] state_gradients [false]
// CHECK-NEXT: forward(
// CHECK-NEXT: ckpt.copy_out %{{.*}} "x" : !ckpt.tensor<batch x 8 x f32>
// CHECK: replay(
// CHECK-NEXT: ckpt.copy_in "x" : !ckpt.tensor<batch x 8 x f32>
// CHECK-NEXT: ckpt.launch @k0 id "f0"(%{{.*}}) {scope = "ffn"}
// CHECK: backward(
ckpt.variant @act_v1 of @act_step fates [offload] replay_results [true] state_gradients [false]
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.copy_out %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.launch @k0 id "f0"(%x) : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  replay() {
    %x = ckpt.copy_in "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.launch @k0 id "f0"(%x) {scope = "ffn"} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield
  }

// Not filled yet.
// CHECK-LABEL: ckpt.variant @act_v2 of @act_step fates [unused] replay_results [false] state_gradients [false]{{$}}
ckpt.variant @act_v2 of @act_step fates [unused] replay_results [false] state_gradients [false]

// CHECK: ckpt.table [@act_v0, @act_v0] segments [0, 1, 1, 1, 1, 1] order [0, 0, 0, 1, 2, 1, 2, 0]
ckpt.table [@act_v0, @act_v0] segments [0, 1, 1, 1, 1, 1] order [0, 0, 0, 1, 2, 1, 2, 0]
// CHECK: ckpt.table [@act_v0, @act_v1] segments [0, 2, 0]{{$}}
ckpt.table [@act_v0, @act_v1] segments [0, 2, 0]
