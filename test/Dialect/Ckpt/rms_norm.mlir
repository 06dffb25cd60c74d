// `ckpt.rms_norm`: over the full width and per head, affine or not.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @per_head
// CHECK: ckpt.rms_norm %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 2 x 8 x bf16>, !ckpt.tensor<8 x bf16>{{$}}
ckpt.kernel @per_head row_wise(%x: !ckpt.tensor<batch x 2 x 8 x bf16>, %w: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  %n = ckpt.rms_norm %x, %w {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 2 x 8 x bf16>, !ckpt.tensor<8 x bf16>
  ckpt.yield %n : !ckpt.tensor<batch x 2 x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @with_stats
// CHECK: ckpt.yield %{{.*}}, %{{.*}} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>
ckpt.kernel @with_stats row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %n, %stats = ckpt.rms_norm %x {eps = 1.0e-5, with_stats} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %n, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>
}
