// Ops that look at one element: cast, scale, silu, gelu.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @cast
// CHECK: ckpt.cast %{{.*}} {to = f32} : !ckpt.tensor<batch x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x 8 x f32>
ckpt.kernel @cast row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %c = ckpt.cast %x {to = f32} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %c : !ckpt.tensor<batch x 8 x f32>
}

// CHECK-LABEL: ckpt.kernel @scale
// CHECK: ckpt.scale %{{.*}} {factor = 2.000000e+00 : f64} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @scale row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.scale %x {factor = 2.000000e+00 : f64} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %s : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @scale_offset
// CHECK: ckpt.scale %{{.*}} {offset = 1.000000e+00 : f64} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @scale_offset row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.scale %x {offset = 1.0} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %s : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @silu
// CHECK: ckpt.silu %{{.*}} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @silu row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.silu %x : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %s : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @gelu_tanh
// CHECK: ckpt.gelu %{{.*}} {approximate = tanh} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @gelu_tanh row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %g = ckpt.gelu %x {approximate = tanh} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %g : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @gelu_erf
// Discardable attributes stay.
// CHECK: ckpt.gelu %{{.*}} {approximate = erf, last, scope = "ffn"} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @gelu_erf row_wise(%x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %g = ckpt.gelu %x {approximate = erf, scope = "ffn", last} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %g : !ckpt.tensor<batch x 8 x bf16>
}
