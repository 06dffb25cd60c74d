// The step of a block: what the backward computes, what crosses to it, and
// what is left out because nobody asks for it. One op at a time:
// ckpt-differentiate-ops.mlir.
//
// RUN: ckpt-opt %s --split-input-file --ckpt-differentiate | FileCheck %s

// The example of the pass description. A frozen linear saves nothing: only the
// state and what silu_dx reads cross.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
!w = !ckpt.tensor<8 x 8 x f32>
ckpt.block @chain states(%x : !t) params(%w "b.{i}.w" frozen : !w) {
  %h = ckpt.linear %x, %w : !t, !w
  %y = ckpt.silu %h : !t
  ckpt.return %y : !t
}

// CHECK: ckpt.block @chain
// CHECK-LABEL: ckpt.step @chain_step of @chain
// CHECK-NEXT:    forward(%[[X:.*]]: !ckpt.tensor<batch x 8 x f32>, %[[W:.*]]: !ckpt.tensor<8 x 8 x f32>) {
// CHECK-NEXT:      ckpt.save %[[X]] "x" {state = 0 : i64}
// CHECK-NEXT:      %[[H:.*]] = ckpt.linear %[[X]], %[[W]]
// CHECK-NEXT:      ckpt.save %[[H]] "linear0" :
// CHECK-NEXT:      %[[Y:.*]] = ckpt.silu %[[H]]
// CHECK-NEXT:      ckpt.yield %[[Y]]
// CHECK:         backward(%[[DY:.*]]: !ckpt.tensor<batch x 8 x f32>, %[[W:.*]]: !ckpt.tensor<8 x 8 x f32>) {
// CHECK-NEXT:      %[[H:.*]] = ckpt.load "linear0"
// CHECK-NEXT:      %[[DH:.*]] = ckpt.silu_dx %[[DY]], %[[H]]
// CHECK-NEXT:      %[[DX:.*]] = ckpt.linear_dx %[[DH]], %[[W]]
// CHECK-NEXT:      ckpt.yield %[[DX]]

// -----

