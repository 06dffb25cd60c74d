// `ckpt.variant` and `ckpt.table`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// Not a fate; only the generic form can say it.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
// expected-error @below {{'ckpt.variant' op expected fates to hold fates, got 3 : i64}}
"ckpt.variant"() <{sym_name = "variant_c1", step = @act_step, fates = [3], replay_results = array<i1: false>, state_gradients = array<i1: true>}> ({}, {}, {}) : () -> ()

// -----

// No such fate.
// expected-error @below {{expected unused, keep, recompute or offload, got burn}}
ckpt.variant @variant_fate of @act_step fates [burn] replay_results [false] state_gradients [true]

// -----

// No such flag.
// expected-error @below {{expected true or false}}
ckpt.variant @variant_flag of @act_step fates [] replay_results [maybe] state_gradients []

// -----

// A region without a yield.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
// expected-error @below {{'ckpt.variant' op expected the replay to be one block that ends in ckpt.yield}}
ckpt.variant @variant_c2 of @act_step fates [keep] replay_results [false] state_gradients [true]
  replay(%x: !ckpt.tensor<batch x 8 x f32>) {
    %y = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// A block, not a step.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
// expected-error @below {{'ckpt.variant' op expected the name of a ckpt.step, got @act}}
ckpt.variant @variant_c3 of @act fates [keep] replay_results [false] state_gradients [true]

// -----

// Two fates for one value.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
// expected-error @below {{'ckpt.variant' op expected 1 fates, one for each ckpt.save of @act_step, got 2}}
ckpt.variant @variant_c4 of @act_step fates [keep, offload] replay_results [false] state_gradients [true]

// -----

// No flag for the state.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
// expected-error @below {{'ckpt.variant' op expected 1 flags in replay_results and in state_gradients, one for each state, got 0 and 1}}
ckpt.variant @variant_c5 of @act_step fates [keep] replay_results [] state_gradients [true]

// -----

// table_c1: a step, not a variant.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
ckpt.variant @v of @act_step fates [keep] replay_results [false] state_gradients [true]
// expected-error @below {{'ckpt.table' op expected the name of a ckpt.variant, got @act_step}}
ckpt.table [@act_step] segments [0, 1, 1]

// -----

// table_c1: numbers.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
ckpt.variant @v of @act_step fates [keep] replay_results [false] state_gradients [true]
// expected-error @below {{'ckpt.table' op expected variants to hold symbols, got 0 : i64}}
ckpt.table [0, 0] segments [0, 1, 1]

// -----

// table_c2: no triples.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
ckpt.variant @v of @act_step fates [keep] replay_results [false] state_gradients [true]
// expected-error @below {{'ckpt.table' op expected segments to hold triples first block, number of blocks, checkpointed, within 2 blocks, got array<i64: 0, 2>}}
ckpt.table [@v, @v] segments [0, 2]

// -----

// table_c2: past the last block.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
ckpt.variant @v of @act_step fates [keep] replay_results [false] state_gradients [true]
// expected-error @below {{'ckpt.table' op expected segments to hold triples first block, number of blocks, checkpointed, within 2 blocks, got array<i64: 0, 1, 1, 1, 2, 1>}}
ckpt.table [@v, @v] segments [0, 1, 1, 1, 2, 1]

// -----

// table_c3: a fourth phase.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
ckpt.variant @v of @act_step fates [keep] replay_results [false] state_gradients [true]
// expected-error @below {{'ckpt.table' op expected order to hold pairs of a phase (0, 1 or 2) and one of 2 blocks, got array<i64: 3, 0>}}
ckpt.table [@v, @v] segments [0, 2, 1] order [3, 0]

// -----

// table_c3: a third block.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @act_step of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }
ckpt.variant @v of @act_step fates [keep] replay_results [false] state_gradients [true]
// expected-error @below {{'ckpt.table' op expected order to hold pairs of a phase (0, 1 or 2) and one of 2 blocks, got array<i64: 0, 2>}}
ckpt.table [@v, @v] segments [0, 2, 1] order [0, 2]
