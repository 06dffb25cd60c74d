// Ops that backwards are made of.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @linear_dx
// CHECK: ckpt.linear_dx %{{.*}}, %{{.*}} : !ckpt.tensor<batch x 32 x bf16>, !ckpt.tensor<32 x 8 x bf16>{{$}}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x 8 x bf16>
ckpt.kernel @linear_dx row_wise(%dy: !ckpt.tensor<batch x 32 x bf16>, %w: !ckpt.tensor<32 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %dx = ckpt.linear_dx %dy, %w : !ckpt.tensor<batch x 32 x bf16>, !ckpt.tensor<32 x 8 x bf16>
  ckpt.yield %dx : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @linear_dw
// CHECK: ckpt.linear_dw %{{.*}}, %{{.*}} {to = f32}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<32 x 8 x f32>
ckpt.kernel @linear_dw row_wise(%dy: !ckpt.tensor<batch x 32 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %dw = ckpt.linear_dw %dy, %x {to = f32} : !ckpt.tensor<batch x 32 x bf16>, !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %dw : !ckpt.tensor<32 x 8 x f32>
}

// CHECK-LABEL: ckpt.kernel @sdpa_dx
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = ckpt.sdpa_dx
// CHECK: ckpt.yield %{{.*}}, %{{.*}}, %{{.*}} : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>
ckpt.kernel @sdpa_dx row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 4 x f32>, %o: !ckpt.tensor<batch x image x 2 x 4 x f32>, %lse: !ckpt.tensor<batch x 2 x image x f32>, %do: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  %dq, %dk, %dv = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %dq, %dk, %dv : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>
}

// CHECK-LABEL: ckpt.kernel @layer_norm_dx
// CHECK: ckpt.layer_norm_dx %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
ckpt.kernel @layer_norm_dx row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 2 x f32>, %w: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  %dx = ckpt.layer_norm_dx %dy, %x, %stats, %w : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>, !ckpt.tensor<8 x f32>
  ckpt.yield %dx : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @rms_norm_dx
// CHECK: ckpt.rms_norm_dx %{{.*}}, %{{.*}}, %{{.*}} :
ckpt.kernel @rms_norm_dx row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 1 x f32>) workspace "0" flops "0" traffic "0" {
  %dx = ckpt.rms_norm_dx %dy, %x, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>
  ckpt.yield %dx : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @normalize
// CHECK: ckpt.normalize
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x 8 x f32>
ckpt.kernel @normalize row_wise(%x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 2 x f32>) workspace "0" flops "0" traffic "0" {
  %xhat = ckpt.normalize %x, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>
  ckpt.yield %xhat : !ckpt.tensor<batch x 8 x f32>
}

// CHECK-LABEL: ckpt.kernel @silu_dx
// CHECK: ckpt.silu_dx %{{.*}}, %{{.*}} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @silu_dx row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %dx : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @gelu_dx
// CHECK: ckpt.gelu_dx %{{.*}}, %{{.*}} {approximate = erf} : !ckpt.tensor<batch x 8 x bf16>{{$}}
ckpt.kernel @gelu_dx row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %dx = ckpt.gelu_dx %dy, %x {approximate = erf} : !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %dx : !ckpt.tensor<batch x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @pad
// CHECK: ckpt.pad %{{.*}} {dim = 1 : i64, extent = "image + text", offset = "text"}
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x image + text x 8 x bf16>
ckpt.kernel @pad row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %p = ckpt.pad %x {dim = 1 : i64, extent = "image + text", offset = "text"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %p : !ckpt.tensor<batch x image + text x 8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @reduce_sum
// CHECK: ckpt.reduce_sum %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16> -> !ckpt.tensor<batch x 1 x 8 x f32>
ckpt.kernel @reduce_sum row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.reduce_sum %x : !ckpt.tensor<batch x image x 8 x bf16> -> !ckpt.tensor<batch x 1 x 8 x f32>
  ckpt.yield %s : !ckpt.tensor<batch x 1 x 8 x f32>
}

// CHECK-LABEL: ckpt.kernel @reduce_sum_rank
// CHECK: ckpt.reduce_sum %{{.*}} : !ckpt.tensor<batch x image x 8 x bf16> -> !ckpt.tensor<8 x bf16>
ckpt.kernel @reduce_sum_rank row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.reduce_sum %x : !ckpt.tensor<batch x image x 8 x bf16> -> !ckpt.tensor<8 x bf16>
  ckpt.yield %s : !ckpt.tensor<8 x bf16>
}

// CHECK-LABEL: ckpt.kernel @accumulate
// CHECK: ckpt.accumulate
// CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<batch x 1 x 8 x f32>
ckpt.kernel @accumulate row_wise(%sum: !ckpt.tensor<batch x 1 x 8 x f32>, %x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  %s = ckpt.accumulate %sum, %x : !ckpt.tensor<batch x 1 x 8 x f32>, !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %s : !ckpt.tensor<batch x 1 x 8 x f32>
}
