//===- CkptBlockOps.td - ===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Sizes, blocks, boundary regions and stacks: the frame of block IR.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_BLOCK_OPS
#define CKPT_BLOCK_OPS

include "ckpt/Dialect/Ckpt/IR/CkptOpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/OpAsmInterface.td"

def SizeOp : Ckpt_Op<"size", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a named size, perhaps with a default";
  // ckpt.size @batch default 1
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$default_value);
  let assemblyFormat = "$sym_name (`default` $default_value^)? attr-dict";
}

def BlockOp : Ckpt_Op<"block", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">,
    SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one kind of block: states, inputs and parameters in, states out";
  // ckpt.block @dit
  //     states(%x : !act differentiable)
  //     inputs(%cond : !cond differentiable, %cos : !table)
  //     params(%w1 "blocks.{i}.fc1.weight" frozen : !w1, %a "..." trainable : !a) {
  //   ...
  //   ckpt.return %y : !act
  // }
  // Names of states and inputs are their SSA names. Block arguments: states,
  // inputs, params.
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
  let arguments = (ins Variadic<T>:$states);
  let assemblyFormat = "$states attr-dict `:` type($states)";
}

class Ckpt_BoundaryOp<string mnemonic> : Ckpt_Op<mnemonic, [
    HasParent<"BlockOp">, SingleBlock, RecursiveMemoryEffects]> {
  // %y = ckpt.ffn { ...; ckpt.yield %r : !act } : !act
  // Operands are the values of the block that the region uses (captured).
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<T>:$results);
  let assemblyFormat = "$body attr-dict `:` type($results)";
  let extraClassDeclaration = [{
    /// Values from outside that the region uses, parameters excepted, in
    /// order of first use.
    ::llvm::SetVector<::mlir::Value> getCapturedValues();
  }];
}
def AttentionOp : Ckpt_BoundaryOp<"attention"> { let summary = "boundary of the attention side of a block"; }
def FfnOp : Ckpt_BoundaryOp<"ffn"> { let summary = "boundary of the FFN side of a block"; }

def YieldOp : Ckpt_Op<"yield", [Pure, Terminator]> {
  let summary = "ends a region with its results";
  let arguments = (ins Variadic<T>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def StackOp : Ckpt_Op<"stack", [Symbol, HasParent<"::mlir::ModuleOp">, SingleBlock, NoTerminator]> {
  let summary = "blocks one after the other";
  // ckpt.stack @model { ckpt.repeat @dit, 16 }
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}
def RepeatOp : Ckpt_Op<"repeat", [HasParent<"StackOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a block kind, a number of times";
  let arguments = (ins FlatSymbolRefAttr:$block, I64Attr:$count);
  let assemblyFormat = "$block `,` $count attr-dict";
}

#endif // CKPT_BLOCK_OPS
