// `ckpt.rope`: one table for all samples or one each, and the inverse.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @shared_table
// CHECK: ckpt.rope %{{.*}}, %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 2 x 8 x bf16>, !ckpt.tensor<image x 4 x f32>{{$}}
ckpt.kernel @shared_table row_wise(%x: !ckpt.tensor<batch x image x 2 x 8 x bf16>, %cos: !ckpt.tensor<image x 4 x f32>, %sin: !ckpt.tensor<image x 4 x f32>) workspace "0" flops "0" traffic "0" {
  %r = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 2 x 8 x bf16>, !ckpt.tensor<image x 4 x f32>
  ckpt.yield %r : !ckpt.tensor<batch x image x 2 x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @table_per_sample
// CHECK: ckpt.rope %{{.*}}, %{{.*}}, %{{.*}} {inverse} :
ckpt.kernel @table_per_sample row_wise(%x: !ckpt.tensor<batch x image x 2 x 8 x bf16>, %cos: !ckpt.tensor<batch x image x 4 x f32>, %sin: !ckpt.tensor<batch x image x 4 x f32>) workspace "0" flops "0" traffic "0" {
  %r = ckpt.rope %x, %cos, %sin {inverse} : !ckpt.tensor<batch x image x 2 x 8 x bf16>, !ckpt.tensor<batch x image x 4 x f32>
  ckpt.yield %r : !ckpt.tensor<batch x image x 2 x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @symbolic_width
// CHECK: ckpt.rope
ckpt.kernel @symbolic_width row_wise(%x: !ckpt.tensor<batch x image x 2 x 2*half x f32>, %cos: !ckpt.tensor<image x half x f32>, %sin: !ckpt.tensor<image x half x f32>) workspace "0" flops "0" traffic "0" {
  %r = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 2 x 2*half x f32>, !ckpt.tensor<image x half x f32>
  ckpt.yield %r : !ckpt.tensor<batch x image x 2 x 2*half x f32>
}
