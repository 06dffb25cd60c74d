// Which ops share a kernel, the launches that replace them, and what may take
// whose place in memory. The groups follow from op structure alone.
//
// RUN: ckpt-opt %s --split-input-file --ckpt-differentiate --ckpt-select | FileCheck %s

// The sequence of docs/Architecture.md: a pre-norm block with frozen weights is
// seven kernels forward and seven backward. The attention reads q, k and v as
// strides of one product, its backward writes their gradients side by side;
// nothing runs for a view. Residuals and activations are in the products.

ckpt.size @batch
ckpt.size @image
!x = !ckpt.tensor<batch x image x 8 x bf16>
!heads = !ckpt.tensor<batch x image x 2 x 4 x bf16>
!qkv = !ckpt.tensor<batch x image x 24 x bf16>
!hidden = !ckpt.tensor<batch x image x 32 x bf16>
ckpt.block @dit
    states(%x : !x differentiable)
    params(%wqkv "{i}.qkv" frozen : !ckpt.tensor<24 x 8 x bf16>,
           %wo "{i}.o" frozen : !ckpt.tensor<8 x 8 x bf16>,
           %w1 "{i}.w1" frozen : !ckpt.tensor<32 x 8 x bf16>,
           %b1 "{i}.b1" frozen : !ckpt.tensor<32 x bf16>,
           %w2 "{i}.w2" frozen : !ckpt.tensor<8 x 32 x bf16>) {
  %x1 = ckpt.attention {
    %n = ckpt.layer_norm %x {eps = 1.0e-6} : !x
    %qkv = ckpt.linear %n, %wqkv : !x, !ckpt.tensor<24 x 8 x bf16>
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "8"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "8", extent = "8"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "16", extent = "8"} : !qkv
    %q = ckpt.reshape %q0 {shape = ["batch", "image", "2", "4"]} : !x
    %k = ckpt.reshape %k0 {shape = ["batch", "image", "2", "4"]} : !x
    %v = ckpt.reshape %v0 {shape = ["batch", "image", "2", "4"]} : !x
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "image", "8"]} : !heads
    %p = ckpt.linear %o, %wo : !x, !ckpt.tensor<8 x 8 x bf16>
    %r = ckpt.add %x, %p : !x, !x
    ckpt.yield %r : !x
  } : !x
  %y = ckpt.ffn {
    %n = ckpt.layer_norm %x1 {eps = 1.0e-6} : !x
    %h = ckpt.linear %n, %w1, %b1 : !x, !ckpt.tensor<32 x 8 x bf16>, !ckpt.tensor<32 x bf16>
    %a = ckpt.gelu %h {approximate = tanh} : !hidden
    %o = ckpt.linear %a, %w2 : !hidden, !ckpt.tensor<8 x 32 x bf16>
    %r = ckpt.add %x1, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @dit, 2 }

// The attention's views are in its body.
// CHECK: ckpt.kernel @sdpa attention_forward(%[[QKV:.*]]: !ckpt.tensor<batch x image x 24 x bf16>)
// CHECK-DAG: ckpt.slice %[[QKV]]
// CHECK-DAG: ckpt.slice %[[QKV]]
// CHECK-DAG: ckpt.slice %[[QKV]]
// CHECK: ckpt.sdpa
// CHECK-NEXT: ckpt.yield
// CHECK: ckpt.kernel @linear_gelu gemm
// CHECK-NEXT: %[[H:.*]] = ckpt.linear
// CHECK-NEXT: %[[A:.*]] = ckpt.gelu %[[H]]
// CHECK-NEXT: ckpt.yield %[[A]], %[[H]]
// CHECK: ckpt.kernel @sdpa_dx_concat attention_backward
// CHECK: ckpt.concat
// CHECK-NEXT: ckpt.yield

