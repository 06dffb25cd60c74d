//===- CkptOpBase.td - ===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_OP_BASE
#define CKPT_OP_BASE

include "ckpt/Dialect/Ckpt/IR/CkptAttrs.td"
include "ckpt/Dialect/Ckpt/IR/CkptInterfaces.td"
include "ckpt/Dialect/Ckpt/IR/CkptTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Ckpt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ckpt_Dialect, mnemonic, traits>;

/// A pure op on tensors whose result types follow from its operands'; the
/// shape rule is its `inferReturnTypes`.
class Ckpt_TensorOp<string mnemonic, list<Trait> traits = []>
    : Ckpt_Op<mnemonic, !listconcat(traits, [
        Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>])>;

class Ckpt_DifferentiableOp<string mnemonic, list<Trait> traits = []>
    : Ckpt_TensorOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<DifferentiableOpInterface>])>;

defvar T = Ckpt_TensorType;

#endif // CKPT_OP_BASE
