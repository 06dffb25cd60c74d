// Blocks that ckpt-differentiate refuses.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics --ckpt-differentiate

// Tables have no gradient.
ckpt.size @batch
!x = !ckpt.tensor<batch x 3 x 2 x 4 x f32>
!t = !ckpt.tensor<3 x 2 x f32>
ckpt.block @table states(%x : !x)
    inputs(%cos : !t differentiable, %sin : !t) {
  // expected-error @below {{'ckpt.rope' op has no gradient for operand #1, expected a value that needs none}}
  %y = ckpt.rope %x, %cos, %sin : !x, !t, !t
  ckpt.return %y : !x
}

// -----

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x f32>
// expected-error @below {{'ckpt.block' op state 'z' reaches no result, so it has no gradient; expected it used}}
ckpt.block @unused_state states(%x : !x, %z : !x) {
  %y = ckpt.silu %x : !x
  %u = ckpt.gelu %x {approximate = erf} : !x
  ckpt.return %y, %u : !x, !x
}

// -----

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x f32>
// expected-error @below {{'ckpt.block' op trainable parameter 'b.{i}.w' reaches no result}}
ckpt.block @unused_param states(%x : !x)
    params(%w "b.{i}.w" trainable : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !x
  ckpt.return %y : !x
}

// -----

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x f32>
// expected-error @below {{'ckpt.block' op expected no other symbol named @a_step}}
ckpt.block @a states(%x : !x) {
  %y = ckpt.silu %x : !x
  ckpt.return %y : !x
}
// expected-note @below {{it is here}}
ckpt.block @a_step states(%x : !x) {
  %y = ckpt.silu %x : !x
  ckpt.return %y : !x
}

// -----

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x f32>
ckpt.block @a states(%x : !x) {
  %y = ckpt.silu %x : !x
  ckpt.return %y : !x
}
// expected-error @below {{'ckpt.step' op expected a module without steps}}
ckpt.step @a_step of @a
    forward(%x: !x) {
      %y = ckpt.silu %x : !x
      ckpt.yield %y : !x
    }
    backward(%dy: !x) {
      ckpt.yield %dy : !x
    }
