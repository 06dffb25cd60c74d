//===- CkptStepOps.td - steps, kernels and variants --------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// The step of a block kind, its kernels and its variants (levels 2 to 4). The
// passes make them.
//
// Regions of `step` and `variant` are isolated from each other: what crosses
// from forward to backward goes through `save` and `load` by name, so no
// common subexpression elimination can merge a replay with the forward.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_STEP_OPS
#define CKPT_STEP_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def StepOp : Ckpt_Op<"step", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "forward and backward of one block kind";
  let description = [{
    - `forward` arguments: states, inputs, parameters; it yields the block's
      results.
    - `backward` arguments: gradients of the results, running sums (f32) of the
      differentiable inputs' gradients, running sums of the shared trainable
      parameters' gradients, inputs, parameters; it yields gradients of the
      states, the sums, and gradients of the other trainable parameters.

    Constraints:
    - (C1) Each region is one block that ends in `ckpt.yield`.
    - (C2) The names of `ckpt.save`s in the forward are unique.
    - (C3) A `ckpt.load` in the backward names a `ckpt.save` of its type.
    - (C4) `block` names a `ckpt.block`.
    - (C5) The forward takes the block's arguments and yields its results, by
      type.

    ```mlir
    ckpt.step @act_step of @act
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
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$block);
  let regions = (region SizedRegion<1>:$forward, SizedRegion<1>:$backward);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def SaveOp : Ckpt_Op<"save", [ParentOneOf<["StepOp", "VariantOp"]>]> {
  let summary = "a value that may cross to the backward";
  let description = [{
    A candidate for a fate: every value that the backward reads, every state and
    every captured value of a boundary region.

    - `value`: any tensor
    - `name`: unique in the step

    ```mlir
    ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
    ```
  }];
  let arguments = (ins T:$value, StrAttr:$name);
  let assemblyFormat = [{
    $value $name attr-dict `:` custom<OperandTypes>(type($value))
  }];
}

def LoadOp : Ckpt_Op<"load", [ParentOneOf<["StepOp", "VariantOp"]>]> {
  let summary = "a saved value, wherever its fate left it";
  let description = [{
    - `name`: of a `ckpt.save`
    - `value`: the saved value

    ```mlir
    %x = ckpt.load "x" : !ckpt.tensor<batch x 8 x f32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs T:$value);
  let assemblyFormat = [{
    $name attr-dict `:` custom<OperandTypes>(type($value))
  }];
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def KernelOp : Ckpt_Op<"kernel", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a fused op bound to a kernel";
  let description = [{
    The body says what the kernel computes: tensor and backward ops on the
    arguments, and a `ckpt.yield` of what it stores. Values between them stay
    f32; a value is rounded to its element type when it is stored.

    - `kernel_class`: gemm, attention_forward, attention_backward or row_wise;
      decides which measured rate the time model uses
    - `workspace`: scratch memory in bytes, while it runs
    - `flops`: floating point operations
    - `traffic`: bytes read and written when every output is asked for

    The last three are sizes, as in types.

    Constraints:
    - (C1) `workspace`, `flops` and `traffic` are sizes.
    - (C2) The body is one block that ends in `ckpt.yield`.
    - (C3) The body yields something.

    ```mlir
    ckpt.kernel @k0 row_wise(%x: !ckpt.tensor<batch x 8 x f32>) workspace "0" flops "32*batch" traffic "64*batch" {
      %y = ckpt.silu %x : !ckpt.tensor<batch x 8 x f32>
      ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Ckpt_KernelClassAttr:$kernel_class, StrAttr:$workspace,
                       StrAttr:$flops, StrAttr:$traffic);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def LaunchOp : Ckpt_Op<"launch", [
    Pure, ParentOneOf<["StepOp", "VariantOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel; a result without a use is left out";
  let description = [{
    - `reads`: the kernel's arguments
    - `id`: short name for reports, `f0`, `b3`
    - `in_place`: pairs (operand, result): the result may take the operand's
      place in memory when this is the operand's last use
    - `scope`: `attention` or `ffn`, the boundary region it comes from
    - `writes`: what the kernel yields

    Constraints:
    - (C1) `in_place` holds pairs of an operand's and a result's number.
    - (C2) `scope` is `attention` or `ffn`.
    - (C3) `kernel` names a `ckpt.kernel`.
    - (C4) Operands and results have the types of the kernel's arguments and of
      what it yields.

    ```mlir
    %y = ckpt.launch @k0 id "f0"(%x) {in_place = array<i64: 0, 0>} : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$id,
                       Variadic<T>:$reads,
                       OptionalAttr<DenseI64ArrayAttr>:$in_place,
                       OptionalAttr<StrAttr>:$scope);
  let results = (outs Variadic<T>:$writes);
  let assemblyFormat = [{
    $kernel `id` $id `(` $reads `)` attr-dict `:`
    functional-type($reads, $writes)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

def VariantOp : Ckpt_Op<"variant", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a step under one demand: forward, replay and backward";
  let description = [{
    - `fates`: one for each `ckpt.save` of the step, in order
    - `replay_results`: for each state, whether the replay must also make the
      block's result, since the next block's state is recomputed
    - `state_gradients`: for each state, whether the backward must make the
      gradient of the incoming state

    `ckpt-plan` leaves the regions empty, `ckpt-rematerialize` fills them.

    Constraints:
    - (C1) `fates` holds fates.
    - (C2) A region that is there is one block that ends in `ckpt.yield`.
    - (C3) `step` names a `ckpt.step`.
    - (C4) There is one fate for each `ckpt.save` of the step.
    - (C5) There is one flag of each kind for each state.

    ```mlir
    ckpt.variant @act_v0 of @act_step fates [keep] replay_results [false] state_gradients [true]
      forward(%x: !ckpt.tensor<batch x 8 x f32>) {
        %y = ckpt.launch @k0 id "f0"(%x) : (!ckpt.tensor<batch x 8 x f32>) -> !ckpt.tensor<batch x 8 x f32>
        ckpt.save %x "x" : !ckpt.tensor<batch x 8 x f32>
        ckpt.yield %y : !ckpt.tensor<batch x 8 x f32>
      }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$step,
                       ArrayAttr:$fates, DenseBoolArrayAttr:$replay_results,
                       DenseBoolArrayAttr:$state_gradients);
  let regions = (region AnyRegion:$forward, AnyRegion:$replay,
                        AnyRegion:$backward);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def CopyOutOp : Ckpt_Op<"copy_out", [HasParent<"VariantOp">]> {
  let summary = "copies a saved value to host memory";
  let description = [{
    - `value`: what is copied
    - `name`: of its `ckpt.save`

    ```mlir
    ckpt.copy_out %x "x" : !ckpt.tensor<batch x 8 x f32>
    ```
  }];
  let arguments = (ins T:$value, StrAttr:$name);
  let assemblyFormat = [{
    $value $name attr-dict `:` custom<OperandTypes>(type($value))
  }];
}

def CopyInOp : Ckpt_Op<"copy_in", [HasParent<"VariantOp">]> {
  let summary = "a saved value, copied back from host memory";
  let description = [{
    - `name`: of a `ckpt.save` that a `ckpt.copy_out` copied
    - `value`: the copy

    ```mlir
    %x = ckpt.copy_in "x" : !ckpt.tensor<batch x 8 x f32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs T:$value);
  let assemblyFormat = [{
    $name attr-dict `:` custom<OperandTypes>(type($value))
  }];
}

def TableOp : Ckpt_Op<"table", [
    HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the variant of each block, and the order of phases";
  let description = [{
    - `variants`: one symbol for each block of the step
    - `segments`: triples first block, number of blocks, checkpointed (0 or 1)
    - `order`: pairs phase, block, the phase 0 for forward, 1 for replay and 2
      for backward; `ckpt-segment-schedule` writes it

    Constraints:
    - (C1) `variants` holds symbols of `ckpt.variant`s.
    - (C2) `segments` holds triples that lie within the blocks.
    - (C3) `order` holds pairs of a phase and a block.

    ```mlir
    ckpt.table [@act_v0, @act_v0] segments [0, 1, 1, 1, 1, 1] order [0, 0, 0, 1, 2, 1, 2, 0]
    ```
  }];
  let arguments = (ins ArrayAttr:$variants, DenseI64ArrayAttr:$segments,
                       OptionalAttr<DenseI64ArrayAttr>:$order);
  let assemblyFormat = [{
    $variants `segments` $segments (`order` $order^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // CKPT_STEP_OPS
