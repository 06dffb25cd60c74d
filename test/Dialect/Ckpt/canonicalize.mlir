// Folds of the tensor ops, each beside a case that it must leave alone.
//
// RUN: ckpt-opt %s --canonicalize | FileCheck %s

// A cast to the type that is there.
// CHECK-LABEL: ckpt.kernel @cast_same
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @cast_same row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.cast %x {to = bf16} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// bf16 to f32 and back loses nothing.
// CHECK-LABEL: ckpt.kernel @cast_back
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @cast_back row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.cast %x {to = f32} : !ckpt.tensor<batch x image x 8 x bf16>
  %1 = ckpt.cast %0 {to = bf16} : !ckpt.tensor<batch x image x 8 x f32>
  %y = ckpt.silu %1 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// f32 to bf16 and back rounds: it stays.
// CHECK-LABEL: ckpt.kernel @cast_rounds
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.cast %[[X]] {to = bf16}
// CHECK-NEXT: ckpt.cast %{{.*}} {to = f32}
// CHECK-NEXT: ckpt.silu
ckpt.kernel @cast_rounds row_wise(%x: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.cast %x {to = bf16} : !ckpt.tensor<8 x f32>
  %1 = ckpt.cast %0 {to = f32} : !ckpt.tensor<8 x bf16>
  %y = ckpt.silu %1 : !ckpt.tensor<8 x f32>
  ckpt.yield %y : !ckpt.tensor<8 x f32>
}

// 1 x + 0.
// CHECK-LABEL: ckpt.kernel @scale_one
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @scale_one row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.scale %x : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// 1 x + 1 stays.
// CHECK-LABEL: ckpt.kernel @scale_offset
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.scale
// CHECK-NEXT: ckpt.silu
ckpt.kernel @scale_offset row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.scale %x {offset = 1.0} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// One operand.
// CHECK-LABEL: ckpt.kernel @concat_one
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @concat_one row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.concat %x {dim = 0} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// Everything.
// CHECK-LABEL: ckpt.kernel @slice_all
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @slice_all row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.slice %x {dim = 1, offset = "0", extent = "image"} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// The shape that is there.
// CHECK-LABEL: ckpt.kernel @reshape_same
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @reshape_same row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.reshape %x {shape = ["batch", "image", "8"]} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// A reshape of a reshape.
// CHECK-LABEL: ckpt.kernel @reshape_twice
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.reshape %[[X]] {shape = ["batch*image", "8"]}
// CHECK-NEXT: ckpt.yield
ckpt.kernel @reshape_twice row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.reshape %x {shape = ["batch", "image", "2", "4"]} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.reshape %0 {shape = ["batch*image", "8"]} : !ckpt.tensor<batch x image x 2 x 4 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch*image x 8 x bf16>
}

// The identity.
// CHECK-LABEL: ckpt.kernel @transpose_identity
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @transpose_identity row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.transpose %x {permutation = array<i64: 0, 1, 2>} : !ckpt.tensor<batch x image x 8 x bf16>
  %y = ckpt.silu %0 : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// outer[i] of inner: (1, 2, 0) at 0, 2, 1 is (1, 0, 2).
// CHECK-LABEL: ckpt.kernel @transpose_twice
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.transpose %[[X]] {permutation = array<i64: 1, 0, 2>} : !ckpt.tensor<a x b x c x f32>
// CHECK-NEXT: ckpt.yield %{{.*}} : !ckpt.tensor<b x a x c x f32>
ckpt.kernel @transpose_twice row_wise(%x: !ckpt.tensor<a x b x c x f32>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.transpose %x {permutation = array<i64: 1, 2, 0>} : !ckpt.tensor<a x b x c x f32>
  %y = ckpt.transpose %0 {permutation = array<i64: 0, 2, 1>} : !ckpt.tensor<b x c x a x f32>
  ckpt.yield %y : !ckpt.tensor<b x a x c x f32>
}

// There and back.
// CHECK-LABEL: ckpt.kernel @transpose_back
// CHECK-SAME: (%[[X:.*]]: !ckpt
// CHECK-NEXT: ckpt.silu %[[X]]
ckpt.kernel @transpose_back row_wise(%x: !ckpt.tensor<a x b x f32>) workspace "0" flops "0" traffic "0" {
  %0 = ckpt.transpose %x {permutation = array<i64: 1, 0>} : !ckpt.tensor<a x b x f32>
  %1 = ckpt.transpose %0 {permutation = array<i64: 1, 0>} : !ckpt.tensor<b x a x f32>
  %y = ckpt.silu %1 : !ckpt.tensor<a x b x f32>
  ckpt.yield %y : !ckpt.tensor<a x b x f32>
}

// A block returns what an op in it makes: a fold may not make it return an
// argument, which block_c8 forbids.
// CHECK-LABEL: ckpt.block @identity
// CHECK: %[[Y:.*]] = ckpt.scale %x
// CHECK-NEXT: ckpt.return %[[Y]]
ckpt.block @identity states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.scale %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
