// `ckpt.linear`: with and without bias; rows of any rank; types at the end that
// repeat the one before may be left out, and are.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @bias
// CHECK: %{{.*}} = ckpt.linear %{{.*}}, %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<32 x 8 x bf16>, !ckpt.tensor<32 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 32 x bf16>
ckpt.kernel @bias row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>, %w: !ckpt.tensor<32 x 8 x bf16>, %b: !ckpt.tensor<32 x bf16>) workspace "0" flops "0" traffic "0" {
  %h = ckpt.linear %x, %w, %b : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<32 x 8 x bf16>, !ckpt.tensor<32 x bf16>
  ckpt.yield %h : !ckpt.tensor<batch x image x 32 x bf16>
}

// CHECK-LABEL: ckpt.kernel @no_bias
// CHECK: ckpt.linear %{{.*}}, %{{.*}} : !ckpt.tensor<8 x f32>, !ckpt.tensor<32 x 8 x f32>{{$}}
ckpt.kernel @no_bias row_wise(%x: !ckpt.tensor<8 x f32>, %w: !ckpt.tensor<32 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.linear %x, %w : !ckpt.tensor<8 x f32>, !ckpt.tensor<32 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<32 x f32>
}

// CHECK-LABEL: ckpt.kernel @symbolic_features
// Extents are compared as polynomials, whatever their order.
// CHECK: ckpt.linear %{{.*}}, %{{.*}} : !ckpt.tensor<batch x a + b x f32>, !ckpt.tensor<2*c x a + b x f32>{{$}}
ckpt.kernel @symbolic_features row_wise(%x: !ckpt.tensor<batch x a+b x f32>, %w: !ckpt.tensor<2*c x a+b x f32>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.linear %x, %w : !ckpt.tensor<batch x b + a x f32>, !ckpt.tensor<c*2 x a + b x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 2*c x f32>
}

// CHECK-LABEL: ckpt.kernel @repeated_types
// CHECK: ckpt.linear %{{.*}}, %{{.*}} : !ckpt.tensor<8 x 8 x f32>{{$}}
ckpt.kernel @repeated_types row_wise(%x: !ckpt.tensor<8 x 8 x f32>, %w: !ckpt.tensor<8 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.linear %x, %w : !ckpt.tensor<8 x 8 x f32>, !ckpt.tensor<8 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<8 x 8 x f32>
}
