// Tables that have no order.
//
// RUN: not ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan --ckpt-segment-schedule 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics --ckpt-segment-schedule

// EMPTY: error: 'ckpt.variant' op expected filled regions; run ckpt-rematerialize

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.silu %x : !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      ckpt.yield %dy : !t
    }
ckpt.variant @a_v0 of @a_step fates [] replay_results [false] state_gradients [true]
    forward(%x: !t) {
      ckpt.yield %x : !t
    }
    replay(%x: !t) {
      ckpt.yield
    }
    backward(%dy: !t) {
      ckpt.yield %dy : !t
    }
// A gap: block 1 is in no segment.
// expected-error @below {{'ckpt.table' op expected segments that follow each other over 3 blocks, found 1 blocks from block 2}}
ckpt.table [@a_v0, @a_v0, @a_v0] segments [0, 1, 0, 2, 1, 0]

// -----

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !t) {
  %y = ckpt.silu %x : !t
  ckpt.return %y : !t
}
ckpt.step @a_step of @a
    forward(%x: !t) {
      %y = ckpt.silu %x : !t
      ckpt.yield %y : !t
    }
    backward(%dy: !t) {
      ckpt.yield %dy : !t
    }
ckpt.variant @a_v0 of @a_step fates [] replay_results [false] state_gradients [true]
    forward(%x: !t) {
      ckpt.yield %x : !t
    }
    replay(%x: !t) {
      ckpt.yield
    }
    backward(%dy: !t) {
      ckpt.yield %dy : !t
    }
// The last block is in no segment.
// expected-error @below {{'ckpt.table' op expected segments over 2 blocks, found them to end at 1}}
ckpt.table [@a_v0, @a_v0] segments [0, 1, 0]
