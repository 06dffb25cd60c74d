// The whole compile as one option: every level, with its checks.
//
// RUN: ckpt-opt %s --ckpt-pipeline="backend=unsloth-ffn interval=2" | FileCheck %s
// RUN: ckpt-opt %s --ckpt-pipeline="backend=torch segment-stride=2 interval=1 attention-once" | FileCheck %s --check-prefix=TORCH
// RUN: ckpt-opt %s --ckpt-pipeline="menu=true blocks=1" | FileCheck %s --check-prefix=MENU
// Level 3 can be had alone, and gives the same kernels.
// RUN: ckpt-opt %s --ckpt-verify-blocks --ckpt-differentiate --ckpt-verify-steps --ckpt-select --ckpt-verify-selected | FileCheck %s --check-prefix=SELECTED

ckpt.size @n
!x = !ckpt.tensor<n x 8 x f32>
ckpt.block @mlp states(%x : !x differentiable) params(%w "{i}.w" frozen : !ckpt.tensor<8 x 8 x f32>) {
  %a = ckpt.attention {
    %s = ckpt.silu %x : !x
    ckpt.yield %s : !x
  } : !x
  %y = ckpt.ffn {
    %h = ckpt.linear %a, %w : !x, !ckpt.tensor<8 x 8 x f32>
    %g = ckpt.gelu %h {approximate = erf} : !x
    ckpt.yield %g : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @mlp, 4 }

// Blocks 0 and 2 are checkpointed: i mod 2 = 0.
// CHECK: ckpt.kernel @silu row_wise
// CHECK: ckpt.kernel @linear_gelu gemm
// CHECK: ckpt.step @mlp_step of @mlp
// CHECK: ckpt.variant
// CHECK: ckpt.copy_out
// CHECK: ckpt.copy_in
// CHECK: ckpt.table {{.*}}segments {{.*}}order

// One block of two is checkpointed and replayed.
// TORCH-NOT: ckpt.copy_out
// TORCH: ckpt.table {{.*}}segments {{.*}}0, 1, 1, 1, 1, 0, 2, 1, 1, 3, 1, 0

// One block in the table, but the variants of all controls.
// MENU-COUNT-9: ckpt.variant
// MENU: ckpt.table [@{{[^,]*}}] segments

// SELECTED: ckpt.kernel @silu row_wise
// SELECTED: ckpt.kernel @linear_gelu gemm
// SELECTED-NOT: ckpt.variant
