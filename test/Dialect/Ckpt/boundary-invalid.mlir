// `ckpt.attention` and `ckpt.ffn`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// The yield is missing.
ckpt.block @attention_c1 states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.attention' op expected the body to end in ckpt.yield}}
  %y = ckpt.attention {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// Another type is yielded.
ckpt.block @attention_c1_types states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.attention' op expected to yield the result types '!ckpt.tensor<4 x f32>', got '!ckpt.tensor<8 x f32>'}}
  %y = ckpt.attention {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
    ckpt.yield %r : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<4 x f32>
  ckpt.return %y : !ckpt.tensor<4 x f32>
}

// -----

// Nothing inside.
ckpt.block @attention_c2 states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.attention' op expected a result and an op that makes it}}
  %y = ckpt.attention {
    ckpt.yield %x : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A captured value is yielded.
ckpt.block @attention_c3 states(%x : !ckpt.tensor<8 x f32>) {
  %y:2 = ckpt.attention {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
    // expected-error @below {{'ckpt.yield' op expected an op of the region to make result #1}}
    ckpt.yield %r, %x : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x f32>
  ckpt.return %y#0 : !ckpt.tensor<8 x f32>
}

// -----

// The yield is missing.
ckpt.block @ffn_c1 states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.ffn' op expected the body to end in ckpt.yield}}
  %y = ckpt.ffn {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// Another type is yielded.
ckpt.block @ffn_c1_types states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.ffn' op expected to yield the result types '!ckpt.tensor<4 x f32>', got '!ckpt.tensor<8 x f32>'}}
  %y = ckpt.ffn {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
    ckpt.yield %r : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<4 x f32>
  ckpt.return %y : !ckpt.tensor<4 x f32>
}

// -----

// Nothing inside.
ckpt.block @ffn_c2 states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.ffn' op expected a result and an op that makes it}}
  %y = ckpt.ffn {
    ckpt.yield %x : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A captured value is yielded.
ckpt.block @ffn_c3 states(%x : !ckpt.tensor<8 x f32>) {
  %y:2 = ckpt.ffn {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
    // expected-error @below {{'ckpt.yield' op expected an op of the region to make result #1}}
    ckpt.yield %r, %x : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x f32>
  ckpt.return %y#0 : !ckpt.tensor<8 x f32>
}

// -----

// A boundary region in a boundary region.
ckpt.block @nested states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.ffn {
    // expected-error @below {{'ckpt.attention' op expects parent op 'ckpt.block'}}
    %a = ckpt.attention {
      %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
      ckpt.yield %r : !ckpt.tensor<8 x f32>
    } : !ckpt.tensor<8 x f32>
    ckpt.yield %a : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
