// `ckpt.block`: ports with their roles, names that are SSA names, boundary
// regions, states of several tensors.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

ckpt.size @batch default 1
ckpt.size @image

// The example of the op's description.
// CHECK-LABEL: ckpt.block @mlp
// CHECK-NEXT: {{^}}      states(%x : !ckpt.tensor<batch x image x 8 x bf16> differentiable)
// CHECK-NEXT: {{^}}      inputs(%cond : !ckpt.tensor<batch x 1 x 8 x bf16>)
// CHECK-NEXT: {{^}}      params(
// CHECK-NEXT: {{^}}        %[[W:.*]] "blocks.{i}.fc.weight" frozen : !ckpt.tensor<8 x 8 x bf16>,
// CHECK-NEXT: {{^}}        %[[G:.*]] "gate" trainable : !ckpt.tensor<8 x bf16>) {
// CHECK-NEXT: {{^}}    %[[Y:.*]] = ckpt.ffn {
// CHECK-NEXT: ckpt.linear %x, %[[W]]
// CHECK-NEXT: ckpt.mul %{{.*}}, %cond
// CHECK-NEXT: ckpt.mul %{{.*}}, %[[G]]
// CHECK-NEXT: %[[R:.*]] = ckpt.add %x
// CHECK-NEXT: ckpt.yield %[[R]] : !ckpt.tensor<batch x image x 8 x bf16>
// CHECK-NEXT: } : !ckpt.tensor<batch x image x 8 x bf16>
// CHECK-NEXT: ckpt.return %[[Y]] : !ckpt.tensor<batch x image x 8 x bf16>
ckpt.block @mlp
    states(%x : !ckpt.tensor<batch x image x 8 x bf16> differentiable)
    inputs(%cond : !ckpt.tensor<batch x 1 x 8 x bf16>)
    params(
      %w "blocks.{i}.fc.weight" frozen : !ckpt.tensor<8 x 8 x bf16>,
      %g "gate" trainable : !ckpt.tensor<8 x bf16>) {
  %y = ckpt.ffn {
    %h = ckpt.linear %x, %w : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<8 x 8 x bf16>
    %m = ckpt.mul %h, %cond : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>
    %s = ckpt.mul %m, %g : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<8 x bf16>
    %r = ckpt.add %x, %s : !ckpt.tensor<batch x image x 8 x bf16>
    ckpt.yield %r : !ckpt.tensor<batch x image x 8 x bf16>
  } : !ckpt.tensor<batch x image x 8 x bf16>
  ckpt.return %y : !ckpt.tensor<batch x image x 8 x bf16>
}

// A string names a port otherwise than its SSA name does.
// CHECK-LABEL: ckpt.block @named
// CHECK-NEXT: states(%image_x : !ckpt.tensor<batch x 8 x f32>, %text_x : !ckpt.tensor<batch x 8 x f32> differentiable)
// CHECK-SAME: {
// CHECK-NEXT: ckpt.silu %text_x
// CHECK-NEXT: ckpt.silu %image_x
ckpt.block @named states(%a "image_x" : !ckpt.tensor<batch x 8 x f32>,
                         %b "text_x" : !ckpt.tensor<batch x 8 x f32> differentiable) {
  %0 = ckpt.silu %b : !ckpt.tensor<batch x 8 x f32>
  %1 = ckpt.silu %a : !ckpt.tensor<batch x 8 x f32>
  ckpt.return %0, %1 : !ckpt.tensor<batch x 8 x f32>, !ckpt.tensor<batch x 8 x f32>
}

// CHECK-LABEL: ckpt.block @attributes
// CHECK-NEXT: states(%x : !ckpt.tensor<8 x f32>) attributes {note = "kept"} {
ckpt.block @attributes states(%x : !ckpt.tensor<8 x f32>) attributes {note = "kept"} {
  %0 = ckpt.silu %x : !ckpt.tensor<8 x f32>
  ckpt.return %0 : !ckpt.tensor<8 x f32>
}

// The examples of the boundary regions.
// CHECK-LABEL: ckpt.block @boundaries
// CHECK: %[[A:.*]] = ckpt.attention {
// CHECK: } : !ckpt.tensor<batch x image x 2 x 4 x f32>
// CHECK: %[[F:.*]] = ckpt.ffn {
// CHECK: } : !ckpt.tensor<batch x image x 2 x 4 x f32>
ckpt.block @boundaries states(%x : !ckpt.tensor<batch x image x 2 x 4 x f32>) {
  %a = ckpt.attention {
    %o = ckpt.sdpa %x, %x, %x : !ckpt.tensor<batch x image x 2 x 4 x f32>
    %r = ckpt.add %x, %o : !ckpt.tensor<batch x image x 2 x 4 x f32>
    ckpt.yield %r : !ckpt.tensor<batch x image x 2 x 4 x f32>
  } : !ckpt.tensor<batch x image x 2 x 4 x f32>
  %f = ckpt.ffn {
    %s = ckpt.silu %x : !ckpt.tensor<batch x image x 2 x 4 x f32>
    ckpt.yield %s : !ckpt.tensor<batch x image x 2 x 4 x f32>
  } : !ckpt.tensor<batch x image x 2 x 4 x f32>
  %y = ckpt.add %a, %f : !ckpt.tensor<batch x image x 2 x 4 x f32>
  ckpt.return %y : !ckpt.tensor<batch x image x 2 x 4 x f32>
}
