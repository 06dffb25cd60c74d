//===- CkptTensorOps.td - what a block computes ------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// `sdpa` and the norms have a second result, which the backward reads; block
// IR leaves it out (`stats`, `lse` absent).
//
// All are pure and infer their result types. They are written
// `ckpt.op operands {attributes} : operand types`; types at the end that repeat
// the one before may be left out. Sums and norms are f32 inside whatever the
// element type is, and rounded once.
//
// Constraints are numbered: C2 of linear is `linear_c2` in the code that checks
// it and in the test.
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
  let description = [{
    `y[..., n] = sum over k of x[..., k] * weight[n, k], + bias[n]`, summed in
    f32 and rounded once, the bias included. The weight lies as PyTorch's
    `nn.Linear` has it.

    - `x`: rows (any leading extents) by K
    - `weight`: N by K
    - `bias`: N, may be absent
    - `y`: x's leading extents by N

    Constraints:
    - (C1) x has at least one dimension and the weight two.
    - (C2) The last extent of x is the weight's last.
    - (C3) The bias is one-dimensional, of the weight's first extent.
    - (C4) All operands have the same element type.

    ```mlir
    %h = ckpt.linear %x, %w, %b : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<32 x 8 x bf16>, !ckpt.tensor<32 x bf16>
    ```
  }];
  let arguments = (ins T:$x, T:$weight, Optional<T>:$bias);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x `,` $weight (`,` $bias^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($bias), type($x), type($weight),
                                 type($bias))
  }];
}

def SdpaOp : Ckpt_DifferentiableOp<"sdpa"> {
  let summary = "scaled dot-product attention";
  let description = [{
    `o = softmax(scale q k^T) v` for each sample and head, over all keys; the
    softmax is f32. q and k may have different token counts.

    - `q`: batch x queries x heads x d
    - `k`, `v`: batch x keys x heads x d
    - `scale`: 1/sqrt(d) when absent
    - `o`: q's type
    - `lse`: batch x heads x queries in f32, the natural logarithm of the row
      sums of exp(scale q k^T); there with `with_lse`

    Constraints:
    - (C1) q and k have four dimensions.
    - (C2) k and v have the same shape.
    - (C3) q and k have the same batch, heads and d.
    - (C4) All operands have the same element type.
    - (C5) `scale` is finite.

    ```mlir
    %o = ckpt.sdpa %q, %k, %v {scale = 1.250000e-01 : f64} : !ckpt.tensor<batch x image x 2 x 4 x f32>, !ckpt.tensor<batch x text x 2 x 4 x f32>
    ```
  }];
  let arguments = (ins T:$q, T:$k, T:$v, OptionalAttr<F64Attr>:$scale,
                       UnitAttr:$with_lse);
  let results = (outs T:$o, Optional<T>:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v attr-dict `:`
    custom<OperandTypes>(type($q), type($k), type($v))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Row-wise
//===----------------------------------------------------------------------===//

class Ckpt_NormOp<string mnemonic, dag args, list<Trait> traits = []>
    : Ckpt_DifferentiableOp<mnemonic, traits> {
  let results = (outs T:$y, Optional<T>:$stats);
  let arguments = !con(args, (ins F64Attr:$eps, UnitAttr:$with_stats));
  let hasVerifier = 1;
}

def LayerNormOp : Ckpt_NormOp<"layer_norm",
    (ins T:$x, Optional<T>:$weight, Optional<T>:$bias),
    [AttrSizedOperandSegments]> {
  let summary = "normalization of the last dimension to mean 0 and variance 1";
  let description = [{
    `y = (x - mean) / sqrt(variance + eps) * weight + bias` over the last
    dimension, in f32, rounded once. For a norm per head, reshape first.

    - `x`: rows by W
    - `weight`, `bias`: W, may be absent; f32 or x's element type
    - `y`: x's type
    - `stats`: x's leading extents by 2 in f32, the mean and
      1/sqrt(variance + eps); there with `with_stats`

    Constraints:
    - (C1) x has at least one dimension.
    - (C2) Weight and bias are one-dimensional, of x's last extent, in f32 or
      x's element type.
    - (C3) `eps` is finite and not negative.
    - (C4) A bias needs a weight.

    ```mlir
    %n = ckpt.layer_norm %x, %w, %b {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 8 x bf16>, !ckpt.tensor<8 x f32>
    ```
  }];
  let assemblyFormat = [{
    $x (`,` $weight^ (`,` $bias^)?)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), ref($bias), type($x),
                                 type($weight), type($bias))
  }];
}

