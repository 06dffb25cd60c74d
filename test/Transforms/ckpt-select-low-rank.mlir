// An adapter's product is added up beside its base: one kernel, of which neither
// product is stored. Its factor goes to the narrow operand.
//
// RUN: ckpt-opt %s --split-input-file --pass-pipeline='builtin.module(ckpt-verify-blocks,ckpt-differentiate,ckpt-select)' | FileCheck %s

ckpt.size @rows
!x = !ckpt.tensor<rows x 128 x bf16>
!low = !ckpt.tensor<rows x 16 x bf16>
!w = !ckpt.tensor<128 x 128 x bf16>
ckpt.block @adapter states(%x : !x differentiable)
    params(%w "w" frozen : !w, %bias "bias" frozen : !ckpt.tensor<128 x bf16>,
           %a "a" trainable : !ckpt.tensor<16 x 128 x bf16>,
           %b "b" trainable : !ckpt.tensor<128 x 16 x bf16>) {
  %base = ckpt.linear %x, %w, %bias : !x, !w, !ckpt.tensor<128 x bf16>
  %t = ckpt.linear %x, %a : !x, !ckpt.tensor<16 x 128 x bf16>
  %u = ckpt.linear %t, %b : !low, !ckpt.tensor<128 x 16 x bf16>
  %s = ckpt.scale %u {factor = 2.0} : !x
  %y = ckpt.add %base, %s : !x, !x
  %g = ckpt.silu %y : !x
  ckpt.return %g : !x
}
ckpt.stack @model { ckpt.repeat @adapter, 1 }

// CHECK: ckpt.kernel @linear_scale gemm
// CHECK-SAME: %[[X:.*]]: !ckpt.tensor<rows x 128 x bf16>, %[[A:[^:]*]]: !ckpt.tensor<16 x 128 x bf16>
// CHECK: %[[T:.*]] = ckpt.linear %[[X]], %[[A]]
// CHECK: %[[S:.*]] = ckpt.scale %[[T]] {factor = 2.0
// CHECK: ckpt.yield %[[S]], %[[T]]
// CHECK: ckpt.kernel @linear_linear_add_silu gemm
// CHECK: %[[BASE:.*]] = ckpt.linear %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: %[[LOW:.*]] = ckpt.linear %{{.*}}, %{{.*}} : !ckpt.tensor<rows x 16 x bf16>
// CHECK: %[[SUM:.*]] = ckpt.add %[[BASE]], %[[LOW]]
// CHECK: %[[G:.*]] = ckpt.silu %[[SUM]]
// CHECK: ckpt.yield %[[G]], %[[SUM]]
// The backward has the adapter's product first, and the base's with it.
// CHECK: ckpt.kernel @linear_dx_linear_dx_add gemm
// CHECK-LABEL: ckpt.step @adapter_step
// CHECK: ckpt.launch @linear_scale id "f0"
// CHECK-NEXT: ckpt.launch @linear_linear_add_silu id "f1"

// -----

// Left alone: a product that is read elsewhere, one that is too deep, and one
// with a bias of its own.

ckpt.size @rows
!x = !ckpt.tensor<rows x 128 x bf16>
!low = !ckpt.tensor<rows x 16 x bf16>
!mid = !ckpt.tensor<rows x 72 x bf16>
!w = !ckpt.tensor<128 x 128 x bf16>
!b = !ckpt.tensor<128 x 16 x bf16>
ckpt.block @apart states(%x : !x) inputs(%t : !low, %d : !mid)
    params(%w "w" frozen : !w, %b "b" frozen : !b,
           %deep "deep" frozen : !ckpt.tensor<128 x 72 x bf16>,
           %bias "bias" frozen : !ckpt.tensor<128 x bf16>) {
  %p = ckpt.linear %x, %w : !x, !w
  %u = ckpt.linear %t, %b : !low, !b
  %s = ckpt.add %p, %u : !x, !x
  %read = ckpt.mul %s, %u : !x, !x
  %q = ckpt.linear %read, %w : !x, !w
  %v = ckpt.linear %d, %deep : !mid, !ckpt.tensor<128 x 72 x bf16>
  %r = ckpt.add %q, %v : !x, !x
  %o = ckpt.linear %r, %w : !x, !w
  %l = ckpt.linear %t, %b, %bias : !low, !b, !ckpt.tensor<128 x bf16>
  %y = ckpt.add %o, %l : !x, !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @apart, 1 }

// CHECK-NOT: linear_linear
// CHECK-LABEL: ckpt.step @apart_step
