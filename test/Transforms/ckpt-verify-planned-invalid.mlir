// What is not planned: each pass of the level left out in turn, and a copy out
// that was lost.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-verify-planned 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-verify-planned 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-rematerialize --ckpt-verify-planned 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth" --ckpt-rematerialize --ckpt-segment-schedule --ckpt-verify-planned 2>&1 | FileCheck %s --check-prefix=COPY
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule -o %t.mlir
// RUN: ckpt-opt %t.mlir --ckpt-verify-planned -o /dev/null
// RUN: sed '/ckpt.copy_out/d' %t.mlir | not ckpt-opt --ckpt-verify-planned 2>&1 | FileCheck %s --check-prefix=LOST

// TABLE: error: expected one ckpt.table, got 0
// EMPTY: error: 'ckpt.variant' op expected a filled forward, replay and backward; run ckpt-rematerialize
// ORDER: error: 'ckpt.table' op expected an order of phases; run ckpt-segment-schedule
// COPY: error: 'ckpt.save' op expected a ckpt.copy_out of "x", whose fate is offload; run ckpt-offload-insertion
// LOST: error: 'ckpt.copy_in' op expected a ckpt.copy_out "x" in the forward, found none