def RmsNormOp : Ckpt_NormOp<"rms_norm", (ins T:$x, Optional<T>:$weight)> {
  let summary = "normalization of the last dimension to root mean square 1";
  let description = [{
    `y = x / sqrt(mean(x^2) + eps) * weight` over the last dimension, in f32,
    rounded once. For a norm per head, reshape first.

    - `x`: rows by W
    - `weight`: W, may be absent; f32 or x's element type
    - `y`: x's type
    - `stats`: x's leading extents by 1 in f32, 1/sqrt(mean(x^2) + eps); there
      with `with_stats`

    Constraints:
    - (C1) x has at least one dimension.
    - (C2) The weight is one-dimensional, of x's last extent, in f32 or x's
      element type.
    - (C3) `eps` is finite and not negative.

    ```mlir
    %n = ckpt.rms_norm %x, %w {eps = 1.000000e-05 : f64} : !ckpt.tensor<batch x 2 x 8 x bf16>, !ckpt.tensor<8 x bf16>
    ```
  }];
  let assemblyFormat = [{
    $x (`,` $weight^)? attr-dict `:`
    custom<OptionalOperandTypes>(ref($weight), type($x), type($weight))
  }];
}

def RopeOp : Ckpt_DifferentiableOp<"rope"> {
  let summary = "rotary position embedding, interleaved pairs";
  let description = [{
    Turns the pair (x[2j], x[2j+1]) of every head by the angle of its token and
    j: `y[2j] = x[2j] cos - x[2j+1] sin`, `y[2j+1] = x[2j] sin + x[2j+1] cos`, in
    f32, rounded once. `inverse` turns the other way, as the backward does.

    - `x`: batch x tokens x heads x d
    - `cos`, `sin`: tokens x d/2, or batch x tokens x d/2, in f32
    - `y`: x's type

    The tables get no gradient.

    Constraints:
    - (C1) x has four dimensions and d is even.
    - (C2) cos and sin have the same type, in f32.
    - (C3) cos is tokens x d/2 or batch x tokens x d/2.

    ```mlir
    %r = ckpt.rope %x, %cos, %sin : !ckpt.tensor<batch x image x 2 x 8 x bf16>, !ckpt.tensor<image x 4 x f32>
    ```
  }];
  let arguments = (ins T:$x, T:$cos, T:$sin, UnitAttr:$inverse);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x `,` $cos `,` $sin attr-dict `:`
    custom<OperandTypes>(type($x), type($cos), type($sin))
  }];
}

class Ckpt_UnaryOp<string mnemonic> : Ckpt_DifferentiableOp<mnemonic> {
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
}

