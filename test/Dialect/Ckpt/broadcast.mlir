// `ckpt.add`, `ckpt.sub`, `ckpt.mul`: a row for every sample, one for all, a column,
// and both sides broadcast.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @add
// CHECK: ckpt.add %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.kernel @add row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>, %row: !ckpt.tensor<batch x 1 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.add %x, %row : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @sub
// CHECK: ckpt.sub %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.kernel @sub row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>, %row: !ckpt.tensor<batch x 1 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.sub %x, %row : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @mul
// CHECK: ckpt.mul %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.kernel @mul row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>, %row: !ckpt.tensor<batch x 1 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.mul %x, %row : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @channel_row
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.kernel @channel_row row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>, %row: !ckpt.tensor<8 x bf16>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.mul %x, %row : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @both
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.kernel @both row_wise(%a: !ckpt.tensor<batch x 1 x 8 x bf16>, %b: !ckpt.tensor<image x 1 x bf16>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.add %a, %b : !ckpt.tensor<batch x 1 x 8 x bf16>, !ckpt.tensor<image x 1 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @same
// CHECK: ckpt.add %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16>{{$}}
ckpt.kernel @same row_wise(%a: !ckpt.tensor<batch x image x 8 x bf16>, %b: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.add %a, %b : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<batch x image x 8 x bf16>
}
