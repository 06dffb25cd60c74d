// One variant per distinct demand, and the table of blocks.
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan | FileCheck %s --check-prefix=NONE
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth-ffn interval=2" | FileCheck %s --check-prefix=FFN
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=2 blocks=3" | FileCheck %s --check-prefix=TORCH
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=1 segment-stride=2" | FileCheck %s --check-prefix=STRIDE
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="menu=true" | FileCheck %s --check-prefix=MENU
// RUN: ckpt-opt %S/Inputs/lora.mlir --ckpt-plan | FileCheck %s --check-prefix=LORA
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth-ffn" --remarks-filter="ckpt-plan" 2>&1 | FileCheck %s --check-prefix=REMARK

// Fates are those of x, layer_norm0.stats and linear0, in this order.

// By default all that the backward reads is kept and each block is a segment
// of one that is not checkpointed.
// NONE:      ckpt.variant @mlp_v0 of @mlp_step fates [keep, keep, keep] replay_results [false] state_gradients [true]
// NONE-NOT:  forward(
// NONE:      ckpt.table [@mlp_v0, @mlp_v0, @mlp_v0, @mlp_v0] segments [0, 1, 0, 1, 1, 0, 2, 1, 0, 3, 1, 0]
// NONE-NOT:  order

// With *-ffn an interval chooses blocks: 0 and 2. The state of block 0 is the
// caller's, so it stays; that of block 2 goes to the host.
// FFN:      ckpt.variant @mlp_v0 {{.*}} fates [keep, recompute, recompute] replay_results [false]
// FFN-NEXT: ckpt.variant @mlp_v1 {{.*}} fates [keep, keep, keep] replay_results [false]
// FFN-NEXT: ckpt.variant @mlp_v2 {{.*}} fates [offload, recompute, recompute] replay_results [false]
// FFN-NEXT: ckpt.table [@mlp_v0, @mlp_v1, @mlp_v2, @mlp_v1] segments [0, 1, 1, 1, 1, 0, 2, 1, 1, 3, 1, 0]

// Segments {0, 1} and {2} of three blocks. Block 0 replays its result for
// block 1, whose state is recomputed.
// TORCH:      ckpt.variant @mlp_v0 {{.*}} fates [keep, recompute, recompute] replay_results [true]
// TORCH-NEXT: ckpt.variant @mlp_v1 {{.*}} fates [recompute, recompute, recompute] replay_results [false]
// TORCH-NEXT: ckpt.variant @mlp_v2 {{.*}} fates [keep, recompute, recompute] replay_results [false]
// TORCH-NEXT: ckpt.table [@mlp_v0, @mlp_v1, @mlp_v2] segments [0, 2, 1, 2, 1, 1]

// From each multiple of 2 one block is checkpointed.
// STRIDE: ckpt.table [@mlp_v0, @mlp_v1, @mlp_v0, @mlp_v1] segments [0, 1, 1, 1, 1, 0, 2, 1, 1, 3, 1, 0]

// The menu has every legal demand once, that of `none` first; the table stays
// that of the controls.
// MENU:      ckpt.variant @mlp_v0 {{.*}} fates [keep, keep, keep] replay_results [false] state_gradients [true]
// MENU:      fates [offload, recompute, recompute] replay_results [true]
// MENU:      ckpt.table [@mlp_v0, @mlp_v0, @mlp_v0, @mlp_v0]

// Field case V1: the first state needs no gradient, so block 0 makes none and
// its backward does not read x; A, B and c have theirs in both blocks.
// LORA:      ckpt.variant @lora_v0 {{.*}} fates [unused, keep, keep, keep] replay_results [false] state_gradients [false]
// LORA-NEXT: ckpt.variant @lora_v1 {{.*}} fates [keep, keep, keep, keep] replay_results [false] state_gradients [true]
// LORA-NEXT: ckpt.table [@lora_v0, @lora_v1]

// REMARK: [Analysis] fates | Category:ckpt-plan | blocks=0, layer_norm0.stats=recompute, linear0=recompute, variant=mlp_v0, x=keep
// REMARK: [Analysis] fates | Category:ckpt-plan | blocks="1, 2, 3", layer_norm0.stats=recompute, linear0=recompute, variant=mlp_v1, x=offload
