// Sizes that are no sizes, and modules that have no schedule.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=4,image=3" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=four" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=4,batch=5" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=4 profile=b200" 2>&1 | FileCheck %s --check-prefix=PROFILE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=4 pin-memory-max-buckets=-1" 2>&1 | FileCheck %s --check-prefix=BUCKETS
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=1000000000000000000" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-print-schedule="sizes=batch=4" 2>&1 | FileCheck %s --check-prefix=NO-PLAN
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-print-schedule="sizes=batch=4" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-rematerialize --ckpt-print-schedule="sizes=batch=4" 2>&1 | FileCheck %s --check-prefix=NO-ORDER
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics --ckpt-print-schedule="sizes=batch=4"

// MISSING: error: size batch: expected a value, found none; add sizes=batch=N
// UNKNOWN: error: sizes=image: expected one of batch, found image
// ZERO:    error: sizes=batch: expected at least 1, found 0
// TEXT:    error: sizes: expected name=value, found 'batch'
// NUMBER:  error: sizes: expected name=value, found 'batch=four'
// TWICE:   error: sizes=batch: expected one value, found a second one
// PROFILE: error: --profile: expected host or h200, found b200
// BUCKETS: error: --pin-memory-max-buckets: expected a non-negative integer, found '-1'
// LARGE:   error: {{.*}}expected at most 2^62 bytes, found {{.*}} at the sizes given; make them smaller
// NO-PLAN:  error: expected one ckpt.table, got 0; run ckpt-plan
// EMPTY:    error: 'ckpt.variant' op expected a filled forward, replay and backward; run ckpt-rematerialize
// NO-ORDER: error: 'ckpt.table' op expected an order of phases; run ckpt-segment-schedule

// The backward of block 0 before that of block 1.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t differentiable) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 3 }
ckpt.variant @a_v0 of @a_step fates [] replay_results [false] state_gradients [true]
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    replay(%x: !t) {
      ckpt.yield
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
// expected-error @below {{'ckpt.table' op expected the order that ckpt-segment-schedule writes, found another one; run it again}}
ckpt.table [@a_v0, @a_v0] segments [0, 1, 0, 1, 1, 0] order [0, 0, 0, 1, 2, 0, 2, 1]

// -----

// An order of more phases than there are.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t differentiable) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 3 }
ckpt.variant @a_v0 of @a_step fates [] replay_results [false] state_gradients [true]
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    replay(%x: !t) {
      ckpt.yield
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
// expected-error @below {{'ckpt.table' op expected the order that ckpt-segment-schedule writes, found another one; run it again}}
ckpt.table [@a_v0] segments [0, 1, 0] order [0, 0, 2, 0, 2, 0]

// -----

// More blocks than the stacks have.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t differentiable) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 3 }
ckpt.variant @a_v0 of @a_step fates [] replay_results [false] state_gradients [true]
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    replay(%x: !t) {
      ckpt.yield
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
// expected-error @below {{'ckpt.table' op expected a variant for each of the 3 blocks of the stacks, found 4}}
ckpt.table [@a_v0, @a_v0, @a_v0, @a_v0] segments [0, 1, 0, 1, 1, 0, 2, 1, 0, 3, 1, 0] order [0, 0, 0, 1, 0, 2, 0, 3, 2, 3, 2, 2, 2, 1, 2, 0]

// -----

// A variant of another block kind.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t differentiable) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.block @c states(%x : !t differentiable) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.step @c_step of @c
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 1 ckpt.repeat @c, 1 }
ckpt.variant @a_v0 of @a_step fates [] replay_results [false] state_gradients [true]
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    replay(%x: !t) {
      ckpt.yield
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
// expected-error @below {{'ckpt.table' op expected a variant of @c for block 1 of stack @model, found @a_v0}}
ckpt.table [@a_v0, @a_v0] segments [0, 1, 0, 1, 1, 0] order [0, 0, 0, 1, 2, 1, 2, 0]
