//===- CkptBackwardOps.td - ===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// What backwards are made of besides the tensor ops. Made by
// `ckpt-differentiate`, never written in block IR.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_BACKWARD_OPS
#define CKPT_BACKWARD_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"

def LinearDxOp : Ckpt_TensorOp<"linear_dx"> {
  let summary = "dx = dy w";
  let arguments = (ins T:$dy, T:$weight);
  let results = (outs T:$dx);
}
def LinearDwOp : Ckpt_TensorOp<"linear_dw"> {
  let summary = "dw = dy^T x, summed over all rows in f32";
  let arguments = (ins T:$dy, T:$x, TypeAttr:$to);
  let results = (outs T:$dw);
}
def SdpaDxOp : Ckpt_TensorOp<"sdpa_dx"> {
  let summary = "gradients of q, k and v";
  let arguments = (ins T:$q, T:$k, T:$v, T:$o, T:$lse, T:$do, OptionalAttr<F64Attr>:$scale);
  let results = (outs T:$dq, T:$dk, T:$dv);
}
def LayerNormDxOp : Ckpt_TensorOp<"layer_norm_dx"> {
  let summary = "dx = r (g - mean(g) - xhat mean(g xhat)), g = dy weight";
  let arguments = (ins T:$dy, T:$x, T:$stats, Optional<T>:$weight);
  let results = (outs T:$dx);
}
def RmsNormDxOp : Ckpt_TensorOp<"rms_norm_dx"> {
  let summary = "dx = r (g - xhat mean(g xhat)), g = dy weight";
  let arguments = (ins T:$dy, T:$x, T:$stats, Optional<T>:$weight);
  let results = (outs T:$dx);
}
def NormalizeOp : Ckpt_TensorOp<"normalize"> {
  let summary = "xhat from x and the statistics of layer_norm (2) or rms_norm (1), in f32";
  let arguments = (ins T:$x, T:$stats);
  let results = (outs T:$xhat);
}
def SiluDxOp : Ckpt_TensorOp<"silu_dx"> {
  let summary = "dy silu'(x)";
  let arguments = (ins T:$dy, T:$x);
  let results = (outs T:$dx);
}
def GeluDxOp : Ckpt_TensorOp<"gelu_dx"> {
  let summary = "dy gelu'(x)";
  let arguments = (ins T:$dy, T:$x, Ckpt_GeluAttr:$approximate);
  let results = (outs T:$dx);
}
def PadOp : Ckpt_TensorOp<"pad"> {
  let summary = "dy at an offset of a dimension, zeros around it";
  let arguments = (ins T:$x, I64Attr:$dim, StrAttr:$offset, StrAttr:$extent);
  let results = (outs T:$y);
}
def ReduceSumOp : Ckpt_Op<"reduce_sum", [Pure]> {
  let summary = "sum down to a shape that broadcasts to the operand's, in f32, cast once";
  let arguments = (ins T:$x);
  let results = (outs T:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}
def AccumulateOp : Ckpt_TensorOp<"accumulate"> {
  let summary = "sum + the operand summed down to sum's shape, all in f32";
  // sum: f32; result takes sum's place in memory
  let arguments = (ins T:$sum, T:$x);
  let results = (outs T:$y);
}

#endif // CKPT_BACKWARD_OPS
