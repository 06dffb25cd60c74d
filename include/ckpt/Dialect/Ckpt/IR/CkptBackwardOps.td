//===- CkptBackwardOps.td - what backwards are made of -----*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Besides the tensor ops. `ckpt-differentiate` makes them; block IR has none.
// Written as the tensor ops are, and numbered likewise.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_BACKWARD_OPS
#define CKPT_BACKWARD_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def LinearDxOp : Ckpt_TensorOp<"linear_dx"> {
  let summary = "dx = dy w";
  let description = [{
    The gradient of `ckpt.linear`'s x, summed in f32 and rounded once.

    - `dy`: rows by N
    - `weight`: N by K
    - `dx`: dy's leading extents by K

    Constraints:
    - (C1) dy has at least one dimension and the weight two.
    - (C2) The last extent of dy is the weight's first.
    - (C3) Both have the same element type.

    ```mlir
    %dx = ckpt.linear_dx %dy, %w : !ckpt.tensor<batch x 32 x bf16>, !ckpt.tensor<32 x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$dy, T:$weight);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $weight attr-dict `:`
    custom<OperandTypes>(type($dy), type($weight))
  }];
}

def LinearDwOp : Ckpt_TensorOp<"linear_dw"> {
  let summary = "dw = dy^T x";
  let description = [{
    The gradient of `ckpt.linear`'s weight, summed over all rows in f32 and
    rounded once, to `to`.

    - `dy`: rows by N
    - `x`: the same rows by K
    - `dw`: N by K in `to`

    Constraints:
    - (C1) dy and x have the same leading extents.
    - (C2) Both have the same element type.
    - (C3) `to` is f32, bf16 or f16.

    ```mlir
    %dw = ckpt.linear_dw %dy, %x {to = f32} : !ckpt.tensor<batch x 32 x bf16>, !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$dy, T:$x, TypeAttr:$to);
  let results = (outs T:$dw);
  let assemblyFormat = [{
    $dy `,` $x attr-dict `:` custom<OperandTypes>(type($dy), type($x))
  }];
}

def SdpaDxOp : Ckpt_TensorOp<"sdpa_dx"> {
  let summary = "gradients of q, k and v";
  let description = [{
    The backward of `ckpt.sdpa`. It makes the probabilities again from q, k and
    `lse`; o and dout give the row sums of o dout.

    - `q`, `k`, `v`, `o`, `lse`: operands and results of the `ckpt.sdpa`
    - `dout`: the gradient of o
    - `scale`: as there
    - `dq`, `dk`, `dv`: of the types of q, k and v

    Constraints:
    - (C1) q and k have four dimensions.
    - (C2) k and v have the same type.
    - (C3) q and k have the same batch, heads, d and element type.
    - (C4) o and dout have q's type.
    - (C5) lse is batch x heads x queries in f32.

    ```mlir
    %dq, %dk, %dv = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x 2 x image x f32>, !ckpt.tensor<batch x image x 2 x 4 x f32>
    ```
  }];
  let arguments = (ins T:$q, T:$k, T:$v, T:$o, T:$lse, T:$dout,
                       OptionalAttr<F64Attr>:$scale);
  let results = (outs T:$dq, T:$dk, T:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $o `,` $lse `,` $dout attr-dict `:`
    custom<OperandTypes>(type($q), type($k), type($v), type($o), type($lse),
                         type($dout))
  }];
}

//===----------------------------------------------------------------------===//
// Row-wise
//===----------------------------------------------------------------------===//

class Ckpt_NormDxOp<string mnemonic> : Ckpt_TensorOp<mnemonic> {
  let arguments = (ins T:$dy, T:$x, T:$stats, Optional<T>:$weight);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x `,` $stats (`,` $weight^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), type($dy), type($x),
                                 type($stats), type($weight))
  }];
}

def LayerNormDxOp : Ckpt_NormDxOp<"layer_norm_dx"> {
  let summary = "dx = r (g - mean(g) - xhat mean(g xhat)), g = dy weight";
  let description = [{
    The gradient of `ckpt.layer_norm`'s x, in f32, rounded once; r and the mean
    are the statistics, xhat is `ckpt.normalize`'s.

    - `dy`: the gradient of y
    - `x`, `stats`, `weight`: operands and result of the `ckpt.layer_norm`
    - `dx`: x's type

    Constraints:
    - (C1) dy has x's type.
    - (C2) stats are x's leading extents by 2 in f32.
    - (C3) The weight is one-dimensional, of x's last extent, in f32 or x's
      element type.

    ```mlir
    %dx = ckpt.layer_norm_dx %dy, %x, %stats, %w : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>, !ckpt.tensor<8 x f32>
    ```
  }];
}

