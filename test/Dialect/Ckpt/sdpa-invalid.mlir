// `ckpt.sdpa`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// Heads are not split off.
ckpt.kernel @sdpa_c1 row_wise(%q: !ckpt.tensor<batch x image x 8 x f32>, %k: !ckpt.tensor<batch x text x 8 x f32>, %v: !ckpt.tensor<batch x text x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected q and k of batch x tokens x heads x d, got '!ckpt.tensor<batch x image x 8 x f32>' and '!ckpt.tensor<batch x text x 8 x f32>'}}
  %y = ckpt.sdpa %q, %k, %v : !ckpt.tensor<batch x image x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>, !ckpt.tensor<batch x text x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// v has other tokens than k.
ckpt.kernel @sdpa_c2 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected k and v of one shape, got '!ckpt.tensor<batch x text x 2 x 4 x f32>' and '!ckpt.tensor<batch x image x 2 x 4 x f32>'}}
  %y = ckpt.sdpa %q, %k, %v : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Another batch.
ckpt.kernel @sdpa_c3_batch row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<1 x text x 2 x 4 x f32>, %v: !ckpt.tensor<1 x text x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected q and k with the same batch, got batch and 1}}
  %y = ckpt.sdpa %q, %k, %v : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<1 x text x 2 x 4 x f32>, !ckpt.tensor<1 x text x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Fewer heads for k and v.
ckpt.kernel @sdpa_c3_heads row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 1 x 4 x f32>, %v: !ckpt.tensor<batch x text x 1 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected q and k with the same heads, got 2 and 1}}
  %y = ckpt.sdpa %q, %k, %v : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 1 x 4 x f32>, !ckpt.tensor<batch x text x 1 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// Another d.
ckpt.kernel @sdpa_c3_d row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 8 x f32>, %v: !ckpt.tensor<batch x text x 2 x 8 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected q and k with the same d, got 4 and 8}}
  %y = ckpt.sdpa %q, %k, %v : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 8 x f32>, !ckpt.tensor<batch x text x 2 x 8 x f32>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// v in bf16.
ckpt.kernel @sdpa_c4 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>, %k: !ckpt.tensor<batch x text x 2 x 4 x f32>, %v: !ckpt.tensor<batch x text x 2 x 4 x bf16>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected operand #2 to have element type 'f32' as operand #0 has, got 'bf16'; convert with ckpt.cast}}
  %y = ckpt.sdpa %q, %k, %v : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x bf16>
  ckpt.yield %y : !ckpt.tensor<f32>
}

// -----

// A scale that is infinite.
ckpt.kernel @sdpa_c5 row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op expected a finite scale, got 0x7FF0000000000000 : f64}}
  %y = ckpt.sdpa %q, %q, %q {scale = 0x7FF0000000000000 : f64} : !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x image x 2 x 4 x f32>
}

// -----

// A scale of another type.
ckpt.kernel @sdpa_scale row_wise(%q: !ckpt.tensor<batch x image x 2 x 4 x f32>) workspace "0" flops "0" traffic "0" {
  // expected-error @below {{'ckpt.sdpa' op attribute 'scale' failed to satisfy constraint: 64-bit float attribute}}
  %y = ckpt.sdpa %q, %q, %q {scale = 1 : i64} : !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.yield %y : !ckpt.tensor<batch x image x 2 x 4 x f32>
}