// CHECK-LABEL: ckpt.step @dit_step
// CHECK-NEXT: forward(%[[X:[^:]*]]: {{[^%]*}}%[[WQKV:[^:]*]]: {{[^%]*}}%[[WO:[^:]*]]: {{[^%]*}}%[[W1:[^:]*]]: {{[^%]*}}%[[B1:[^:]*]]: {{[^%]*}}%[[W2:[^:]*]]:
// CHECK-NEXT: %[[F0:.*]]:2 = ckpt.launch @layer_norm id "f0"(%[[X]]) {{.*}}scope = "attention"
// CHECK-NEXT: %[[F1:.*]] = ckpt.launch @linear id "f1"(%[[F0]]#0, %[[WQKV]]) {scope = "attention"}
// CHECK-NEXT: %[[F2:.*]]:2 = ckpt.launch @sdpa id "f2"(%[[F1]])
// The residual is the product's last operand and may be written over.
// CHECK-NEXT: %[[F3:.*]] = ckpt.launch @linear_add id "f3"(%[[F2]]#0, %[[WO]], %[[X]]) {in_place = array<i64: 2, 0>,
// CHECK-NEXT: %[[F4:.*]]:2 = ckpt.launch @layer_norm id "f4"(%[[F3]]) {{.*}}scope = "ffn"
// CHECK-NEXT: %[[F5:.*]]:2 = ckpt.launch @linear_gelu id "f5"(%[[F4]]#0, %[[W1]], %[[B1]])
// CHECK-NEXT: %[[F6:.*]] = ckpt.launch @linear_add_{{.*}} id "f6"(%[[F5]]#0, %[[W2]], %[[F3]])
// Saves follow, in their old order.
// CHECK-NEXT: ckpt.save %[[X]] "x"
// CHECK-NEXT: ckpt.save %[[F0]]#1 "layer_norm0.stats"
// CHECK-NEXT: ckpt.save %[[F1]] "linear0"
// CHECK-NEXT: ckpt.save %[[F2]]#0 "sdpa0"
// CHECK-NEXT: ckpt.save %[[F2]]#1 "sdpa0.lse"
// CHECK-NEXT: ckpt.save %[[F3]] "add0"
// CHECK-NEXT: ckpt.save %[[F4]]#1 "layer_norm1.stats"
// CHECK-NEXT: ckpt.save %[[F5]]#1 "linear2"
// CHECK-NEXT: ckpt.yield %[[F6]]
// CHECK: backward(%[[DY:[^:]*]]:
// CHECK-COUNT-8: ckpt.load
// dh takes h's place: both at the same element.
// CHECK-NEXT: %[[DH:.*]] = ckpt.launch @linear_dx_gelu_dx id "b0"(%[[DY]], %{{.*}}, %{{.*}}) {in_place = array<i64: 2, 0>
// CHECK-NEXT: %[[DN:.*]] = ckpt.launch @linear_dx id "b1"(%[[DH]],
// CHECK-NEXT: %[[DX1:.*]] = ckpt.launch @layer_norm_dx_add id "b2"(%[[DN]], %{{.*}}, %{{.*}}, %[[DY]])
// CHECK-NEXT: %[[DO:.*]] = ckpt.launch @linear_dx_{{.*}} id "b3"(%[[DX1]],
// CHECK-NEXT: %[[DQKV:.*]] = ckpt.launch @sdpa_dx_concat id "b4"({{.*}}%[[DO]]) {scope = "attention"}
// CHECK-NEXT: %[[DN1:.*]] = ckpt.launch @linear_dx_{{.*}} id "b5"(%[[DQKV]],
// CHECK-NEXT: %[[DX:.*]] = ckpt.launch @layer_norm_dx_add id "b6"(%[[DN1]], %{{.*}}, %{{.*}}, %[[DX1]])
// CHECK-NEXT: ckpt.yield %[[DX]]

// -----

// An f32 island: each reader widens for itself, so that no f32 tensor is
// stored. The norm's modulation is in its kernel; so is, in the product's, the
// gate, the residual and the rounding. Rows of the conditioning are read as
// slices.

