//===- CkptBlockOps.td - the frame of block IR -------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Sizes, blocks, boundary regions and stacks.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_BLOCK_OPS
#define CKPT_BLOCK_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"
include "mlir/IR/OpAsmInterface.td"

def SizeOp : Ckpt_Op<"size", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a named size, perhaps with a default";
  let description = [{
    Declares a name that extents may use. A run gives its value, `--dim
    image=4096`, or the default holds. Values are positive.

    Constraints:
    - (C1) The name is a letter or `_`, then letters, digits and `_`; it is none
      of `x`, `f32`, `bf16` and `f16`, which mean something else in a type.
    - (C2) The default is positive.

    ```mlir
    ckpt.size @batch default 1
    ckpt.size @image
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<I64Attr>:$default_value);
  let assemblyFormat = [{
    $sym_name (`default` $default_value^)? attr-dict
  }];
  let hasVerifier = 1;
}

def BlockOp : Ckpt_Op<"block", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">, SingleBlock,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one kind of block: states, inputs and parameters in, states out";
  let description = [{
    What one block of a stack computes, by tensor ops and the boundary regions
    `ckpt.attention` and `ckpt.ffn`. A stack repeats it; a block's results are
    the next block's states.

    The arguments are, in this order,
    - `states`: what the previous block returned. `differentiable` speaks of the
      stack's initial state: its gradient is asked for;
    - `inputs`: the same for every block; `differentiable`: the gradient, summed
      over the blocks, is asked for;
    - `params`: `frozen` or `trainable`, with the name in a weights file. `{i}`
      stands for the block's index in its stack; a name without it is one tensor
      that all blocks share.

    States and inputs are known to the caller by their SSA names; a string after
    the SSA name says otherwise.

    Constraints:
    - (C1) `num_states`, `num_inputs`, `port_names` and `needs_gradient` describe
      the arguments.
    - (C2) There is a state.
    - (C3) The arguments are tensors.
    - (C4) The name of a state or input is a letter or `_`, then letters, digits
      and `_`.
    - (C5) The name of a parameter is not empty and holds no braces but `{i}`.
    - (C6) No two tensors of the caller have the same name: the ports, `out.`
      and `grad.out.` of states, `grad.` of what has a gradient.
    - (C7) The body ends in `ckpt.return` with one value for each state.
    - (C8) What it returns is made in the block by an op, each value once.
    - (C9) There is at most one `ckpt.attention` and at most one `ckpt.ffn`.
    - (C10) The body holds ops that a block may hold: differentiable tensor ops
      and boundary regions.
    - (C11) `ckpt.size` declares every name in an extent.

    ```mlir
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
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$num_states,
                       I64Attr:$num_inputs, StrArrayAttr:$port_names,
                       DenseBoolArrayAttr:$needs_gradient);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The arguments by role; their order is states, inputs, parameters.
    ::llvm::ArrayRef<::mlir::BlockArgument> getStates();
    ::llvm::ArrayRef<::mlir::BlockArgument> getInputs();
    ::llvm::ArrayRef<::mlir::BlockArgument> getParams();
    bool isParam(::mlir::Value value);
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// By argument number.
    ::llvm::StringRef getPortName(unsigned index);
    bool needsGradient(unsigned index);
    /// What `ckpt.return` returns: the next block's states.
    ::mlir::OperandRange getResults();
  }];
}