def RmsNormDxOp : Ckpt_NormDxOp<"rms_norm_dx"> {
  let summary = "dx = r (g - xhat mean(g xhat)), g = dy weight";
  let description = [{
    The gradient of `ckpt.rms_norm`'s x, in f32, rounded once; r is the
    statistic, xhat is `ckpt.normalize`'s.

    - `dy`: the gradient of y
    - `x`, `stats`, `weight`: operands and result of the `ckpt.rms_norm`
    - `dx`: x's type

    Constraints:
    - (C1) dy has x's type.
    - (C2) stats are x's leading extents by 1 in f32.
    - (C3) The weight is one-dimensional, of x's last extent, in f32 or x's
      element type.

    ```mlir
    %dx = ckpt.rms_norm_dx %dy, %x, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 1 x f32>
    ```
  }];
}

def NormalizeOp : Ckpt_TensorOp<"normalize"> {
  let summary = "what a norm multiplies by its weight, from its statistics";
  let description = [{
    `xhat = (x - mean) r` with two statistics (layer_norm), `x r` with one
    (rms_norm). The gradient of a norm's weight is the sum of dy xhat.

    - `x`: rows by W
    - `stats`: x's leading extents by 1 or 2, f32
    - `xhat`: x's shape in f32

    Constraints:
    - (C1) stats are x's leading extents by 1 or 2 in f32.

    ```mlir
    %xhat = ckpt.normalize %x, %stats : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<batch x 2 x f32>
    ```
  }];
  let arguments = (ins T:$x, T:$stats);
  let results = (outs T:$xhat);
  let assemblyFormat = [{
    $x `,` $stats attr-dict `:` custom<OperandTypes>(type($x), type($stats))
  }];
}

def SiluDxOp : Ckpt_TensorOp<"silu_dx"> {
  let summary = "dx = dy silu'(x)";
  let description = [{
    In f32, rounded once.

    - `dy`, `x`: any shape
    - `dx`: x's type

    Constraints:
    - (C1) dy and x have the same type.

    ```mlir
    %dx = ckpt.silu_dx %dy, %x : !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$dy, T:$x);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x attr-dict `:` custom<OperandTypes>(type($dy), type($x))
  }];
}

def GeluDxOp : Ckpt_TensorOp<"gelu_dx"> {
  let summary = "dx = dy gelu'(x)";
  let description = [{
    In f32, rounded once; `approximate` as in `ckpt.gelu`.

    - `dy`, `x`: any shape
    - `dx`: x's type

    Constraints:
    - (C1) dy and x have the same type.

    ```mlir
    %dx = ckpt.gelu_dx %dy, %x {approximate = erf} : !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$dy, T:$x, Ckpt_GeluAttr:$approximate);
  let results = (outs T:$dx);
  let assemblyFormat = [{
    $dy `,` $x custom<GeluAttributes>($approximate, attr-dict) `:`
    custom<OperandTypes>(type($dy), type($x))
  }];
}

//===----------------------------------------------------------------------===//
// Shape and sums
//===----------------------------------------------------------------------===//

def PadOp : Ckpt_TensorOp<"pad"> {
  let summary = "x at an offset of a dimension, zeros around it";
  let description = [{
    The gradient of `ckpt.slice`'s x.

    - `x`: any shape
    - `offset`, `extent`: sizes, as in types
    - `y`: x's shape with `extent` in dimension `dim`

    Constraints:
    - (C1) `dim` is a dimension of x.
    - (C2) `offset` is a size that is not negative, `extent` one that is
      positive, as far as that does not depend on values.
    - (C3) offset plus x's extent is at most `extent`, as far as that does not
      depend on values.

    ```mlir
    %p = ckpt.pad %x {dim = 1 : i64, extent = "image + text", offset = "text"} : !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, I64Attr:$dim, StrAttr:$offset, StrAttr:$extent);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}

def ReduceSumOp : Ckpt_Op<"reduce_sum", [Pure]> {
  let summary = "sum down to a shape that broadcasts to the operand's";
  let description = [{
    The gradient of an operand that was broadcast. Summed in f32 in a fixed
    order and rounded once.

    - `x`: any shape
    - `y`: a shape that broadcasts to x's, in any element type

    Constraints:
    - (C1) y's shape broadcasts to x's.

    ```mlir
    %s = ckpt.reduce_sum %x : !ckpt.tensor<batch x image x 8 x bf16> -> !ckpt.tensor<batch x 1 x 8 x f32>
    ```
  }];
  let arguments = (ins T:$x);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x)) `->`
    custom<OperandTypes>(type($y))
  }];
  let hasVerifier = 1;
}

def AccumulateOp : Ckpt_TensorOp<"accumulate"> {
  let summary = "sum plus the operand summed down to sum's shape";
  let description = [{
    How a gradient adds up over the blocks, all in f32 and in a fixed order. The
    result takes sum's place in memory.

    - `sum`: f32
    - `x`: a shape that sum's broadcasts to
    - `y`: sum's type

    Constraints:
    - (C1) sum is f32.
    - (C2) sum's shape broadcasts to x's.

    ```mlir
    %s = ckpt.accumulate %sum, %x : !ckpt.tensor<batch x 1 x 8 x f32>, !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$sum, T:$x);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $sum `,` $x attr-dict `:` custom<OperandTypes>(type($sum), type($x))
  }];
}

#endif // CKPT_BACKWARD_OPS
