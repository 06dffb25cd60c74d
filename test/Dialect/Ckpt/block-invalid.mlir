// `ckpt.block`: one case for each constraint, and for its assembly.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// More states than arguments; the generic form can say it.
// expected-error @below {{'ckpt.block' op expected num_states and num_inputs of together at most the 1 arguments, got 2 and 0}}
"ckpt.block"() <{sym_name = "block_c1", num_states = 2 : i64, num_inputs = 0 : i64, port_names = ["x"], needs_gradient = array<i1: false>}> ({
^bb0(%x: !ckpt.tensor<8 x f32>):
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}) : () -> ()

// -----

// A negative number.
// expected-error @below {{'ckpt.block' op expected num_states and num_inputs of together at most the 1 arguments, got -1 and 2}}
"ckpt.block"() <{sym_name = "block_c1_negative", num_states = -1 : i64, num_inputs = 2 : i64, port_names = ["x"], needs_gradient = array<i1: false>}> ({
^bb0(%x: !ckpt.tensor<8 x f32>):
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}) : () -> ()

// -----

// No name for the second argument.
// expected-error @below {{'ckpt.block' op expected one port name and one gradient flag for each of the 2 arguments, got 1 and 2}}
"ckpt.block"() <{sym_name = "block_c1_names", num_states = 1 : i64, num_inputs = 1 : i64, port_names = ["x"], needs_gradient = array<i1: false, true>}> ({
^bb0(%x: !ckpt.tensor<8 x f32>, %c: !ckpt.tensor<8 x f32>):
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}) : () -> ()

// -----

