// Ops that backwards are made of: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// A weight with one dimension.
ckpt.kernel @linear_dx_c1 row_wise(%dy: !ckpt.tensor<batch x 32 x f32>, %w: !ckpt.tensor<32 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear_dx' op expected dy with at least one dimension and a weight with two}}
  %y = ckpt.linear_dx %dy, %w : !ckpt.tensor<batch x 32 x f32>, !ckpt.tensor<32 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// dy is as wide as x.
ckpt.kernel @linear_dx_c2 row_wise(%dy: !ckpt.tensor<batch x 8 x f32>, %w: !ckpt.tensor<32 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear_dx' op expected the last extent of dy to be 32 as the weight says, got 8}}
  %y = ckpt.linear_dx %dy, %w : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<32 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// The weight is bf16.
ckpt.kernel @linear_dx_c3 row_wise(%dy: !ckpt.tensor<batch x 32 x f32>, %w: !ckpt.tensor<32 x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear_dx' op expected operand #1 to have element type 'f32'}}
  %y = ckpt.linear_dx %dy, %w : !ckpt.tensor<batch x 32 x f32>, !ckpt.tensor<32 x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Other rows.
ckpt.kernel @linear_dw_c1 row_wise(%dy: !ckpt.tensor<batch x 32 x f32>, %x: !ckpt.tensor<image x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear_dw' op expected dy and x with the same rows}}
  %y = ckpt.linear_dw %dy, %x {to = f32} : !ckpt.tensor<batch x 32 x f32>, !ckpt.tensor<image x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// x is bf16.
ckpt.kernel @linear_dw_c2 row_wise(%dy: !ckpt.tensor<batch x 32 x f32>, %x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear_dw' op expected operand #1 to have element type 'f32'}}
  %y = ckpt.linear_dw %dy, %x {to = f32} : !ckpt.tensor<batch x 32 x f32>, !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Another element type.
ckpt.kernel @linear_dw_c3 row_wise(%dy: !ckpt.tensor<batch x 32 x f32>, %x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.linear_dw' op expected 'to' to be f32, bf16 or f16, got 'i8'}}
  %y = ckpt.linear_dw %dy, %x {to = i8} : !ckpt.tensor<batch x 32 x f32>, !ckpt.tensor<batch x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Heads are not split off.
ckpt.kernel @sdpa_dx_c1 row_wise(%q: !ckpt.tensor<batch x image x 8 x f32>, %k: !ckpt.tensor<batch x text x 8 x f32>, %v: !ckpt.tensor<batch x text x 8 x f32>, %o: !ckpt.tensor<batch x image x 8 x f32>, %lse: !ckpt.tensor<batch x 2 x image x f32>, %do: !ckpt.tensor<batch x image x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa_dx' op expected q and k of batch x tokens x heads x d}}
  %y:3 = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>, !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x image x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// v is of another type.
ckpt.kernel @sdpa_dx_c2 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 8 x f32>, %o: !ckpt.tensor<batch x image x 2 x 4 x f32>, %lse: !ckpt.tensor<batch x 2 x image x f32>, %do: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa_dx' op expected k and v of one type}}
  %y:3 = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 8 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Fewer heads for k and v.
ckpt.kernel @sdpa_dx_c3 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 1 x 4 x f32>, %v: !ckpt.tensor<batch x text x 1 x 4 x f32>, %o: !ckpt.tensor<batch x image x 2 x 4 x f32>, %lse: !ckpt.tensor<batch x 2 x image x f32>, %do: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa_dx' op expected q and k with the same heads, got 2 and 1}}
  %y:3 = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 1 x 4 x f32>, !ckpt.tensor<batch x text x 1 x 4 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// k is bf16.
ckpt.kernel @sdpa_dx_c3_type row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x bf16>, %v: !ckpt.tensor<batch x text x 2 x 4 x bf16>, %o: !ckpt.tensor<batch x image x 2 x 4 x f32>, %lse: !ckpt.tensor<batch x 2 x image x f32>, %do: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa_dx' op expected q and k of one element type}}
  %y:3 = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x bf16>, !ckpt.tensor<batch x text x 2 x 4 x bf16>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// dout has the keys.
ckpt.kernel @sdpa_dx_c4 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 4 x f32>, %o: !ckpt.tensor<batch x image x 2 x 4 x f32>, %lse: !ckpt.tensor<batch x 2 x image x f32>, %do: !ckpt.tensor<batch x text x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa_dx' op expected o and dout of q's type}}
  %y:3 = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// lse has the keys.
ckpt.kernel @sdpa_dx_c5 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 4 x f32>, %o: !ckpt.tensor<batch x image x 2 x 4 x f32>, %lse: !ckpt.tensor<batch x 2 x text x f32>, %do: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa_dx' op expected lse of batch x heads x queries in f32, got '!ckpt.tensor<batch x 2 x text x f32>'}}
  %y:3 = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x text x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// dy is f32.
ckpt.kernel @layer_norm_dx_c1 row_wise(%dy: !ckpt.tensor<batch x 8 x f32>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 2 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm_dx' op expected dy of x's type '!ckpt.tensor<batch x 8 x bf16>', got '!ckpt.tensor<batch x 8 x f32>'}}
  %y = ckpt.layer_norm_dx %dy, %x, %stats : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// One statistic.
ckpt.kernel @layer_norm_dx_c2 row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 1 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm_dx' op expected stats of x's rows by 2 in f32, got '!ckpt.tensor<batch x 1 x f32>'}}
  %y = ckpt.layer_norm_dx %dy, %x, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Another width.
ckpt.kernel @layer_norm_dx_c3 row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 2 x f32>, %w: !ckpt.tensor<4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.layer_norm_dx' op expected the weight to be 8 as the last extent of x is, got 4}}
  %y = ckpt.layer_norm_dx %dy, %x, %stats, %w : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>, !ckpt.tensor<4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// dy is f32.
ckpt.kernel @rms_norm_dx_c1 row_wise(%dy: !ckpt.tensor<batch x 8 x f32>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 1 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rms_norm_dx' op expected dy of x's type}}
  %y = ckpt.rms_norm_dx %dy, %x, %stats : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Two statistics.
ckpt.kernel @rms_norm_dx_c2 row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 2 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rms_norm_dx' op expected stats of x's rows by 1 in f32}}
  %y = ckpt.rms_norm_dx %dy, %x, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Another width.
