// The forward, replay and backward of a variant. The numbers of the MLP are
// those of a pre-norm block: f0 norm, f1 linear and gelu, f2 linear and
// residual; b0, b1, b2 their backwards.
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch-ffn blocks=1" --ckpt-rematerialize | FileCheck %s --check-prefix=FFN
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=2" --ckpt-rematerialize | FileCheck %s --check-prefix=SEGMENT
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=1" --ckpt-rematerialize | FileCheck %s --check-prefix=NONE
// RUN: ckpt-opt %S/Inputs/lora.mlir --ckpt-plan --ckpt-rematerialize | FileCheck %s --check-prefix=LORA

// Statistics and linear0 are recomputed: the forward's f0 and f1 leave them
// out (no use), the replay runs f0 and f1 again and not f2, whose result nobody
// asks for; f1's replay leaves out the gelu. x is kept.
//
// FFN:      ckpt.variant @mlp_v0
// FFN-NEXT:   forward(%[[X:[^:]*]]: {{.*}}, %[[W1:[^:]*]]: {{.*}}, %[[W2:[^:]*]]: {{.*}}) {
// FFN-NEXT:     ckpt.save %[[X]] "x"
// FFN-NEXT:     %[[N:.*]]:2 = ckpt.launch @layer_norm id "f0"(%[[X]])
// FFN-NEXT:     %[[A:.*]]:2 = ckpt.launch @linear_gelu id "f1"(%[[N]]#0, %[[W1]])
// FFN-NEXT:     %[[Y:.*]] = ckpt.launch @linear_add id "f2"(%[[A]]#0, %[[W2]], %[[X]])
// FFN-NEXT:     ckpt.yield %[[Y]]
// FFN:        replay(%{{[^:]*}}: {{.*}}, %[[W1:[^:]*]]: {{.*}}, %{{[^:]*}}: {{.*}}) {
// FFN-NEXT:     %[[X:.*]] = ckpt.load "x"
// FFN-NEXT:     %[[N:.*]]:2 = ckpt.launch @layer_norm id "f0"(%[[X]])
// FFN-NEXT:     ckpt.save %[[N]]#1 "layer_norm0.stats"
// FFN-NEXT:     %[[A:.*]]:2 = ckpt.launch @linear_gelu id "f1"(%[[N]]#0, %[[W1]])
// FFN-NEXT:     ckpt.save %[[A]]#1 "linear0"
// FFN-NEXT:     ckpt.yield
// FFN-NEXT:   }
// FFN-NEXT:   backward(%[[DY:[^:]*]]: {{.*}}, %[[W1:[^:]*]]: {{.*}}, %[[W2:[^:]*]]: {{.*}}) {
// FFN-NEXT:     %[[H:.*]] = ckpt.load "linear0"
// FFN-NEXT:     %[[DH:.*]] = ckpt.launch @linear_dx_gelu_dx id "b0"(%[[DY]], %[[W2]], %[[H]])
// FFN-NEXT:     %[[DN:.*]] = ckpt.launch @linear_dx id "b1"(%[[DH]], %[[W1]])
// FFN-NEXT:     %[[X:.*]] = ckpt.load "x"
// FFN-NEXT:     %[[S:.*]] = ckpt.load "layer_norm0.stats"
// FFN-NEXT:     %[[DX:.*]] = ckpt.launch @layer_norm_dx_add id "b2"(%[[DN]], %[[X]], %[[S]], %[[DY]])
// FFN-NEXT:     ckpt.yield %[[DX]]

// In a segment of two, block 0 replays its result too; block 1's state is the
// argument of its replay, which saves it for the backward.
//
// SEGMENT:      ckpt.variant @mlp_v0 {{.*}} replay_results [true]
// SEGMENT:        replay(
// SEGMENT-NEXT:     %[[X:.*]] = ckpt.load "x"
// SEGMENT:          id "f0"(%[[X]])
// SEGMENT:          %[[Y:.*]] = ckpt.launch @linear_add id "f2"({{.*}}, %[[X]])
// SEGMENT-NEXT:     ckpt.yield %[[Y]]
// SEGMENT:      ckpt.variant @mlp_v1 {{.*}} fates [recompute, recompute, recompute] replay_results [false]
// SEGMENT-NEXT:   forward
// SEGMENT-NOT:      ckpt.save
// SEGMENT:        replay(%[[X:[^:]*]]:
// SEGMENT-NEXT:     ckpt.save %[[X]] "x"
// SEGMENT-NEXT:     ckpt.launch @layer_norm id "f0"(%[[X]])
// SEGMENT-NOT:      "f2"
// SEGMENT:          ckpt.yield
// SEGMENT-NEXT:   }
// SEGMENT-NEXT:   backward
// SEGMENT:          ckpt.load "x"
// SEGMENT:      ckpt.table

// All kept: the replay is empty.
//
// NONE:      ckpt.variant @mlp_v0
// NONE-NEXT:   forward
// NONE-NEXT:     ckpt.save {{.*}} "x"
// NONE:          ckpt.save {{.*}} "layer_norm0.stats"
// NONE:          ckpt.save {{.*}} "linear0"
// NONE:        replay({{.*}}) {
// NONE-NEXT:     ckpt.yield
// NONE-NEXT:   }

// Field case V1: nobody asks for the gradient of block 0's state, so b5 is left
// out and x, which it alone reads, is not saved; A, B and the running sum of c
// are made all the same.
//
// LORA:      ckpt.variant @lora_v0 {{.*}} state_gradients [false]
// LORA-NEXT:   forward
// LORA-NOT:      ckpt.save {{.*}} "x"
// LORA:        backward(%[[DY:[^:]*]]: {{.*}}, %[[SUM:[^:]*]]: !ckpt.tensor<8 x f32>
// LORA:          %[[C:.*]] = ckpt.launch @mul_accumulate id "b1"({{.*}}, %[[SUM]])
// LORA:          %[[B:.*]] = ckpt.launch @linear_dw_cast id "b3"
// LORA:          %[[A:.*]] = ckpt.launch @linear_dw_cast_0 id "b4"
// LORA-NOT:      "b5"
// LORA:          ckpt.yield %[[C]], %[[A]], %[[B]]
// LORA:      ckpt.variant @lora_v1 {{.*}} state_gradients [true]
// LORA:          %[[DX:.*]] = ckpt.launch @linear_dx_silu_dx_add id "b5"
// LORA:          ckpt.yield %[[DX]], %
