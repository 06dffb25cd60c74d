// A pass whose work another must prepare says which one to run; so does the
// check of what it would have made. A module without blocks is fine.
//
// RUN: not ckpt-opt %s --ckpt-select 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ckpt-opt %s --ckpt-verify-selected 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ckpt-opt %s --ckpt-rematerialize 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ckpt-opt %s --ckpt-offload-insertion 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ckpt-opt %s --ckpt-segment-schedule 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ckpt-opt %s --ckpt-differentiate --ckpt-select --ckpt-rematerialize 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not ckpt-opt %s --ckpt-differentiate --ckpt-select --ckpt-offload-insertion 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not ckpt-opt %s --ckpt-differentiate --ckpt-select --ckpt-segment-schedule 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: echo "" | ckpt-opt --ckpt-select --ckpt-verify-selected --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule

// STEP: wrong-order-invalid.mlir:[[#@LINE+4]]:1: error: 'ckpt.block' op expected a ckpt.step of it, found none; run ckpt-differentiate
// PLAN: error: 'ckpt.step' op expected a ckpt.variant of it, found none; run ckpt-plan

ckpt.size @n
ckpt.block @b states(%x : !ckpt.tensor<n x f32> differentiable) {
  %y = ckpt.silu %x : !ckpt.tensor<n x f32>
  ckpt.return %y : !ckpt.tensor<n x f32>
}
ckpt.stack @model { ckpt.repeat @b, 2 }
