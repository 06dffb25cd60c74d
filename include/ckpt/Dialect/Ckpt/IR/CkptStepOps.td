//===- CkptStepOps.td - ===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// The step of a block kind, its kernels and its variants (levels 2 to 4).
//
// Regions of `step` and `variant` are isolated from each other: what crosses
// from forward to backward goes through `save` and `load` by name, so no
// common subexpression elimination can merge a replay with the forward.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_STEP_OPS
#define CKPT_STEP_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"

def StepOp : Ckpt_Op<"step", [Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "forward and backward of one block kind";
  let description = [{
    Forward arguments: states, inputs, parameters; it yields the block's
    results. Backward arguments: gradients of the results, running sums (f32)
    of the differentiable inputs' gradients, running sums of the shared
    trainable parameters' gradients, inputs, parameters; it yields gradients
    of the states, the sums, and gradients of the other trainable parameters.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$block);
  let regions = (region SizedRegion<1>:$forward, SizedRegion<1>:$backward);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def SaveOp : Ckpt_Op<"save"> {
  let summary = "a value that may cross to the backward";
  // ckpt.save %h "h" {producer = "ffn", ...} : type
  let arguments = (ins T:$value, StrAttr:$name);
  let assemblyFormat = "$value $name attr-dict `:` custom<OperandTypes>(type($value))";
}
def LoadOp : Ckpt_Op<"load"> {
  let summary = "a saved value, wherever its fate left it";
  let arguments = (ins StrAttr:$name);
  let results = (outs T:$value);
  let assemblyFormat = "$name attr-dict `:` custom<OperandTypes>(type($value))";
}

def KernelOp : Ckpt_Op<"kernel", [Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a fused op bound to a kernel";
  // Body: tensor and backward ops, ckpt.yield of the outputs. Costs and the
  // workspace (bytes) are canonical sizes.
  let arguments = (ins SymbolNameAttr:$sym_name, Ckpt_KernelClassAttr:$kernel_class,
                       StrAttr:$workspace, StrAttr:$flops, StrAttr:$traffic);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
def LaunchOp : Ckpt_Op<"launch", [Pure]> {
  let summary = "runs a kernel; a result without a use is left out";
  // in_place: pairs (operand, result)
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$id, Variadic<T>:$reads,
                       OptionalAttr<DenseI64ArrayAttr>:$in_place, OptionalAttr<StrAttr>:$scope);
  let results = (outs Variadic<T>:$writes);
  let assemblyFormat = "$kernel `id` $id `(` $reads `)` attr-dict `:` functional-type($reads, $writes)";
}

def VariantOp : Ckpt_Op<"variant", [Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a step under one demand: forward, replay and backward";
  // fates: one per ckpt.save of the step, in order
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$step,
                       ArrayAttr:$fates, DenseBoolArrayAttr:$replay_results,
                       DenseBoolArrayAttr:$state_gradients);
  let regions = (region AnyRegion:$forward, AnyRegion:$replay, AnyRegion:$backward);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
def CopyOutOp : Ckpt_Op<"copy_out"> {
  let summary = "copies a saved value to host memory";
  let arguments = (ins T:$value, StrAttr:$name);
  let assemblyFormat = "$value $name attr-dict `:` custom<OperandTypes>(type($value))";
}
def CopyInOp : Ckpt_Op<"copy_in"> {
  let summary = "a saved value, copied back from host memory";
  let arguments = (ins StrAttr:$name);
  let results = (outs T:$value);
  let assemblyFormat = "$name attr-dict `:` custom<OperandTypes>(type($value))";
}

def TableOp : Ckpt_Op<"table", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "the variant of each block, and the order of phases";
  // variants: one symbol per block of the step; segments: [first, count,
  // checkpointed] triples; order (set by ckpt-segment-schedule): pairs
  // (phase, block), phase 0 forward, 1 replay, 2 backward.
  let arguments = (ins ArrayAttr:$variants, DenseI64ArrayAttr:$segments,
                       OptionalAttr<DenseI64ArrayAttr>:$order);
  let assemblyFormat = [{
    $variants `segments` $segments (`order` $order^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // CKPT_STEP_OPS
