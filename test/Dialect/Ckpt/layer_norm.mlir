// `ckpt.layer_norm`: affine or not, parameters in f32 beside a bf16 x, and the
// statistics that the backward reads.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @affine
// CHECK: ckpt.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<8 x f32>{{$}}
ckpt.kernel @affine row_wise(%x: !ckpt.tensor<batch x 8 x bf16>, %w: !ckpt.tensor<8 x f32>, %b: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  %n = ckpt.layer_norm %x, %w, %b {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<8 x f32>
  ckpt.yield %n : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @weight_only
// CHECK: ckpt.layer_norm %{{.*}}, %{{.*}} {eps = 0.000000e+00 : f64} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<8 x bf16>{{$}}
ckpt.kernel @weight_only row_wise(%x: !ckpt.tensor<batch x 8 x bf16>, %w: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  %n = ckpt.layer_norm %x, %w {eps = 0.0} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<8 x bf16>
  ckpt.yield %n : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @plain
// CHECK: ckpt.layer_norm %{{.*}} {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @plain row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %n = ckpt.layer_norm %x {eps = 1.0e-5} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %n : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @with_stats
// CHECK: ckpt.layer_norm %{{.*}} {eps = 1.000000e-05 : f64, with_stats}
// CHECK: ckpt.yield %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x image x 2 x f32>
ckpt.kernel @with_stats row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %n, %stats = ckpt.layer_norm %x {eps = 1.0e-5, with_stats} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %n, %stats : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x image x 2 x f32>
}
