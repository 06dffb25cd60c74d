// `ckpt.stack` and `ckpt.repeat`: several kinds in a stack, a change of the
// state's shape, several stacks, inputs that kinds share.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

ckpt.block @mlp states(%x : !ckpt.tensor<8 x f32>)
    inputs(%cond : !ckpt.tensor<8 x f32> differentiable) {
  %y = ckpt.mul %x, %cond : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<8 x f32>
}
ckpt.block @widen states(%x : !ckpt.tensor<8 x f32>) {
  %y = ckpt.concat %x, %x {dim = 0} : !ckpt.tensor<8 x f32>
  ckpt.return %y : !ckpt.tensor<16 x f32>
}
ckpt.block @wide states(%z : !ckpt.tensor<16 x f32>) {
  %y = ckpt.silu %z : !ckpt.tensor<16 x f32>
  ckpt.return %y : !ckpt.tensor<16 x f32>
}

// CHECK-LABEL: ckpt.stack @model {
// CHECK-NEXT: ckpt.repeat @mlp, 16
// CHECK-NEXT: ckpt.repeat @widen, 1
// CHECK-NEXT: }
ckpt.stack @model {
  ckpt.repeat @mlp, 16
  ckpt.repeat @widen, 1
}
// CHECK: ckpt.stack @rest {
// CHECK-NEXT: ckpt.repeat @wide, 4
ckpt.stack @rest {
  ckpt.repeat @wide, 4
}