ckpt.kernel @rms_norm_dx_c3 row_wise(%dy: !ckpt.tensor<batch x 8 x bf16>, %x: !ckpt.tensor<batch x 8 x bf16>, %stats: !ckpt.tensor<batch x 1 x f32>, %w: !ckpt.tensor<4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.rms_norm_dx' op expected the weight to be 8 as the last extent of x is, got 4}}
  %y = ckpt.rms_norm_dx %dy, %x, %stats, %w : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>, !ckpt.tensor<4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Three statistics.
ckpt.kernel @normalize_c1 row_wise(%x: !ckpt.tensor<batch x 8 x bf16>, %s: !ckpt.tensor<batch x 3 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.normalize' op expected stats of x's rows by 1 or 2 in f32}}
  %y = ckpt.normalize %x, %s : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 3 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// dy is f32.
ckpt.kernel @silu_dx_c1 row_wise(%dy: !ckpt.tensor<batch x 8 x f32>, %x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.silu_dx' op expected operands of one type}}
  %y = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// dy is f32.
ckpt.kernel @gelu_dx_c1 row_wise(%dy: !ckpt.tensor<batch x 8 x f32>, %x: !ckpt.tensor<batch x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.gelu_dx' op expected operands of one type}}
  %y = ckpt.gelu_dx %dy, %x {approximate = tanh} : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A dimension that is not there.
ckpt.kernel @pad_c1 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.pad' op expected 'dim' in [0, 3), got 3}}
  %y = ckpt.pad %x {dim = 3, extent = "8", offset = "0"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A negative offset.
ckpt.kernel @pad_c2 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.pad' op expected 'offset' to be not negative, got "-1"}}
  %y = ckpt.pad %x {dim = 2, extent = "8", offset = "-1"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Past the end.
ckpt.kernel @pad_c3 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.pad' op expected an extent of at least offset + 8, got 10}}
  %y = ckpt.pad %x {dim = 2, extent = "10", offset = "4"} : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A shape that does not broadcast to x.
ckpt.kernel @reduce_sum_c1 row_wise(%x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.reduce_sum' op expected a result that broadcasts to '!ckpt.tensor<batch x image x 8 x bf16>', got '!ckpt.tensor<batch x image x f32>'}}
  %y = ckpt.reduce_sum %x : !ckpt.tensor<batch x image x 8 x bf16> -> !ckpt.tensor<batch x image x f32>
  ckpt.yield %y : !ckpt.tensor<batch x image x f32>
}

// -----

// A sum in bf16.
ckpt.kernel @accumulate_c1 row_wise(%s: !ckpt.tensor<8 x bf16>, %x: !ckpt.tensor<batch x image x 8 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.accumulate' op expected sum in f32, got '!ckpt.tensor<8 x bf16>'}}
  %y = ckpt.accumulate %s, %x : !ckpt.tensor<8 x bf16>, !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A sum that is larger than x.
ckpt.kernel @accumulate_c2 row_wise(%s: !ckpt.tensor<batch x image x 8 x f32>, %x: !ckpt.tensor<8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.accumulate' op expected a sum that broadcasts to '!ckpt.tensor<8 x f32>', got '!ckpt.tensor<batch x image x 8 x f32>'}}
  %y = ckpt.accumulate %s, %x : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}
