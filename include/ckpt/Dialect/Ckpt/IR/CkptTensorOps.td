//===- CkptTensorOps.td - ===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// What a block computes. `sdpa` and the norms have a second result, which the
// backward reads; block IR leaves it out (`stats`, `lse` absent).
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TENSOR_OPS
#define CKPT_TENSOR_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def LinearOp : Ckpt_DifferentiableOp<"linear"> {
  let summary = "y = x w^T + b";
  let arguments = (ins T:$x, T:$weight, Optional<T>:$bias);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x `,` $weight (`,` $bias^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($bias), type($x), type($weight), type($bias))
  }];
}

def SdpaOp : Ckpt_DifferentiableOp<"sdpa"> {
  let summary = "scaled dot-product attention";
  let description = [{
    q: batch x queries x heads x d; k, v: batch x keys x heads x d. Default
    `scale`: 1/sqrt(d). `lse` (batch x heads x queries, f32) is the natural
    logarithm of the row sum of exp(scale q k^T).
  }];
  let arguments = (ins T:$q, T:$k, T:$v, OptionalAttr<F64Attr>:$scale,
                       UnitAttr:$with_lse);
  let results = (outs T:$o, Optional<T>:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v attr-dict `:`
    custom<OperandTypes>(type($q), type($k), type($v))
  }];
}

//===----------------------------------------------------------------------===//
// Row-wise
//===----------------------------------------------------------------------===//

class Ckpt_NormOp<string mnemonic, dag args, list<Trait> traits = []>
    : Ckpt_DifferentiableOp<mnemonic, traits> {
  let results = (outs T:$y, Optional<T>:$stats);
  let arguments = !con(args, (ins F64Attr:$eps, UnitAttr:$with_stats));
}
def LayerNormOp : Ckpt_NormOp<"layer_norm", (ins T:$x, Optional<T>:$weight, Optional<T>:$bias),
                            [AttrSizedOperandSegments]> {
  let summary = "normalization of the last dimension to mean 0 and variance 1";
  // stats: x's leading dims x 2 (mean, 1/sqrt(var + eps)), f32
  let assemblyFormat = [{
    $x (`,` $weight^ (`,` $bias^)?)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), ref($bias), type($x), type($weight), type($bias))
  }];
}
def RmsNormOp : Ckpt_NormOp<"rms_norm", (ins T:$x, Optional<T>:$weight)> {
  let summary = "normalization of the last dimension to root mean square 1";
  // stats: x's leading dims x 1 (1/sqrt(mean square + eps)), f32
  let assemblyFormat = [{
    $x (`,` $weight^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), type($x), type($weight))
  }];
}

def RopeOp : Ckpt_DifferentiableOp<"rope"> {
  let summary = "rotary position embedding, interleaved pairs";
  // x: batch x tokens x heads x d; cos, sin: tokens x d/2 or batch x tokens x d/2
  let arguments = (ins T:$x, T:$cos, T:$sin, UnitAttr:$inverse);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x `,` $cos `,` $sin attr-dict `:`
    custom<OperandTypes>(type($x), type($cos), type($sin))
  }];
}

class Ckpt_UnaryOp<string mnemonic> : Ckpt_DifferentiableOp<mnemonic> {
  let results = (outs T:$y);
}
def CastOp : Ckpt_UnaryOp<"cast"> {
  let summary = "conversion to another element type, to nearest, ties to even";
  let arguments = (ins T:$x, TypeAttr:$to);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}
def ScaleOp : Ckpt_UnaryOp<"scale"> {
  let summary = "y = factor x + offset";
  let arguments = (ins T:$x, DefaultValuedAttr<F64Attr, "1.0">:$factor,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}
def SiluOp : Ckpt_UnaryOp<"silu"> {
  let summary = "y = x sigmoid(x)";
  let arguments = (ins T:$x);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}
def GeluOp : Ckpt_UnaryOp<"gelu"> {
  let summary = "y = x Phi(x), exact or by tanh";
  let arguments = (ins T:$x, Ckpt_GeluAttr:$approximate);
  let assemblyFormat = [{
    $x custom<GeluAttributes>($approximate, attr-dict) `:` custom<OperandTypes>(type($x))
  }];
}

class Ckpt_BinaryOp<string mnemonic> : Ckpt_DifferentiableOp<mnemonic> {
  // Shapes broadcast as in PyTorch: aligned at the last dimension, an extent
  // of 1 or a missing one repeats.
  let arguments = (ins T:$lhs, T:$rhs);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:`
    custom<OperandTypes>(type($lhs), type($rhs))
  }];
}
def AddOp : Ckpt_BinaryOp<"add"> { let summary = "lhs + rhs, broadcasting"; }
def SubOp : Ckpt_BinaryOp<"sub"> { let summary = "lhs - rhs, broadcasting"; }
def MulOp : Ckpt_BinaryOp<"mul"> { let summary = "lhs * rhs, broadcasting"; }

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def ConcatOp : Ckpt_DifferentiableOp<"concat"> {
  let summary = "operands one after the other along a dimension";
  let arguments = (ins Variadic<T>:$inputs, I64Attr:$dim);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $inputs attr-dict `:` custom<VariadicOperandTypes>(ref($inputs), type($inputs))
  }];
}
def SliceOp : Ckpt_DifferentiableOp<"slice"> {
  let summary = "a range of a dimension";
  // offset, extent: canonical sizes
  let arguments = (ins T:$x, I64Attr:$dim, StrAttr:$offset, StrAttr:$extent);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}
def ReshapeOp : Ckpt_DifferentiableOp<"reshape"> {
  let summary = "the same elements in the same order under another shape";
  // shape: canonical sizes
  let arguments = (ins T:$x, StrArrayAttr:$shape);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}
def TransposeOp : Ckpt_DifferentiableOp<"transpose"> {
  let summary = "dimension i of the result is dimension permutation[i] of x";
  let arguments = (ins T:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}

#endif // CKPT_TENSOR_OPS