// No state.
// expected-error @below {{'ckpt.block' op expected at least one state}}
ckpt.block @block_c2 inputs(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// An argument that is no tensor.
// expected-error @below {{'ckpt.block' op expected argument 'n' to be a !ckpt.tensor, got 'i32'}}
"ckpt.block"() <{sym_name = "block_c3", num_states = 1 : i64, num_inputs = 1 : i64, port_names = ["x", "n"], needs_gradient = array<i1: false, false>}> ({
^bb0(%x: !ckpt.tensor<8 x f32>, %n: i32):
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}) : () -> ()

// -----

// A state by number.
// expected-error @below {{'ckpt.block' op expected the name of a state or input to be letters, digits and '_', no digit first, got '0'}}
ckpt.block @block_c4 states(%0 : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %0 : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A name with a dot.
// expected-error @below {{'ckpt.block' op expected the name of a state or input to be letters, digits and '_', no digit first, got 'out.x'}}
ckpt.block @block_c4_string states(%x "out.x" : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// Another pattern.
// expected-error @below {{'ckpt.block' op expected the name of a parameter to hold no braces but '{i}', got 'blocks.{n}.w'}}
ckpt.block @block_c5 states(%x : !ckpt.tensor<8 x f32>)
    params(%w "blocks.{n}.w" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// No name.
// expected-error @below {{'ckpt.block' op expected the name of a parameter to hold no braces but '{i}', got ''}}
ckpt.block @block_c5_empty states(%x : !ckpt.tensor<8 x f32>)
    params(%w "" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// Braces around a pattern.
// expected-error @below {{'ckpt.block' op expected the name of a parameter to hold no braces but '{i}', got '{{i}}'}}
ckpt.block @block_c5_nested states(%x : !ckpt.tensor<8 x f32>)
    params(%w "{{i}}" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A parameter named as an input.
// expected-error @below {{'ckpt.block' op expected one tensor of each name, got two named 'cond'}}
ckpt.block @block_c6 states(%x : !ckpt.tensor<8 x f32>)
    inputs(%cond : !ckpt.tensor<8 x f32>)
    params(%w "cond" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A parameter named as the final state is.
// expected-error @below {{'ckpt.block' op expected one tensor of each name, got two named 'out.x'}}
ckpt.block @block_c6_out states(%x : !ckpt.tensor<8 x f32>)
    params(%w "out.x" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A parameter named as a gradient is.
// expected-error @below {{'ckpt.block' op expected one tensor of each name, got two named 'grad.x'}}
ckpt.block @block_c6_grad states(%x : !ckpt.tensor<8 x f32> differentiable)
    params(%w "grad.x" frozen : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// No return.
// expected-error @below {{'ckpt.block' op expected the body to end in ckpt.return}}
ckpt.block @block_c7 states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
}

// -----

// Nothing.
// expected-error @below {{'ckpt.block' op expects a non-empty block}}
ckpt.block @block_c7_empty states(%x : !ckpt.tensor<8 x f32>) {
}

// -----

// One value for two states.
ckpt.block @block_c7_count states(%x : !ckpt.tensor<8 x f32>, %z : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  // expected-error @below {{'ckpt.return' op expected 2 values, one for each state, got 1}}
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// An argument is returned.
ckpt.block @block_c8 states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.return' op expected an op of the region to make result #0}}
  ckpt.return %x : !ckpt.tensor<8 x f32>
}

// -----

// A value is returned twice.
ckpt.block @block_c8_twice states(%x : !ckpt.tensor<8 x f32>, %z : !ckpt.tensor<8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
  // expected-error @below {{'ckpt.return' op expected different results, got one twice as #1}}
  ckpt.return %y, %y : !ckpt.tensor<8 x f32>, !ckpt.tensor<8 x f32>
}

// -----

// Two FFN regions.
// expected-error @below {{'ckpt.block' op expected at most one ckpt.ffn, got 2}}
ckpt.block @block_c9 states(%x : !ckpt.tensor<8 x f32>) {
  %a = ckpt.ffn {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
    ckpt.yield %r : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  %b = ckpt.ffn {
    %r = ckpt.silu %a : !ckpt.tensor<8 x f32>
    ckpt.yield %r : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %b : !ckpt.tensor<8 x f32>
}

// -----

// Two attention regions.
// expected-error @below {{'ckpt.block' op expected at most one ckpt.attention, got 2}}
ckpt.block @block_c9_attention states(%x : !ckpt.tensor<8 x f32>) {
  %a = ckpt.attention {
    %r = ckpt.silu %x : !ckpt.tensor<8 x f32>
    ckpt.yield %r : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  %b = ckpt.attention {
    %r = ckpt.silu %a : !ckpt.tensor<8 x f32>
    ckpt.yield %r : !ckpt.tensor<8 x f32>
  } : !ckpt.tensor<8 x f32>
  ckpt.return %b : !ckpt.tensor<8 x f32>
}

// -----

// An op of the backward.
ckpt.block @block_c10 states(%x : !ckpt.tensor<8 x f32>) {
  // expected-error @below {{'ckpt.reduce_sum' op cannot stand in a ckpt.block; expected a differentiable op or a boundary region}}
  %y = ckpt.reduce_sum %x : !ckpt.tensor<8 x f32> -> !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}

// -----

// A misspelt size.
ckpt.size @batch
// expected-error @below {{'ckpt.block' op uses the size 'btach', which no ckpt.size declares}}
ckpt.block @block_c11 states(%x : !ckpt.tensor<btach x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<btach x f32>
  ckpt.return %y : !ckpt.tensor<btach x f32>
}

// -----

// A misspelt size in a result.
ckpt.size @batch
ckpt.block @block_c11_inside states(%x : !ckpt.tensor<batch x 8 x f32>) {
  // expected-error @below {{'ckpt.slice' op uses the size 'half', which no ckpt.size declares}}
  %s = ckpt.slice %x {dim = 1, offset = "0", extent = "half"} : !ckpt.tensor<batch x 8 x f32>
  %y = ckpt.silu %s : !ckpt.tensor<batch x half x f32>
  ckpt.return %y : !ckpt.tensor<batch x half x f32>
}

// -----

// A misspelt size in an offset, which no type shows.
ckpt.size @batch
ckpt.block @block_c11_offset states(%x : !ckpt.tensor<batch x 8 x f32>) {
  // expected-error @below {{'ckpt.slice' op uses the size 'half', which no ckpt.size declares}}
  %y = ckpt.slice %x {dim = 1, offset = "half", extent = "4"} : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 4 x f32>
}

// -----

// No role.
ckpt.block @role states(%x : !ckpt.tensor<8 x f32>)
    // expected-error @below {{expected frozen or trainable}}
    params(%w "w" : !ckpt.tensor<8 x f32>) {
}

// -----

// No name in a weights file.
ckpt.block @param_name states(%x : !ckpt.tensor<8 x f32>)
    // expected-error @below {{expected string}}
    params(%w frozen : !ckpt.tensor<8 x f32>) {
}
