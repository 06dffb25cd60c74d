// `ckpt.kernel` and `ckpt.launch`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// No size.
// expected-error @below {{'ckpt.kernel' op expected flops to be a size, got "4 +"}}
ckpt.kernel @kernel_c1 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "4 +" traffic "0" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}

// -----

// No yield.
// expected-error @below {{'ckpt.kernel' op expected the body to be one block that ends in ckpt.yield}}
ckpt.kernel @kernel_c2 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
}

// -----

// Nothing comes out.
// expected-error @below {{'ckpt.kernel' op expected the body to yield something}}
ckpt.kernel @kernel_c3 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
  ckpt.yield
}

// -----

// Another class.
// expected-error @below {{expected gemm, attention_forward, attention_backward or row_wise, got conv}}
ckpt.kernel @kernel_class conv(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
}

// -----

// A result that is not there.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @launch_c1 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.launch' op expected in_place to hold pairs of one of 1 operands and one of 1 results, got array<i64: 0, 1>}}
    %y = ckpt.launch @k0 id "f0"(%x) {in_place = array<i64: 0, 1>} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield %dy : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// Half a pair.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @launch_c1_odd of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.launch' op expected in_place to hold pairs of one of 1 operands and one of 1 results, got array<i64: 0>}}
    %y = ckpt.launch @k0 id "f0"(%x) {in_place = array<i64: 0>} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield %dy : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// Another scope.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @launch_c2 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.launch' op expected scope to be attention or ffn, got 'block'}}
    %y = ckpt.launch @k0 id "f0"(%x) {scope = "block"} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield %dy : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// A block, not a kernel.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @launch_c3 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.launch' op expected the name of a ckpt.kernel, got @act}}
    %y = ckpt.launch @act id "f0"(%x) : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield %dy : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// Too many operands.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @launch_c4 of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.launch' op expected operands of the types that @k0 takes: '!ckpt.tensor<batch x 8 x f32>', got '!ckpt.tensor<batch x 8 x f32>', '!ckpt.tensor<batch x 8 x f32>'}}
    %y = ckpt.launch @k0 id "f0"(%x, %x) : (!ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield %dy : !ckpt.tensor<batch x 8 x f32>
  }

// -----

// Too many results.
ckpt.size @batch default 1

ckpt.block @act states(%x : !ckpt.tensor<batch x 8 x f32>) {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
  %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
}
ckpt.step @launch_c4_results of @act
  forward(%x: !ckpt.tensor<batch x 8 x f32>) {
    // expected-error @below {{'ckpt.launch' op expected results of the types that @k0 yields: '!ckpt.tensor<batch x 8 x f32>', got '!ckpt.tensor<batch x 8 x f32>', '!ckpt.tensor<batch x 8 x f32>'}}
    %y, %z = ckpt.launch @k0 id "f0"(%x) : (!ckpt.tensor<batch x 8 x f32>) -> (!ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x f32>)
    ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
  }
  backward(%dy: !ckpt.tensor<batch x 8 x f32>) {
    ckpt.yield %dy : !ckpt.tensor<batch x 8 x f32>
  }
