// Field case C3: no cleanup merges a replay with its forward. Four blocks under
// `torch`, two of them in a segment, then common subexpression elimination,
// canonicalization and loop-invariant code motion: not a character changes.
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule -o %t.before
// RUN: ckpt-opt %t.before -cse -canonicalize -loop-invariant-code-motion -cse -canonicalize -o %t.after
// RUN: diff %t.before %t.after
// RUN: FileCheck %s < %t.after
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule -o %t.before
// RUN: ckpt-opt %t.before -cse -canonicalize -loop-invariant-code-motion -cse -canonicalize -o %t.after
// RUN: diff %t.before %t.after

// Block 0 runs f0, f1 and f2 twice: in the forward and in the replay.
// CHECK-LABEL: ckpt.variant @mlp_v0
// CHECK:         forward
// CHECK:           id "f0"
// CHECK:           id "f1"
// CHECK:           id "f2"
// CHECK:         replay
// CHECK:           id "f0"
// CHECK:           id "f1"
// CHECK:           id "f2"
// CHECK:         backward
