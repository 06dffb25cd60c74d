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
  let assemblyFormat = [{
    $dy `,` $weight attr-dict `:`
    custom<OperandTypes>(type($dy), type($weight))
  }];
}
def LinearDwOp : Ckpt_TensorOp<"linear_dw"> {
  let summary = "dw = dy^T x, summed over all rows in f32";
  let arguments = (ins T:$dy, T:$x, TypeAttr:$to);
  let results = (outs T:$dw);
  let assemblyFormat = [{
    $dy `,` $x attr-dict `:`
    custom<OperandTypes>(type($dy), type($x))
  }];
}
def SdpaDxOp : Ckpt_TensorOp<"sdpa_dx"> {
  let summary = "gradients of q, k and v";
  let arguments = (ins T:$q, T:$k, T:$v, T:$o, T:$lse, T:$dout, OptionalAttr<F64Attr>:$scale);
  let results = (outs T:$dq, T:$dk, T:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $o `,` $lse `,` $dout attr-dict `:`
    custom<OperandTypes>(type($q), type($k), type($v), type($o), type($lse), type($dout))
  }];
}
def LayerNormDxOp : Ckpt_TensorOp<"layer_norm_dx"> {
  let summary = "dx = r (g - mean(g) - xhat mean(g xhat)), g = dy weight";
  let arguments = (ins T:$dy, T:$x, T:$stats, Optional<T>:$weight);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x `,` $stats (`,` $weight^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), type($dy), type($x), type($stats), type($weight))
  }];
}
def RmsNormDxOp : Ckpt_TensorOp<"rms_norm_dx"> {
  let summary = "dx = r (g - xhat mean(g xhat)), g = dy weight";
  let arguments = (ins T:$dy, T:$x, T:$stats, Optional<T>:$weight);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x `,` $stats (`,` $weight^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), type($dy), type($x), type($stats), type($weight))
  }];
}
def NormalizeOp : Ckpt_TensorOp<"normalize"> {
  let summary = "xhat from x and the statistics of layer_norm (2) or rms_norm (1), in f32";
  let arguments = (ins T:$x, T:$stats);
  let results = (outs T:$xhat);
  let assemblyFormat = [{
    $x `,` $stats attr-dict `:`
    custom<OperandTypes>(type($x), type($stats))
  }];
}
def SiluDxOp : Ckpt_TensorOp<"silu_dx"> {
  let summary = "dy silu'(x)";
  let arguments = (ins T:$dy, T:$x);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x attr-dict `:`
    custom<OperandTypes>(type($dy), type($x))
  }];
}
def GeluDxOp : Ckpt_TensorOp<"gelu_dx"> {
  let summary = "dy gelu'(x)";
  let arguments = (ins T:$dy, T:$x, Ckpt_GeluAttr:$approximate);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x custom<GeluAttributes>($approximate, attr-dict) `:`
    custom<OperandTypes>(type($dy), type($x))
  }];
}
def PadOp : Ckpt_TensorOp<"pad"> {
  let summary = "dy at an offset of a dimension, zeros around it";
  let arguments = (ins T:$x, I64Attr:$dim, StrAttr:$offset, StrAttr:$extent);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}
def ReduceSumOp : Ckpt_Op<"reduce_sum", [Pure]> {
  let summary = "sum down to a shape that broadcasts to the operand's, in f32, cast once";
  let arguments = (ins T:$x);
  let results = (outs T:$y);
  let assemblyFormat = "$x attr-dict `:` custom<OperandTypes>(type($x)) `->` custom<OperandTypes>(type($y))";
  let hasVerifier = 1;
}
def AccumulateOp : Ckpt_TensorOp<"accumulate"> {
  let summary = "sum + the operand summed down to sum's shape, all in f32";
  // sum: f32; result takes sum's place in memory
  let arguments = (ins T:$sum, T:$x);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $sum `,` $x attr-dict `:`
    custom<OperandTypes>(type($sum), type($x))
  }];
}

#endif // CKPT_BACKWARD_OPS
