// `ckpt.slice`: offsets and extents are sizes.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @image
// CHECK: ckpt.slice %{{.*}} {dim = 1 : i64, extent = "image", offset = "text"} : !ckpt.tensor<batch x image + text x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.kernel @image row_wise(%x: !ckpt.tensor<batch x image + text x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.slice %x {dim = 1 : i64, extent = "image", offset = "text"} : !ckpt.tensor<batch x image + text x 8 x bf16>
  ckpt.yield %s : !ckpt.tensor<batch x image x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @undecided
// Whether text + 4 <= image depends on the values: no error here.
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x text x 8 x bf16>
ckpt.kernel @undecided row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.slice %x {dim = 1, extent = "text", offset = "4"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %s : !ckpt.tensor<batch x text x 8 x bf16>
}
