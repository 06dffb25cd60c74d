// `ckpt.transpose`.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @tokens_last
// CHECK: ckpt.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : !ckpt.tensor<batch x image x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x 8 x image x bf16>
ckpt.kernel @tokens_last row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %t = ckpt.transpose %x {permutation = array<i64: 0, 2, 1>} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %t : !ckpt.tensor<batch x 8 x image x bf16>
}

// CHECK-LABEL: ckpt.kernel @rotate
// Dimension i of the result is dimension permutation[i] of x.
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<b x c x a x f32>
ckpt.kernel @rotate row_wise(%x: !ckpt.tensor<a x b x c x f32>) workspace "0" flops "0" traffic "0" {
  %t = ckpt.transpose %x {permutation = array<i64: 1, 2, 0>} : !ckpt.tensor<a x b x c x f32>
  ckpt.yield %t : !ckpt.tensor<b x c x a x f32>
}
