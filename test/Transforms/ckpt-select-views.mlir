// Views: who reads through one, and what is copied because nobody can.
//
// RUN: ckpt-opt %s --split-input-file --ckpt-differentiate --ckpt-select | FileCheck %s

// Element-wise ops read slices as strides. A product reads dense memory: the
// transposed tensor is copied, the reshape after it costs nothing.

ckpt.size @tokens
!x = !ckpt.tensor<2 x tokens x 8 x f32>
!h = !ckpt.tensor<2 x tokens x 12 x f32>
!half = !ckpt.tensor<2 x tokens x 6 x f32>
!t = !ckpt.tensor<2 x 8 x tokens x f32>
ckpt.block @views states(%x : !x)
    params(%w1 "b.{i}.w1" frozen : !ckpt.tensor<12 x 8 x f32>,
           %w2 "b.{i}.w2" frozen : !ckpt.tensor<8 x 6 x f32>) {
  %h = ckpt.linear %x, %w1 : !x, !ckpt.tensor<12 x 8 x f32>
  %a = ckpt.slice %h {dim = 2, offset = "0", extent = "6"} : !h
  %b = ckpt.slice %h {dim = 2, offset = "6", extent = "6"} : !h
  %s = ckpt.silu %a : !half
  %m = ckpt.mul %s, %b : !half, !half
  %o = ckpt.linear %m, %w2 : !half, !ckpt.tensor<8 x 6 x f32>
  %t = ckpt.transpose %o {permutation = array<i64: 0, 2, 1>} : !x
  %u = ckpt.reshape %t {shape = ["2", "tokens", "8"]} : !t
  %v = ckpt.linear %u, %w1 : !x, !ckpt.tensor<12 x 8 x f32>
  %c = ckpt.slice %v {dim = 2, offset = "2", extent = "8"} : !h
  %y = ckpt.add %c, %x : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @views, 2 }

// CHECK: ckpt.kernel @silu_mul row_wise(%[[H:.*]]: !ckpt.tensor<2 x tokens x 12 x f32>)
// CHECK: ckpt.kernel @copy row_wise
// CHECK-NEXT: %[[T:.*]] = ckpt.transpose
// CHECK-NEXT: ckpt.yield %[[T]]
// CHECK-LABEL: ckpt.step @views_step
// CHECK: %[[H:.*]] = ckpt.launch @linear id "f0"
// CHECK-NEXT: %[[M:.*]]:2 = ckpt.launch @silu_mul id "f1"(%[[H]])
// CHECK-NEXT: %[[O:.*]] = ckpt.launch @linear_0 id "f2"(%[[M]]#0,
// CHECK-NEXT: %[[T:.*]] = ckpt.launch @copy id "f3"(%[[O]])
// CHECK-NEXT: %[[V:.*]] = ckpt.launch @linear_1 id "f4"(%[[T]],
// CHECK-NEXT: ckpt.launch @add id "f5"(%[[V]], %{{.*}})
// CHECK-NEXT: ckpt.save

// -----

// Two tokens joined for attention are copied once; the queries of one head
// width are a reshape and cost nothing.

ckpt.size @text
ckpt.size @image
!x = !ckpt.tensor<1 x image x 8 x f32>
!t = !ckpt.tensor<1 x text x 8 x f32>
!xh = !ckpt.tensor<1 x image x 2 x 4 x f32>
!th = !ckpt.tensor<1 x text x 2 x 4 x f32>
!kv = !ckpt.tensor<1 x image + text x 2 x 4 x f32>
ckpt.block @joint states(%x : !x) inputs(%t : !t) {
  %xh = ckpt.reshape %x {shape = ["1", "image", "2", "4"]} : !x
  %th = ckpt.reshape %t {shape = ["1", "text", "2", "4"]} : !t
  %kv = ckpt.concat %th, %xh {dim = 1} : !th, !xh
  %o = ckpt.sdpa %xh, %kv, %kv : !xh, !kv, !kv
  %y = ckpt.reshape %o {shape = ["1", "image", "8"]} : !xh
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @joint, 2 }

// The result is typed as the block returns it.
// CHECK: ckpt.kernel @sdpa attention_forward
// CHECK: %[[O:.*]], %[[LSE:.*]] = ckpt.sdpa
// CHECK-LABEL: ckpt.step @joint_step
// CHECK-NEXT: forward(%[[X:[^:]*]]: {{[^%]*}}%[[TEXT:[^:]*]]:
// CHECK-NEXT: %[[KV:.*]] = ckpt.launch @concat id "f0"(%[[TEXT]], %[[X]])
// CHECK-NEXT: %[[O:.*]]:2 = ckpt.launch @sdpa id "f1"(%[[X]], %[[KV]])

// -----

// A factor on a gradient goes behind the products that read it: what the
// adapter's backward starts from is not stored a second time, scaled.

ckpt.size @rows
!x = !ckpt.tensor<rows x 32 x bf16>
!low = !ckpt.tensor<rows x 2 x bf16>
ckpt.block @lora states(%x : !x)
    params(%a "b.{i}.a" trainable : !ckpt.tensor<2 x 32 x bf16>,
           %b "b.{i}.b" trainable : !ckpt.tensor<32 x 2 x bf16>) {
  %down = ckpt.linear %x, %a : !x, !ckpt.tensor<2 x 32 x bf16>
  %up = ckpt.linear %down, %b : !low, !ckpt.tensor<32 x 2 x bf16>
  %s = ckpt.scale %up {factor = 2.0} : !x
  %y = ckpt.add %x, %s : !x, !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @lora, 2 }

// CHECK-LABEL: ckpt.step @lora_step
// CHECK: ckpt.launch @linear id "f0"
// CHECK-NEXT: ckpt.launch @linear_scale_add id "f1"
// CHECK: backward(%[[DY:[^:]*]]:
// CHECK-NOT: ckpt.launch @scale
// CHECK: ckpt.launch @linear_dx_scale id "b0"(%[[DY]], %{{.*}}) : {{.*}} -> !ckpt.tensor<rows x 2 x bf16>
// CHECK-NEXT: ckpt.launch @linear_dw_scale_cast id "b1"(%[[DY]],
// CHECK-NOT: ckpt.launch @scale
// CHECK: ckpt.yield

// -----

// Ops of two boundary regions stay apart, though they could run in one kernel:
// a region can then run again without what lies outside it. Equal kernels of
// both are one.

ckpt.size @rows
!x = !ckpt.tensor<rows x 8 x f32>
ckpt.block @apart states(%x : !x) {
  %a = ckpt.attention {
    %s = ckpt.silu %x : !x
    ckpt.yield %s : !x
  } : !x
  %y = ckpt.ffn {
    %s = ckpt.silu %a : !x
    ckpt.yield %s : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @apart, 2 }

// CHECK-COUNT-1: ckpt.kernel @silu row_wise
// CHECK-LABEL: ckpt.step @apart_step
// CHECK: %[[A:.*]] = ckpt.launch @silu id "f0"({{.*}}scope = "attention"
// CHECK-NEXT: ckpt.launch @silu id "f1"(%[[A]]) {{.*}}scope = "ffn"
// The backward's are one kernel: nothing of it runs again.
// CHECK: backward
// CHECK: ckpt.launch @silu_dx_silu_dx id "b0"
// CHECK-NEXT: ckpt.yield
