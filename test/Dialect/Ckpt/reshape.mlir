// `ckpt.reshape`: the number of elements is kept for all values of the sizes.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @heads
// CHECK: ckpt.reshape %{{.*}} {shape = ["batch", "image", "2", "4"]} : !ckpt.tensor<batch x image x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 2 x 4 x bf16>
ckpt.kernel @heads row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %r = ckpt.reshape %x {shape = ["batch", "image", "2", "4"]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %r : !ckpt.tensor<batch x image x 2 x 4 x bf16>
}

// CHECK-LABEL: ckpt.kernel @rows
// Extents are brought to canonical form.
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<2*batch*image x 4 x bf16>
ckpt.kernel @rows row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %r = ckpt.reshape %x {shape = ["image*batch*2", "4"]} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %r : !ckpt.tensor<2*batch*image x 4 x bf16>
}

// CHECK-LABEL: ckpt.kernel @polynomials
// (image + text) batch 8, multiplied out.
// CHECK: ckpt.yield
ckpt.kernel @polynomials row_wise(%x: !ckpt.tensor<batch x image + text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  %r = ckpt.reshape %x {shape = ["8*batch*image + 8*batch*text"]} : !ckpt.tensor<batch x image + text x 8 x f32>
  ckpt.yield %r : !ckpt.tensor<8*batch*image + 8*batch*text x f32>
}