// LoRA: the base is frozen, A and B are trained. The linears of A and B read
// their inputs (silu0, linear1), the base reads none. A and B get their
// gradients from the block alone, in their own type.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x bf16>
!low = !ckpt.tensor<batch x 2 x bf16>
!w = !ckpt.tensor<8 x 8 x bf16>
!a = !ckpt.tensor<2 x 8 x bf16>
!b = !ckpt.tensor<8 x 2 x bf16>
ckpt.block @lora states(%x : !t)
    params(%w "b.{i}.w" frozen : !w, %a "b.{i}.a" trainable : !a,
           %b "b.{i}.b" trainable : !b) {
  %n = ckpt.silu %x : !t
  %base = ckpt.linear %n, %w : !t, !w
  %down = ckpt.linear %n, %a : !t, !a
  %up = ckpt.linear %down, %b : !low, !b
  %s = ckpt.scale %up {factor = 2.0} : !t
  %y = ckpt.add %base, %s : !t, !t
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @lora_step
// CHECK:           ckpt.save {{.*}} "x"
// CHECK:           ckpt.save {{.*}} "silu0"
// CHECK:           ckpt.save {{.*}} "linear1"
// CHECK-NOT:       ckpt.save
// CHECK:         backward(%[[DY:.*]]: !ckpt.tensor<batch x 8 x bf16>, %[[W:.*]]: !ckpt.tensor<8 x 8 x bf16>, %[[A:.*]]: !ckpt.tensor<2 x 8 x bf16>, %[[B:.*]]: !ckpt.tensor<8 x 2 x bf16>) {
// CHECK-NEXT:      %[[DUP:.*]] = ckpt.scale %[[DY]] {factor = 2.000000e+00
// CHECK-NEXT:      %[[DDOWN:.*]] = ckpt.linear_dx %[[DUP]], %[[B]]
// CHECK-NEXT:      %[[DOWN:.*]] = ckpt.load "linear1"
// CHECK-NEXT:      %[[DBF:.*]] = ckpt.linear_dw %[[DUP]], %[[DOWN]] {to = f32}
// CHECK-NEXT:      %[[DB:.*]] = ckpt.cast %[[DBF]] {to = bf16}
// CHECK-NEXT:      %[[DN0:.*]] = ckpt.linear_dx %[[DDOWN]], %[[A]]
// CHECK-NEXT:      %[[N:.*]] = ckpt.load "silu0"
// CHECK-NEXT:      %[[DAF:.*]] = ckpt.linear_dw %[[DDOWN]], %[[N]] {to = f32}
// CHECK-NEXT:      %[[DA:.*]] = ckpt.cast %[[DAF]] {to = bf16}
// CHECK-NEXT:      %[[DN1:.*]] = ckpt.linear_dx %[[DY]], %[[W]]
// CHECK-NEXT:      %[[DN:.*]] = ckpt.add %[[DN1]], %[[DN0]]
// CHECK-NEXT:      %[[X:.*]] = ckpt.load "x"
// CHECK-NEXT:      %[[DX:.*]] = ckpt.silu_dx %[[DN]], %[[X]]
// CHECK-NEXT:      ckpt.yield %[[DX]], %[[DA]], %[[DB]]

// -----

// Running sums in f32: a differentiable input, read twice, and a trainable
// parameter of all blocks. A plain input and an own bias have none; the bias
// is summed over the rows in f32 and cast by reduce_sum.

ckpt.size @batch
!t = !ckpt.tensor<batch x 4 x 8 x bf16>
!row = !ckpt.tensor<batch x 1 x 8 x bf16>
!v = !ckpt.tensor<8 x bf16>
ckpt.block @sums states(%x : !t)
    inputs(%c : !row differentiable, %p : !row)
    params(%g "gain" trainable : !v, %b "b.{i}.b" trainable : !v) {
  %0 = ckpt.mul %x, %c : !t, !row
  %1 = ckpt.add %0, %c : !t, !row
  %2 = ckpt.mul %1, %g : !t, !v
  %3 = ckpt.add %2, %b : !t, !v
  %y = ckpt.add %3, %p : !t, !row
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @sums_step
// CHECK:           ckpt.save {{.*}} "x"
// CHECK:           ckpt.save {{.*}} "add0"
// CHECK-NOT:       ckpt.save
// CHECK:         backward(%[[DY:.*]]: !ckpt.tensor<batch x 4 x 8 x bf16>, %[[SC:.*]]: !ckpt.tensor<batch x 1 x 8 x f32>, %[[SG:.*]]: !ckpt.tensor<8 x f32>, %[[C:.*]]: !ckpt.tensor<batch x 1 x 8 x bf16>, %{{.*}}: !ckpt.tensor<batch x 1 x 8 x bf16>, %[[G:.*]]: !ckpt.tensor<8 x bf16>, %{{.*}}: !ckpt.tensor<8 x bf16>) {
// CHECK-NEXT:      %[[DB:.*]] = ckpt.reduce_sum %[[DY]] : !ckpt.tensor<batch x 4 x 8 x bf16> -> !ckpt.tensor<8 x bf16>
// CHECK-NEXT:      %[[D1:.*]] = ckpt.mul %[[DY]], %[[G]]
// CHECK-NEXT:      %[[V1:.*]] = ckpt.load "add0"
// CHECK-NEXT:      %[[DG:.*]] = ckpt.mul %[[DY]], %[[V1]]
// CHECK-NEXT:      %[[SG1:.*]] = ckpt.accumulate %[[SG]], %[[DG]]
// CHECK-NEXT:      %[[SC1:.*]] = ckpt.accumulate %[[SC]], %[[D1]]
// CHECK-NEXT:      %[[DX:.*]] = ckpt.mul %[[D1]], %[[C]]
// CHECK-NEXT:      %[[X:.*]] = ckpt.load "x"
// CHECK-NEXT:      %[[DC:.*]] = ckpt.mul %[[D1]], %[[X]]
// CHECK-NEXT:      %[[SC2:.*]] = ckpt.accumulate %[[SC1]], %[[DC]]
// CHECK-NEXT:      ckpt.yield %[[DX]], %[[SC2]], %[[SG1]], %[[DB]]

// -----

// A parameter that two ops read: each contribution is summed in f32, the sum is
// cast once.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x bf16>
!v = !ckpt.tensor<8 x bf16>
ckpt.block @twice states(%x : !t) params(%b "b.{i}.b" trainable : !v) {
  %0 = ckpt.add %x, %b : !t, !v
  %1 = ckpt.silu %0 : !t
  %y = ckpt.add %1, %b : !t, !v
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @twice_step
// CHECK:         backward
// CHECK-NEXT:      %[[B1:.*]] = ckpt.reduce_sum {{.*}} -> !ckpt.tensor<8 x f32>
// CHECK:           ckpt.silu_dx
// CHECK-NEXT:      %[[B0:.*]] = ckpt.reduce_sum {{.*}} -> !ckpt.tensor<8 x f32>
// CHECK-NEXT:      %[[SUM:.*]] = ckpt.add %[[B0]], %[[B1]] : !ckpt.tensor<8 x f32>
// CHECK-NEXT:      %[[DB:.*]] = ckpt.cast %[[SUM]] {to = bf16}
// CHECK-NEXT:      ckpt.yield {{.*}}, %[[DB]]

// -----

// Boundary regions are flattened; every captured value that is not an input or
// a parameter is a candidate with the facts policies ask for, also when no
// backward op reads it (scale0: a scale reads nothing). The FFN's second
// operand is the state. gelu0 is read inside the FFN; the region's result is
// the block's and crosses as the next block's state. Numbers count the ops of
// the whole block, so gelu0 follows no other gelu.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @facts states(%x : !t) inputs(%c : !t) {
  %a = ckpt.attention {
    %0 = ckpt.add %x, %c : !t, !t
    %1 = ckpt.scale %0 {factor = 2.0} : !t
    ckpt.yield %1 : !t
  } : !t
  %y = ckpt.ffn {
    %0 = ckpt.scale %a {factor = 3.0} : !t
    %1 = ckpt.gelu %0 {approximate = erf} : !t
    %2 = ckpt.silu %1 : !t
    %3 = ckpt.add %2, %x : !t, !t
    ckpt.yield %3 : !t
  } : !t
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @facts_step
// CHECK:           ckpt.save {{.*}} "x" {attention_operand, ffn_operand, state = 0 : i64}
// CHECK:           ckpt.add {{.*}} {scope = "attention"}
// CHECK:           %[[A:.*]] = ckpt.scale {{.*}} scope = "attention"}
// CHECK-NEXT:      ckpt.save %[[A]] "scale0" {ffn_operand, producer = "attention", scope_result}
// CHECK:           %[[S:.*]] = ckpt.scale %[[A]] {{.*}}scope = "ffn"}
// CHECK-NEXT:      ckpt.save %[[S]] "scale1" {producer = "ffn"}
// CHECK-NEXT:      %[[G:.*]] = ckpt.gelu %[[S]] {approximate = erf, scope = "ffn"}
// CHECK-NEXT:      ckpt.save %[[G]] "gelu0" {producer = "ffn"}
// CHECK-NOT:       ckpt.save
// CHECK:         backward
// CHECK:           ckpt.silu_dx {{.*}} {scope = "ffn"}
// CHECK:           ckpt.scale {{.*}} {factor = 2.000000e+00 : f64, scope = "attention"}

// -----

// What attention reads is three views of one value: the value is saved once,
// and the views are made again (field case O1: an equal base is shared, views
// are never confused). Gradients of slices that tile it become one concat, in
// the order of the offsets.

ckpt.size @batch
ckpt.size @image
!t = !ckpt.tensor<batch x image x 8 x f32>
!qkv = !ckpt.tensor<batch x image x 24 x f32>
!h = !ckpt.tensor<batch x image x 2 x 4 x f32>
!w = !ckpt.tensor<24 x 8 x f32>
ckpt.block @views states(%x : !t) params(%w "b.{i}.w" frozen : !w) {
  %y = ckpt.attention {
    %qkv = ckpt.linear %x, %w : !t, !w
    %k0 = ckpt.slice %qkv {dim = 2, offset = "8", extent = "8"} : !qkv
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "8"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "16", extent = "8"} : !qkv
    %q = ckpt.reshape %q0 {shape = ["batch", "image", "2", "4"]} : !t
    %k = ckpt.reshape %k0 {shape = ["batch", "image", "2", "4"]} : !t
    %v = ckpt.reshape %v0 {shape = ["batch", "image", "2", "4"]} : !t
    %o = ckpt.sdpa %q, %k, %v : !h, !h, !h
    %r = ckpt.reshape %o {shape = ["batch", "image", "8"]} : !h
    ckpt.yield %r : !t
  } : !t
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @views_step
// CHECK:           ckpt.save {{.*}} "x"
// CHECK:           ckpt.save {{.*}} "linear0" {producer = "attention"}
// CHECK:           %[[O:.*]], %[[LSE:.*]] = ckpt.sdpa {{.*}}with_lse}
// CHECK-NEXT:      ckpt.save %[[O]] "sdpa0" {attention_core, producer = "attention", scope_result}
// CHECK-NEXT:      ckpt.save %[[LSE]] "sdpa0.lse" {attention_core, producer = "attention"}
// CHECK-NOT:       ckpt.save
// CHECK:         backward
// CHECK:           %[[QKV:.*]] = ckpt.load "linear0"
// CHECK-NEXT:      %[[Q0:.*]] = ckpt.slice %[[QKV]] {{{.*}}offset = "0"
// CHECK-NEXT:      %[[Q:.*]] = ckpt.reshape %[[Q0]]
// CHECK-NEXT:      %[[K0:.*]] = ckpt.slice %[[QKV]] {{{.*}}offset = "8"
// CHECK-NEXT:      %[[K:.*]] = ckpt.reshape %[[K0]]
// CHECK-NEXT:      %[[V0:.*]] = ckpt.slice %[[QKV]] {{{.*}}offset = "16"
// CHECK-NEXT:      %[[V:.*]] = ckpt.reshape %[[V0]]
// CHECK:           %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = ckpt.sdpa_dx %[[Q]], %[[K]], %[[V]]
// CHECK-NEXT:      %[[DV0:.*]] = ckpt.reshape %[[DV]]
// CHECK-NEXT:      %[[DK0:.*]] = ckpt.reshape %[[DK]]
// CHECK-NEXT:      %[[DQ0:.*]] = ckpt.reshape %[[DQ]]
// CHECK-NEXT:      ckpt.concat %[[DQ0]], %[[DK0]], %[[DV0]] {dim = 2

// -----

// Slices that leave a gap, or overlap, are padded and added up.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
!s = !ckpt.tensor<batch x 4 x f32>
ckpt.block @gap states(%x : !t, %s : !s) {
  %a = ckpt.slice %x {dim = 1, offset = "0", extent = "4"} : !t
  %b = ckpt.slice %x {dim = 1, offset = "2", extent = "4"} : !t
  %0 = ckpt.silu %a : !s
  %1 = ckpt.mul %0, %b : !s, !s
  %y = ckpt.scale %x {factor = 2.0} : !t
  %z = ckpt.add %1, %s : !s, !s
  ckpt.return %y, %z : !t, !s
}

// CHECK-LABEL: ckpt.step @gap_step
// CHECK:         backward(%[[DY:.*]]: !ckpt.tensor<batch x 8 x f32>, %[[DZ:.*]]: !ckpt.tensor<batch x 4 x f32>) {
// CHECK:           %[[DX:.*]] = ckpt.scale %[[DY]] {factor = 2
// CHECK:           %[[S:.*]] = ckpt.load "silu0"
// CHECK-NEXT:      %[[DB:.*]] = ckpt.mul %[[DZ]], %[[S]]
// CHECK:           %[[DA:.*]] = ckpt.silu_dx
// CHECK-NEXT:      %[[P1:.*]] = ckpt.pad %[[DB]] {dim = 1 : i64, extent = "8", offset = "2"}
// CHECK-NEXT:      %[[P0:.*]] = ckpt.pad %[[DA]] {dim = 1 : i64, extent = "8", offset = "0"}
// CHECK-NEXT:      %[[DX1:.*]] = ckpt.add %[[P1]], %[[DX]]
// CHECK-NEXT:      %[[DX2:.*]] = ckpt.add %[[P0]], %[[DX1]]
// The state s is added to z alone: its gradient is a copy of z's, a value of
// its own.
// CHECK-NEXT:      %[[DS:.*]] = ckpt.scale %[[DZ]]
// CHECK-NEXT:      ckpt.yield %[[DX2]], %[[DS]]

// -----

// A saved value that is also the block's result is copied, so that the next
// block's state is a buffer of its own; the copy has no backward op.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @both states(%x : !t, %z : !t) {
  %a = ckpt.silu %x : !t
  %b = ckpt.mul %a, %z : !t, !t
  ckpt.return %a, %b : !t, !t
}

// CHECK-LABEL: ckpt.step @both_step
// CHECK:           %[[A:.*]] = ckpt.silu
// CHECK-NEXT:      ckpt.save %[[A]] "silu0"
// CHECK:           %[[B:.*]] = ckpt.mul
// CHECK-NEXT:      %[[COPY:.*]] = ckpt.scale %[[A]]
// CHECK-NEXT:      ckpt.yield %[[COPY]], %[[B]]
// CHECK:         backward(%[[DA0:.*]]: !ckpt.tensor<batch x 8 x f32>, %[[DB:.*]]: !ckpt.tensor<batch x 8 x f32>) {
// CHECK-NEXT:      %[[Z:.*]] = ckpt.load "z"
// CHECK-NEXT:      %[[DA1:.*]] = ckpt.mul %[[DB]], %[[Z]]
// CHECK-NEXT:      %[[A:.*]] = ckpt.load "silu0"
// CHECK-NEXT:      %[[DZ:.*]] = ckpt.mul %[[DB]], %[[A]]
// CHECK-NEXT:      %[[DA:.*]] = ckpt.add %[[DA1]], %[[DA0]]
// CHECK:           ckpt.silu_dx %[[DA]]

// -----

// A norm in f32 of a bf16 state reads the state again and not its f32 copy,
// which is twice as large. Ops that no result needs are left out.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x bf16>
!f = !ckpt.tensor<batch x 8 x f32>
ckpt.block @wide states(%x : !t) {
  %xf = ckpt.cast %x {to = f32} : !t
  %n = ckpt.layer_norm %xf {eps = 1.0e-6} : !f
  %dead = ckpt.silu %n : !f
  %y = ckpt.cast %n {to = bf16} : !f
  ckpt.return %y : !t
}

// CHECK-LABEL: ckpt.step @wide_step
// CHECK:           ckpt.save {{.*}} "x"
// CHECK:           ckpt.save {{.*}} "layer_norm0.stats" : !ckpt.tensor<batch x 2 x f32>
// CHECK-NOT:       ckpt.silu
// CHECK-NOT:       ckpt.save
// CHECK:         backward
// CHECK:           %[[X:.*]] = ckpt.load "x" : !ckpt.tensor<batch x 8 x bf16>
// CHECK-NEXT:      %[[XF:.*]] = ckpt.cast %[[X]] {to = f32}
// CHECK:           ckpt.layer_norm_dx {{.*}}, %[[XF]]

// -----

// A cast to the type that a value has is that value; as a result it is a copy,
// so that an input is nobody's state.

ckpt.size @batch
!t = !ckpt.tensor<batch x 8 x f32>
ckpt.block @identity states(%x : !t, %z : !t) inputs(%c : !t) {
  %0 = ckpt.mul %x, %z : !t
  %1 = ckpt.cast %c {to = f32} : !t
  ckpt.return %0, %1 : !t, !t
}

// CHECK-LABEL: ckpt.step @identity_step
// CHECK:         forward(%{{[^:]*}}: {{.*}}, %{{[^:]*}}: {{.*}}, %[[C:[^:]*]]: !ckpt.tensor<batch x 8 x f32>) {
// CHECK:           %[[M:.*]] = ckpt.mul
// CHECK-NEXT:      %[[COPY:.*]] = ckpt.scale %[[C]]
// CHECK-NEXT:      ckpt.yield %[[M]], %[[COPY]]