ckpt.size @batch
ckpt.size @tokens
!x = !ckpt.tensor<batch x tokens x 8 x bf16>
!xf = !ckpt.tensor<batch x tokens x 8 x f32>
!row = !ckpt.tensor<batch x 1 x 8 x f32>
!mod = !ckpt.tensor<batch x 2 x 8 x f32>
!w = !ckpt.tensor<8 x 8 x bf16>
ckpt.block @island states(%x : !x) inputs(%mod : !mod)
    params(%w "b.{i}.w" frozen : !w) {
  %scale = ckpt.slice %mod {dim = 1, offset = "0", extent = "1"} : !mod
  %gate = ckpt.slice %mod {dim = 1, offset = "1", extent = "1"} : !mod
  %xf = ckpt.cast %x {to = f32} : !x
  %n0 = ckpt.rms_norm %xf {eps = 1.0e-6} : !xf
  %n1 = ckpt.mul %n0, %scale : !xf, !row
  %n = ckpt.cast %n1 {to = bf16} : !xf
  %h = ckpt.linear %n, %w : !x, !w
  %hf = ckpt.cast %h {to = f32} : !x
  %g = ckpt.mul %hf, %gate : !xf, !row
  %r = ckpt.add %xf, %g : !xf, !xf
  %y = ckpt.cast %r {to = bf16} : !xf
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @island, 2 }

// CHECK-LABEL: ckpt.step @island_step
// CHECK-NEXT: forward(%[[X:[^:]*]]: {{[^%]*}}%[[MOD:[^:]*]]: {{[^%]*}}%[[W:[^:]*]]:
// CHECK-NEXT: %[[N:.*]]:2 = ckpt.launch @cast_rms_norm_mul_cast id "f0"(%[[X]], %[[MOD]])
// CHECK-SAME: -> (!ckpt.tensor<batch x tokens x 8 x bf16>, !ckpt.tensor<batch x tokens x 1 x f32>)
// CHECK-NEXT: ckpt.launch @linear_cast_mul_cast_add_cast id "f1"(%[[N]]#0, %[[W]], %[[MOD]], %[[X]]) {in_place = array<i64: 3, 0>}
// CHECK-NEXT: ckpt.save
// CHECK: backward
// CHECK: ckpt.launch @cast_mul_cast id "b0"
// The product's result is stored in bf16 and widened where the norm's backward
// reads it, not stored in f32.
// CHECK-NEXT: ckpt.launch @linear_dx id "b1"{{.*}} -> !ckpt.tensor<batch x tokens x 8 x bf16>
// CHECK-NEXT: ckpt.launch @cast_mul_cast_rms_norm_dx_cast_add_cast id "b2"
// CHECK-NEXT: ckpt.yield

// -----

// Sums over rows: a sum takes what only it reads, so that the product of the
// gate's gradient is never stored; a running sum is updated where it lies.
// The f32 sum becomes the caller's gradient in a kernel of its own.

ckpt.size @rows
!x = !ckpt.tensor<rows x 8 x bf16>
!row = !ckpt.tensor<1 x 8 x bf16>
ckpt.block @gate states(%x : !x) inputs(%gate : !row differentiable) {
  %s = ckpt.silu %x : !x
  %y = ckpt.mul %s, %gate : !x, !row
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @gate, 2 }

// CHECK: ckpt.kernel @mul_accumulate row_wise
// CHECK: ckpt.kernel @cast row_wise(%{{.*}}: !ckpt.tensor<1 x 8 x f32>)
// CHECK-SAME: gradient_casts = ["grad.gate"]
// CHECK-LABEL: ckpt.step @gate_step
// CHECK: backward(%[[DY:[^:]*]]: {{[^%]*}}%[[SUM:[^:]*]]:
// CHECK: %[[NEW:.*]] = ckpt.launch @mul_accumulate id "b0"(%[[DY]], %{{.*}}, %[[SUM]]) {in_place = array<i64: 2, 0>}
// CHECK: %[[DX:.*]] = ckpt.launch @mul_silu_dx id "b1"
// CHECK: ckpt.yield %[[DX]], %[[NEW]]
