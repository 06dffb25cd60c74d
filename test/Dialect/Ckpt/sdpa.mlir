// `ckpt.sdpa`: self and cross attention, scale, and the result that the backward
// reads.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @cross
// CHECK: ckpt.sdpa %{{.*}}, %{{.*}}, %{{.*}} {scale = 1.250000e-01 : f64} : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>{{$}}
ckpt.kernel @cross row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  %o = ckpt.sdpa %q, %k, %v {scale = 1.250000e-01 : f64} : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>
  ckpt.yield %o : !ckpt.tensor<batch x image x 2 x 4 x f32>
}

// CHECK-LABEL: ckpt.kernel @self
// CHECK: ckpt.sdpa %{{.*}}, %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 2 x 4 x f32>{{$}}
ckpt.kernel @self row_wise(%x: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  %o = ckpt.sdpa %x, %x, %x : !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %o : !ckpt.tensor<batch x image x 2 x 4 x f32>
}

// CHECK-LABEL: ckpt.kernel @with_lse
// CHECK: %{{.*}}, %{{.*}} = ckpt.sdpa
// CHECK: ckpt.yield %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>
ckpt.kernel @with_lse row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  %o, %lse = ckpt.sdpa %q, %k, %v {with_lse} : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>
  ckpt.yield %o, %lse : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>
}
