// Controls that cannot act, and modules that cannot be planned: one message
// each, by flag or op.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unslot" 2>&1 | FileCheck %s --check-prefix=BACKEND
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=-3" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=two" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=99999999999999999999" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=torch interval=4 segment-stride=2" 2>&1 | FileCheck %s --check-prefix=STRIDE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="interval=2" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth pin-memory-max-buckets=-1" 2>&1 | FileCheck %s --check-prefix=BUCKETS
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="blocks=0" 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not ckpt-opt %S/Inputs/lora.mlir --ckpt-plan="backend=torch-ffn" 2>&1 | FileCheck %s --check-prefix=FFN
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-plan 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics --ckpt-plan

// BACKEND:  error: --backend: {{.*}}none, torch, torch-ffn, unsloth{{.*}}unsloth-ffn, found unslot
// ZERO:     error: --interval: expected a positive integer, found '0'
// NEGATIVE: error: --interval: expected a positive integer, found '-3'
// TEXT:     error: --interval: expected a positive integer, found 'two'
// LARGE:    error: --interval: expected a positive integer, found '99999999999999999999'
// STRIDE:   error: --segment-stride: expected at least
// NONE:     error: --interval
// BUCKETS:  error: --pin-memory-max-buckets: expected a non-negative integer, found '-1'
// BLOCKS:   error: --blocks: expected a positive integer, found '0'
// FFN:      error: {{.*}}--backend{{.*}}@lora
// TWICE:    error: 'ckpt.variant' op expected a module that is not planned yet

// Nothing to plan.
// expected-error @below {{expected a ckpt.stack, found none}}
module {
}

// -----

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
// expected-error @below {{'ckpt.block' op expected a step of this block, found none; run ckpt-differentiate and ckpt-select}}
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.stack @model { ckpt.repeat @a, 2 }

// -----

// A step that was not selected.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      // expected-error @below {{'ckpt.silu' op expected ckpt.launch or ckpt.save in the forward of a selected step; run ckpt-select}}
      %y = ckpt.silu %x : !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      ckpt.yield %dy : !t
    }
ckpt.stack @model { ckpt.repeat @a, 2 }

// -----

// A backward that does not fit the block: no gradient for x.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
// expected-error @below {{'ckpt.step' op expected backward results of the types '!ckpt.tensor<batch x 8 x f32>', got }}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      ckpt.yield
    }
ckpt.stack @model { ckpt.repeat @a, 2 }

// -----

// An incoming gradient is not the outgoing one: each is a buffer of its own.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.kernel @silu row_wise(%x: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.silu %x : !t
  ckpt.yield %y : !t
}
// expected-error @below {{'ckpt.step' op expected a value of its own for 'grad.x', found 'grad.out.x' yielded in its place}}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.launch @silu id "f0"(%x) : (!t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      ckpt.yield %dy : !t
    }
ckpt.stack @model { ckpt.repeat @a, 2 }

// -----

// A sum that is not updated in place would be a second buffer.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) inputs(%c : !t differentiable) {
  %y = ckpt.add %x, %c : !t
  ckpt.return %y : !t
}
ckpt.kernel @add row_wise(%a: !t, %b: !t) workspace "0" flops "1" traffic "1" {
  %y = ckpt.add %a, %b : !t
  ckpt.yield %y : !t
}
// expected-error @below {{'ckpt.step' op expected the running sum 'grad.c' to be updated in place by every op that adds to it}}
ckpt.step @a_step of @a
    forward(%x: !t, %c: !t) {
      %y = ckpt.launch @add id "f0"(%x, %c) : (!t, !t) -> !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t, %sum: !t, %c: !t) {
      %dx = ckpt.launch @add id "b0"(%dy, %dy) : (!t, !t) -> !t
      %new = ckpt.launch @add id "b1"(%sum, %dy) : (!t, !t) -> !t
      ckpt.yield %dx, %new : !t, !t
    }
ckpt.stack @model { ckpt.repeat @a, 2 }

// -----

// One value, one fate.
ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
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
      ckpt.save %x "x" : !t
      // expected-error @below {{'ckpt.save' op expected a value that is not saved yet, found it saved as 'x'}}
      ckpt.save %x "again" : !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      %dx = ckpt.launch @silu id "b0"(%dy) : (!t) -> !t
      ckpt.yield %dx : !t
    }
ckpt.stack @model { ckpt.repeat @a, 2 }
