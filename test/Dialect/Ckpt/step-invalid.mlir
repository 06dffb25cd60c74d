// `ckpt.step`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// The forward has no yield.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
// expected-error @below {{'ckpt.step' op expected the forward to be one block that ends in ckpt.yield}}
ckpt.step @step_c1 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// A name is saved twice.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @step_c2 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-note @below {{it is taken here}}
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    // expected-error @below {{'ckpt.save' op expected a new name, got 'x'}}
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// A name that nobody saved.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @step_c3 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.load' op expected the name of a ckpt.save, got 'z'}}
    %x = ckpt.load "z" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// Saved with another type.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @step_c3_type of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    %s = ckpt.slice %x {dim = 1, offset = "0", extent = "4"} : !ckpt.tensor<batch x 8 x f32>
    ckpt.save %s "x" : !ckpt.tensor<batch x 4 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.load' op expected the type that 'x' was saved with, '!ckpt.tensor<batch x 4 x f32>', got '!ckpt.tensor<batch x 8 x f32>'}}
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// No such block.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
// expected-error @below {{'ckpt.step' op expected the name of a ckpt.block, got @nothing}}
ckpt.step @step_c4 of @nothing
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

// -----

// The forward takes another state.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
// expected-error @below {{'ckpt.step' op expected the forward to take the arguments of @act: '!ckpt.tensor<batch x 8 x f32>', got '!ckpt.tensor<8 x f32>'}}
ckpt.step @step_c5 of @act
  forward(%x: !ckpt.tensor<8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<8 x f32>
    ckpt.yield %y : !ckpt.tensor<8 x f32>
  }
  backward(%dy: !ckpt.tensor<8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<8 x f32>
    ckpt.yield %dx : !ckpt.tensor<8 x f32>
  }

// -----

// The forward yields nothing.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
// expected-error @below {{'ckpt.step' op expected the forward to yield the results of @act: '!ckpt.tensor<batch x 8 x f32>', got }}
ckpt.step @step_c5_results of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %dx : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// Outside a step.
ckpt.kernel @save_parent row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.save' op expects parent op to be one of 'ckpt.step, ckpt.variant'}}
  ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %x : !ckpt.tensor<batch x 8 x f32>
}
