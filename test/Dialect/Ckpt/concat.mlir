// `ckpt.concat`: extents add up symbolically.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @tokens
// CHECK: ckpt.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : !ckpt.tensor<batch x text x 8 x bf16>, !ckpt.tensor<batch x image x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image + text x 8 x bf16>
ckpt.kernel @tokens row_wise(%t: !ckpt.tensor<batch x text x 8 x bf16>, %x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %c = ckpt.concat %t, %x {dim = 1 : i64} : !ckpt.tensor<batch x text x 8 x bf16>, !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %c : !ckpt.tensor<batch x image + text x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @three
// CHECK: ckpt.concat %{{.*}}, %{{.*}}, %{{.*}} {dim = 2 : i64} : !ckpt.tensor<batch x image x 8 x bf16>{{$}}
ckpt.kernel @three row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %c = ckpt.concat %x, %x, %x {dim = 2} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %c : !ckpt.tensor<batch x image x 24 x bf16>
}
