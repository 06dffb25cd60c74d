// The order of phases: pairs of phase (0 forward, 1 replay, 2 backward) and
// block. Forwards in order; then from the last segment to the first its
// replays in order and its backwards in reverse.
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=2 blocks=3" --ckpt-rematerialize --ckpt-segment-schedule | FileCheck %s --check-prefix=SEGMENTS
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-segment-schedule | FileCheck %s --check-prefix=NONE
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth-ffn interval=2 blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule | FileCheck %s --check-prefix=FFN

// Segments {0, 1} and {2}: replay and backward of 2, then replays of 0 and 1
// before the backwards of 1 and 0.
// SEGMENTS: ckpt.table [{{.*}}] segments [0, 2, 1, 2, 1, 1] order [0, 0, 0, 1, 0, 2, 1, 2, 2, 2, 1, 0, 1, 1, 2, 1, 2, 0]

// Nothing is replayed.
// NONE: ckpt.table [{{.*}}] segments [0, 1, 0, 1, 1, 0] order [0, 0, 0, 1, 2, 1, 2, 0]

// Block 1 is not checkpointed and has no replay.
// FFN: ckpt.table [{{.*}}] segments [0, 1, 1, 1, 1, 0] order [0, 0, 0, 1, 2, 1, 1, 0, 2, 0]