def ReturnOp : Ckpt_Op<"return", [Pure, Terminator, HasParent<"BlockOp">]> {
  let summary = "ends a block with its states";
  let description = [{
    - `states`: the next block's states, and the stack's results after the last
      block. `ckpt.block` says which values they may be.

    ```mlir
    ckpt.return %y : !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins Variadic<T>:$states);
  let assemblyFormat = "($states^ `:` type($states))? attr-dict";
}

class Ckpt_BoundaryOp<string mnemonic> : Ckpt_Op<mnemonic, [
    HasParent<"BlockOp">, SingleBlock, RecursiveMemoryEffects]> {
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<T>:$results);
  let assemblyFormat = "$body attr-dict `:` type($results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The region's operands: values from outside that it uses, parameters
    /// excepted, in the order of first use.
    ::llvm::SetVector<::mlir::Value> getCapturedValues();
  }];
}

def AttentionOp : Ckpt_BoundaryOp<"attention"> {
  let summary = "the attention side of a block";
  let description = [{
    A boundary that the controls speak of: `offload-attention` moves what is
    produced inside and would be kept to the host, its results excepted, and
    `attention-once` keeps O and LSE of the `ckpt.sdpa`s inside. It computes what
    its ops compute.

    Its operands are the values of the block that it uses, parameters excepted;
    they are saved at the border when a policy recomputes the inside.

    Constraints:
    - (C1) The body ends in `ckpt.yield` of values of the result types.
    - (C2) There is a result, and an op before the `ckpt.yield`.
    - (C3) What it yields is made in the region by an op, each value once.

    ```mlir
    %a = ckpt.attention {
      %o = ckpt.sdpa %x, %x, %x : !ckpt.tensor<batch x image x 2 x 4 x f32>
      %r = ckpt.add %x, %o : !ckpt.tensor<batch x image x 2 x 4 x f32>
      ckpt.yield %r : !ckpt.tensor<batch x image x 2 x 4 x f32>
    } : !ckpt.tensor<batch x image x 2 x 4 x f32>
    ```
  }];
}

def FfnOp : Ckpt_BoundaryOp<"ffn"> {
  let summary = "the FFN side of a block";
  let description = [{
    A boundary that the controls speak of: the `-ffn` backends keep or offload
    its operands and recompute everything inside. It computes what its ops
    compute. Norm, modulation, gate and residual belong to the scope when they
    are inside.

    Its operands are the values of the block that it uses, parameters excepted.

    Constraints:
    - (C1) The body ends in `ckpt.yield` of values of the result types.
    - (C2) There is a result, and an op before the `ckpt.yield`.
    - (C3) What it yields is made in the region by an op, each value once.

    ```mlir
    %f = ckpt.ffn {
      %s = ckpt.silu %x : !ckpt.tensor<batch x image x 2 x 4 x f32>
      ckpt.yield %s : !ckpt.tensor<batch x image x 2 x 4 x f32>
    } : !ckpt.tensor<batch x image x 2 x 4 x f32>
    ```
  }];
}

def YieldOp : Ckpt_Op<"yield", [Pure, Terminator, ParentOneOf<[
    "AttentionOp", "FfnOp", "StepOp", "KernelOp", "VariantOp"]>]> {
  let summary = "ends a region with its results";
  let description = [{
    - `values`: what the region makes.

    ```mlir
    ckpt.yield %r : !ckpt.tensor<batch x image x 8 x bf16>
    ```
  }];
  let arguments = (ins Variadic<T>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def StackOp : Ckpt_Op<"stack", [
    Symbol, HasParent<"::mlir::ModuleOp">, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "blocks one after the other";
  let description = [{
    The stacks of a module run in order; each takes the states that the last one
    left. The block index `{i}` starts at 0 in each.

    Constraints:
    - (C1) The body holds `ckpt.repeat`s, at least one.
    - (C2) The states of neighbours fit: within a repeat, between repeats and
      between stacks, what a block returns has the types of the next one's
      states.
    - (C3) An input, and a parameter without `{i}`, has the same type and role in
      every block kind that names it.
    - (C4) A trainable parameter with `{i}` is named by one stack only.

    ```mlir
    ckpt.stack @model {
      ckpt.repeat @mlp, 16
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def RepeatOp : Ckpt_Op<"repeat", [
    HasParent<"StackOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a block kind, a number of times";
  let description = [{
    Constraints:
    - (C1) `block` names a `ckpt.block`.
    - (C2) `count` is between 1 and 2^20.

    ```mlir
    ckpt.repeat @mlp, 16
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$block, I64Attr:$count);
  let assemblyFormat = "$block `,` $count attr-dict";
  let hasVerifier = 1;
}

#endif // CKPT_BLOCK_OPS
