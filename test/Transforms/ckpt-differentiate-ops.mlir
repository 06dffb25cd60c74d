// The backward of each op, and what it reads: alone in a block, for the
// gradients that are asked for and no others.
//
// RUN: ckpt-opt %s --split-input-file --ckpt-differentiate | FileCheck %s

// linear with everything trained: x is read for dw alone; the bias is the sum
// of the rows.

ckpt.size @batch
!x = !ckpt.tensor<batch x 3 x 8 x f32>
!w = !ckpt.tensor<8 x 8 x f32>
!b = !ckpt.tensor<8 x f32>
ckpt.block @linear states(%x : !x)
    params(%w "{i}.w" trainable : !w, %b "{i}.b" trainable : !b) {
  %y = ckpt.linear %x, %w, %b : !x, !w, !b
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.step @linear_step
// CHECK:         backward(%[[DY:.*]]: !ckpt.tensor<batch x 3 x 8 x f32>, %[[W:[^:]*]]:
// CHECK-NEXT:      %[[DX:.*]] = ckpt.linear_dx %[[DY]], %[[W]]
// CHECK-NEXT:      %[[X:.*]] = ckpt.load "x"
// CHECK-NEXT:      %[[DW:.*]] = ckpt.linear_dw %[[DY]], %[[X]] {to = f32}
// CHECK-NEXT:      %[[DB:.*]] = ckpt.reduce_sum %[[DY]] : !ckpt.tensor<batch x 3 x 8 x f32> -> !ckpt.tensor<8 x f32>
// CHECK-NEXT:      ckpt.yield %[[DX]], %[[DW]], %[[DB]]

// -----

// Cross attention with plain keys and values: only dq is used. The scale goes
// along.

ckpt.size @batch
ckpt.size @image
ckpt.size @text
!q = !ckpt.tensor<batch x image x 2 x 4 x bf16>
!k = !ckpt.tensor<batch x text x 2 x 4 x bf16>
ckpt.block @sdpa states(%q : !q) inputs(%k : !k, %v : !k) {
  %y = ckpt.sdpa %q, %k, %v {scale = 0.5} : !q, !k, !k
  ckpt.return %y : !q
}
// CHECK-LABEL: ckpt.step @sdpa_step
// CHECK:           %[[O:.*]], %[[LSE:.*]] = ckpt.sdpa {{.*}} {scale = 5.000000e-01 : f64, with_lse}
// Outside of ckpt.attention it is no attention core. O is a result as well.
// CHECK-NEXT:      ckpt.save %[[O]] "sdpa0" :
// CHECK-NEXT:      ckpt.save %[[LSE]] "sdpa0.lse" : !ckpt.tensor<batch x 2 x image x f32>
// CHECK-NEXT:      ckpt.scale %[[O]]
// CHECK:         backward(%[[DY:[^:]*]]: {{.*}}, %[[K:[^:]*]]: !ckpt.tensor<batch x text x 2 x 4 x bf16>, %[[V:[^:]*]]: !ckpt.tensor<batch x text x 2 x 4 x bf16>) {
// CHECK-NEXT:      %[[Q:.*]] = ckpt.load "q"
// CHECK-NEXT:      %[[O:.*]] = ckpt.load "sdpa0"
// CHECK-NEXT:      %[[LSE:.*]] = ckpt.load "sdpa0.lse"
// CHECK-NEXT:      %[[DQ:.*]], %{{.*}}, %{{.*}} = ckpt.sdpa_dx %[[Q]], %[[K]], %[[V]], %[[O]], %[[LSE]], %[[DY]] {scale = 5.000000e-01 : f64}
// CHECK-NEXT:      ckpt.yield %[[DQ]]

// -----

// Norms save x and statistics; the weight's gradient is dy times what the norm
// made before the weight, in f32.

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x bf16>
!w = !ckpt.tensor<8 x bf16>
ckpt.block @layer_norm states(%x : !x)
    params(%w "{i}.w" trainable : !w, %b "{i}.b" trainable : !w) {
  %y = ckpt.layer_norm %x, %w, %b {eps = 1.0e-6} : !x, !w, !w
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.step @layer_norm_step
// CHECK:           ckpt.save {{.*}} "layer_norm0.stats" : !ckpt.tensor<batch x 2 x f32>
// CHECK:         backward(%[[DY:[^:]*]]: {{.*}}, %[[W:[^:]*]]: !ckpt.tensor<8 x bf16>, %{{[^:]*}}: !ckpt.tensor<8 x bf16>) {
// CHECK-NEXT:      %[[X:.*]] = ckpt.load "x"
// CHECK-NEXT:      %[[S:.*]] = ckpt.load "layer_norm0.stats"
// CHECK-NEXT:      %[[DX:.*]] = ckpt.layer_norm_dx %[[DY]], %[[X]], %[[S]], %[[W]]
// CHECK-NEXT:      %[[XHAT:.*]] = ckpt.normalize %[[X]], %[[S]]
// CHECK-NEXT:      %[[DYF:.*]] = ckpt.cast %[[DY]] {to = f32}
// CHECK-NEXT:      %[[G:.*]] = ckpt.mul %[[DYF]], %[[XHAT]]
// CHECK-NEXT:      %[[DW:.*]] = ckpt.reduce_sum %[[G]] : !ckpt.tensor<batch x 8 x f32> -> !ckpt.tensor<8 x bf16>
// CHECK-NEXT:      %[[DB:.*]] = ckpt.reduce_sum %[[DY]] : !ckpt.tensor<batch x 8 x bf16> -> !ckpt.tensor<8 x bf16>
// CHECK-NEXT:      ckpt.yield %[[DX]], %[[DW]], %[[DB]]

// -----

// A frozen rms_norm weight is read by dx alone.

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x f32>
!w = !ckpt.tensor<8 x f32>
ckpt.block @rms_norm states(%x : !x) params(%w "{i}.w" frozen : !w) {
  %y = ckpt.rms_norm %x, %w {eps = 1.0e-6} : !x, !w
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.step @rms_norm_step
// CHECK:           ckpt.save {{.*}} "rms_norm0.stats" : !ckpt.tensor<batch x 1 x f32>
// CHECK:         backward(%[[DY:[^:]*]]: {{.*}}, %[[W:[^:]*]]: !ckpt.tensor<8 x f32>) {
// CHECK-NEXT:      %[[X:.*]] = ckpt.load "x"
// CHECK-NEXT:      %[[S:.*]] = ckpt.load "rms_norm0.stats"
// CHECK-NEXT:      %[[DX:.*]] = ckpt.rms_norm_dx %[[DY]], %[[X]], %[[S]], %[[W]]
// CHECK-NEXT:      ckpt.yield %[[DX]]

// -----

// rope is a rotation: its backward turns back, and saves nothing.

ckpt.size @batch
ckpt.size @image
!x = !ckpt.tensor<batch x image x 2 x 4 x f32>
!t = !ckpt.tensor<image x 2 x f32>
ckpt.block @rope states(%x : !x) inputs(%cos : !t, %sin : !t) {
  %y = ckpt.rope %x, %cos, %sin : !x, !t, !t
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.step @rope_step
// CHECK:         backward(%[[DY:[^:]*]]: {{.*}}, %[[COS:[^:]*]]: !ckpt.tensor<image x 2 x f32>, %[[SIN:[^:]*]]: !ckpt.tensor<image x 2 x f32>) {
// CHECK-NEXT:      %[[DX:.*]] = ckpt.rope %[[DY]], %[[COS]], %[[SIN]] {inverse}
// CHECK-NEXT:      ckpt.yield %[[DX]]

// -----

// cast, scale with an offset, both gelus.

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x bf16>
!f = !ckpt.tensor<batch x 8 x f32>
ckpt.block @unary states(%x : !x) {
  %0 = ckpt.cast %x {to = f32} : !x
  %1 = ckpt.gelu %0 {approximate = tanh} : !f
  %2 = ckpt.scale %1 {factor = -3.0, offset = 1.0} : !f
  %3 = ckpt.gelu %2 {approximate = erf} : !f
  %y = ckpt.cast %3 {to = bf16} : !f
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.step @unary_step
// CHECK:         backward(%[[DY:[^:]*]]:
// CHECK-NEXT:      %[[D3:.*]] = ckpt.cast %[[DY]] {to = f32}
// CHECK-NEXT:      %[[V2:.*]] = ckpt.load "scale0"
// CHECK-NEXT:      %[[D2:.*]] = ckpt.gelu_dx %[[D3]], %[[V2]] {approximate = erf}
// CHECK-NEXT:      %[[D1:.*]] = ckpt.scale %[[D2]] {factor = -3.000000e+00 : f64}
// CHECK-NEXT:      %[[X:.*]] = ckpt.load "x"
// CHECK-NEXT:      %[[V0:.*]] = ckpt.cast %[[X]] {to = f32}
// CHECK-NEXT:      %[[D0:.*]] = ckpt.gelu_dx %[[D1]], %[[V0]] {approximate = tanh}
// CHECK-NEXT:      %[[DX:.*]] = ckpt.cast %[[D0]] {to = bf16}
// CHECK-NEXT:      ckpt.yield %[[DX]]

// -----

// sub negates for its right operand; mul reads the other operand only where
// that gradient is needed: the plain input's is not, so x is not read; what was
// broadcast is summed down.

ckpt.size @batch
!x = !ckpt.tensor<batch x 4 x 8 x f32>
!row = !ckpt.tensor<batch x 1 x 8 x f32>
ckpt.block @binary states(%x : !x, %r : !row) inputs(%c : !row) {
  %0 = ckpt.mul %x, %c : !x, !row
  %y = ckpt.sub %0, %r : !x, !row
  %z = ckpt.mul %r, %r : !row, !row
  ckpt.return %y, %z : !x, !row
}
// CHECK-LABEL: ckpt.step @binary_step
// CHECK-NOT:       ckpt.save {{.*}} "mul
// CHECK:         backward(%[[DY:[^:]*]]: !ckpt.tensor<batch x 4 x 8 x f32>, %[[DZ:[^:]*]]: !ckpt.tensor<batch x 1 x 8 x f32>, %[[C:[^:]*]]: !ckpt.tensor<batch x 1 x 8 x f32>) {
// CHECK-NEXT:      %[[R:.*]] = ckpt.load "r"
// CHECK-NEXT:      %[[DR0:.*]] = ckpt.mul %[[DZ]], %[[R]]
// CHECK-NEXT:      %[[DR1:.*]] = ckpt.mul %[[DZ]], %[[R]]
// CHECK-NEXT:      %[[DR2:.*]] = ckpt.add %[[DR1]], %[[DR0]]
// CHECK-NEXT:      %[[NEG:.*]] = ckpt.scale %[[DY]] {factor = -1.000000e+00 : f64}
// CHECK-NEXT:      %[[DR3:.*]] = ckpt.reduce_sum %[[NEG]] : !ckpt.tensor<batch x 4 x 8 x f32> -> !ckpt.tensor<batch x 1 x 8 x f32>
// CHECK-NEXT:      %[[DR:.*]] = ckpt.add %[[DR3]], %[[DR2]]
// CHECK-NEXT:      %[[DX:.*]] = ckpt.mul %[[DY]], %[[C]]
// CHECK-NEXT:      ckpt.yield %[[DX]], %[[DR]]

// -----

// concat cuts, at symbolic offsets; the plain text gets no gradient. transpose
// turns back: the inverse of (2, 0, 1) is (1, 2, 0).

ckpt.size @batch
ckpt.size @image
ckpt.size @text
!x = !ckpt.tensor<batch x image x 8 x f32>
!t = !ckpt.tensor<batch x text x 8 x f32>
!c = !ckpt.tensor<8 x batch x image + text x f32>
ckpt.block @shape states(%x : !x) inputs(%t : !t) {
  %0 = ckpt.concat %t, %x {dim = 1} : !t, !x
  %1 = ckpt.transpose %0 {permutation = array<i64: 2, 0, 1>} : !ckpt.tensor<batch x text + image x 8 x f32>
  %2 = ckpt.silu %1 : !c
  %3 = ckpt.transpose %2 {permutation = array<i64: 1, 2, 0>} : !c
  %y = ckpt.slice %3 {dim = 1, offset = "text", extent = "image"} : !ckpt.tensor<batch x text + image x 8 x f32>
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.step @shape_step
// concat0 is saved, not its transpose.
// CHECK:           ckpt.save {{.*}} "concat0"
// CHECK:         backward(%[[DY:[^:]*]]:
// CHECK-NEXT:      %[[P:.*]] = ckpt.pad %[[DY]] {dim = 1 : i64, extent = "image + text", offset = "text"}
// CHECK-NEXT:      %[[D2:.*]] = ckpt.transpose %[[P]] {permutation = array<i64: 2, 0, 1>}
// CHECK-NEXT:      %[[V0:.*]] = ckpt.load "concat0"
// CHECK-NEXT:      %[[V1:.*]] = ckpt.transpose %[[V0]] {permutation = array<i64: 2, 0, 1>}
// CHECK-NEXT:      %[[D1:.*]] = ckpt.silu_dx %[[D2]], %[[V1]]
// CHECK-NEXT:      %[[D0:.*]] = ckpt.transpose %[[D1]] {permutation = array<i64: 1, 2, 0>}
// CHECK-NEXT:      %[[DX:.*]] = ckpt.slice %[[D0]] {dim = 1 : i64, extent = "image", offset = "text"}
// CHECK-NEXT:      ckpt.yield %[[DX]]
