// `ckpt.stack` and `ckpt.repeat`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// Nothing to run.
// expected-error @below {{'ckpt.stack' op expected at least one ckpt.repeat}}
ckpt.stack @stack_c1 {
}

// -----

// An op that is no repeat.
ckpt.stack @stack_c1_op {
  // expected-error @below {{'builtin.module' op cannot stand in a ckpt.stack; expected ckpt.repeat}}
  builtin.module {}
}

// -----

// A block that widens the state cannot follow itself.
ckpt.block @widen states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.concat %x, %x {dim = 0} : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<16 x f32>
}
ckpt.stack @stack_c2_repeat {
  // expected-error @below {{'ckpt.repeat' op expected the states of @widen to have the types that @widen returns: '!ckpt.tensor<16 x f32>', got '!ckpt.tensor<8 x f32>'}}
  ckpt.repeat @widen, 2
}

// -----

// The next kind takes another state.
ckpt.block @widen states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.concat %x, %x {dim = 0} : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<16 x f32>
}
ckpt.block @narrow states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.stack @stack_c2_kinds {
  ckpt.repeat @widen, 1
  // expected-error @below {{'ckpt.repeat' op expected the states of @narrow to have the types that @widen returns: '!ckpt.tensor<16 x f32>', got '!ckpt.tensor<8 x f32>'}}
  ckpt.repeat @narrow, 1
}

// -----

// The next stack takes another state.
ckpt.block @widen states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.concat %x, %x {dim = 0} : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<16 x f32>
}
ckpt.block @narrow states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.stack @first {
  ckpt.repeat @widen, 1
}
ckpt.stack @stack_c2_stacks {
  // expected-error @below {{'ckpt.repeat' op expected the states of @narrow to have the types that @widen returns: '!ckpt.tensor<16 x f32>', got '!ckpt.tensor<8 x f32>'}}
  ckpt.repeat @narrow, 1
}

// -----

// The next kind takes two states.
ckpt.block @one states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.block @two states(%x : !ckpt.tensor<8 x f32>, %z : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  %w = ckpt.silu %z : !ckpt.tensor<8 x f32>
  ckpt.return %y, %w : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x f32>
}
ckpt.stack @stack_c2_count {
  ckpt.repeat @one, 1
  // expected-error @below {{'ckpt.repeat' op expected the states of @two to have the types that @one returns: '!ckpt.tensor<8 x f32>', got '!ckpt.tensor<8 x f32>', '!ckpt.tensor<8 x f32>'}}
  ckpt.repeat @two, 1
}

// -----

// An input with two types.
ckpt.block @a states(%x : !ckpt.tensor<8 x f32>) inputs(%cond : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.block @b states(%x : !ckpt.tensor<8 x f32>) inputs(%cond : !ckpt.tensor<4 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.stack @stack_c3 {
  ckpt.repeat @a, 1
  // expected-error @below {{'ckpt.repeat' op expected 'cond' to be the input of type '!ckpt.tensor<8 x f32>' that it is in @a, got the input of type '!ckpt.tensor<4 x f32>' in @b}}
  ckpt.repeat @b, 1
}

// -----

// A shared parameter that is trainable in one kind.
ckpt.block @a states(%x : !ckpt.tensor<8 x f32>) params(%w "w" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.block @b states(%x : !ckpt.tensor<8 x f32>) params(%w "w" trainable : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.stack @stack_c3_role {
  ckpt.repeat @a, 1
  // expected-error @below {{'ckpt.repeat' op expected 'w' to be the frozen parameter of type '!ckpt.tensor<8 x f32>' that it is in @a, got the trainable parameter of type '!ckpt.tensor<8 x f32>' in @b}}
  ckpt.repeat @b, 1
}

// -----

// Block 0 of both stacks has the same trainable parameter.
ckpt.block @a states(%x : !ckpt.tensor<8 x f32>) params(%w "blocks.{i}.w" trainable : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.stack @first {
  ckpt.repeat @a, 1
}
ckpt.stack @stack_c4 {
  // expected-error @below {{'ckpt.repeat' op expected the trainable parameter 'blocks.{i}.w' in one stack, got @first and @stack_c4}}
  ckpt.repeat @a, 1
}

// -----

// No such block.
ckpt.size @mlp
ckpt.stack @repeat_c1 {
  // expected-error @below {{'ckpt.repeat' op expected the name of a ckpt.block, got @mlp}}
  ckpt.repeat @mlp, 1
}

// -----

// Not even once.
ckpt.block @a states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.stack @repeat_c2 {
  // expected-error @below {{'ckpt.repeat' op expected a count between 1 and 1048576, got 0}}
  ckpt.repeat @a, 0
}
