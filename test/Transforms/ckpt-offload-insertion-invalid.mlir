// Copies need filled variants, once.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth-ffn" --ckpt-offload-insertion 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth-ffn" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-offload-insertion 2>&1 | FileCheck %s --check-prefix=TWICE

// EMPTY: error: 'ckpt.variant' op expected filled regions; run ckpt-rematerialize
// TWICE: error: 'ckpt.variant' op expected the forward to save 'x', whose fate is offload