def CastOp : Ckpt_UnaryOp<"cast"> {
  let summary = "conversion to another element type";
  let description = [{
    To nearest, ties to even. The only op that changes an element type, norm
    parameters and rope tables apart.

    - `x`: any shape
    - `to`: f32, bf16 or f16
    - `y`: x's shape in `to`

    Constraints:
    - (C1) `to` is f32, bf16 or f16.

    Folds: a cast to the type that x has, and to f32 and back, are x.

    ```mlir
    %c = ckpt.cast %x {to = f32} : !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, TypeAttr:$to);
  let hasFolder = 1;
}

def ScaleOp : Ckpt_UnaryOp<"scale"> {
  let summary = "y = factor x + offset";
  let description = [{
    In f32, rounded once.

    - `x`: any shape
    - `factor`: 1 when absent; `offset`: 0 when absent
    - `y`: x's type

    Constraints:
    - (C1) `factor` and `offset` are finite.

    Folds: factor 1 and offset 0 give x.

    ```mlir
    %s = ckpt.scale %x {factor = 2.000000e+00 : f64} : !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, DefaultValuedAttr<F64Attr, "1.0">:$factor,
                       DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let hasFolder = 1;
  let hasVerifier = 1;
}

def SiluOp : Ckpt_UnaryOp<"silu"> {
  let summary = "y = x sigmoid(x)";
  let description = [{
    In f32, rounded once.

    - `x`: any shape
    - `y`: x's type

    ```mlir
    %s = ckpt.silu %x : !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x);
}

def GeluOp : Ckpt_UnaryOp<"gelu"> {
  let summary = "y = x Phi(x), exact or by tanh";
  let description = [{
    `approximate = erf`: `x (1 + erf(x / sqrt 2)) / 2`. `approximate = tanh`:
    `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`. In f32, rounded once.

    - `x`: any shape
    - `y`: x's type

    ```mlir
    %g = ckpt.gelu %x {approximate = tanh} : !ckpt.tensor<batch x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, Ckpt_GeluAttr:$approximate);
  let assemblyFormat = [{
    $x custom<GeluAttributes>($approximate, attr-dict) `:`
    custom<OperandTypes>(type($x))
  }];
}

class Ckpt_BinaryOp<string mnemonic, string sign>
    : Ckpt_DifferentiableOp<mnemonic> {
  let summary = "y = lhs " # sign # " rhs, broadcasting";
  let description = [{
    In f32, rounded once. Shapes broadcast as in PyTorch: aligned at the last
    dimension, an extent of 1 or a missing one repeats. So a row for every
    sample is `batch x 1 x W` and one for all samples is `W`.

    - `lhs`, `rhs`: shapes that broadcast
    - `y`: the shape that both broadcast to

    Constraints:
    - (C1) Aligned extents are equal, or one of them is 1.
    - (C2) Both have the same element type.

    ```mlir
    %y = ckpt.}] # mnemonic # [{ %x, %row : !ckpt.tensor<batch x image x 8 x bf16>, !ckpt.tensor<batch x 1 x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$lhs, T:$rhs);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<OperandTypes>(type($lhs), type($rhs))
  }];
}
def AddOp : Ckpt_BinaryOp<"add", "+">;
def SubOp : Ckpt_BinaryOp<"sub", "-">;
def MulOp : Ckpt_BinaryOp<"mul", "*">;

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def ConcatOp : Ckpt_DifferentiableOp<"concat"> {
  let summary = "operands one after the other along a dimension";
  let description = [{
    - `inputs`: shapes that differ in dimension `dim` alone
    - `y`: that shape, extents added up in dimension `dim`

    Constraints:
    - (C1) There is an operand.
    - (C2) `dim` is a dimension of the operands.
    - (C3) The operands have the same extents except in dimension `dim`.
    - (C4) All operands have the same element type.

    Folds: one operand is the result.

    ```mlir
    %c = ckpt.concat %t, %x {dim = 1 : i64} : !ckpt.tensor<batch x text x 8 x bf16>, !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins Variadic<T>:$inputs, I64Attr:$dim);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $inputs attr-dict `:`
    custom<VariadicOperandTypes>(ref($inputs), type($inputs))
  }];
  let hasFolder = 1;
}

def SliceOp : Ckpt_DifferentiableOp<"slice"> {
  let summary = "a range of a dimension";
  let description = [{
    Elements `offset` to `offset + extent - 1` of dimension `dim`.

    - `x`: any shape
    - `offset`, `extent`: sizes, as in types: `"text"`, `"2*image + 4"`
    - `y`: x's shape with `extent` in dimension `dim`

    Constraints:
    - (C1) `dim` is a dimension of x.
    - (C2) `offset` is a size that is not negative, `extent` one that is
      positive, as far as that does not depend on values.
    - (C3) offset + extent is at most x's extent, as far as that does not depend
      on values.

    Folds: a slice of everything is x.

    ```mlir
    %s = ckpt.slice %x {dim = 1 : i64, extent = "image", offset = "text"} : !ckpt.tensor<batch x image + text x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, I64Attr:$dim, StrAttr:$offset, StrAttr:$extent);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
  let hasFolder = 1;
}

def ReshapeOp : Ckpt_DifferentiableOp<"reshape"> {
  let summary = "the same elements in the same order under another shape";
  let description = [{
    - `x`: any shape
    - `shape`: sizes, as in types
    - `y`: `shape` in x's element type

    Constraints:
    - (C1) `shape` holds positive sizes.
    - (C2) `shape` has as many elements as x, for all values of the named sizes.

    Folds: a reshape to x's shape is x; a reshape of a reshape is one.

    ```mlir
    %r = ckpt.reshape %x {shape = ["batch", "image", "2", "4"]} : !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, StrArrayAttr:$shape);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
  let hasFolder = 1;
}

def TransposeOp : Ckpt_DifferentiableOp<"transpose"> {
  let summary = "dimensions in another order";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of x.

    - `x`: any shape
    - `y`: x's extents in the order of `permutation`

    Constraints:
    - (C1) `permutation` holds each dimension of x once.

    Folds: the identity is x; a transpose of a transpose is one.

    ```mlir
    %t = ckpt.transpose %x {permutation = array<i64: 0, 2, 1>} : !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins T:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs T:$y);
  let assemblyFormat = [{
    $x attr-dict `:` custom<OperandTypes>(type($x))
  }];
  let hasFolder = 1;
}

#endif // CKPT_TENSOR_OPS
