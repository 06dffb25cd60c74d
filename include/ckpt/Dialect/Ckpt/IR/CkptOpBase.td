//===- CkptOpBase.td - what all ops share ------------------*- tablegen -*-===//
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

/// `inferReturnTypes` by way of `inferShape` (ShapeRule.h).
def Ckpt_ShapeRuleTrait : NativeOpTrait<"ShapeRule", [], [{
  static ::llvm::LogicalResult
  inferShape(const ::ckpt::ShapeReport &report, Adaptor adaptor,
             ::llvm::SmallVectorImpl<::mlir::Type> &types);
}], [{
  ::llvm::LogicalResult $cppClass::inferReturnTypes(
      ::mlir::MLIRContext *context,
      ::std::optional<::mlir::Location> location,
      ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
      ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
      ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes) {
    return runShapeRule(location, operands, attributes, properties, regions,
                        inferredReturnTypes);
  }
}]> {
  let cppNamespace = "::ckpt";
}
def Ckpt_ShapeRule : TraitList<[
  DeclareOpInterfaceMethods<InferTypeOpInterface>, Ckpt_ShapeRuleTrait]>;

/// A pure op on tensors whose result types follow from its operands.
/// All are written alike: `ckpt.op operands {attributes} : operand types`,
/// where types at the end that repeat the one before may be left out.
class Ckpt_TensorOp<string mnemonic, list<Trait> traits = []>
    : Ckpt_Op<mnemonic, !listconcat(traits, [Pure, Ckpt_ShapeRule])>;

class Ckpt_DifferentiableOp<string mnemonic, list<Trait> traits = []>
    : Ckpt_TensorOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<DifferentiableOpInterface>])>;

defvar T = Ckpt_TensorType;

#endif // CKPT_OP_BASE
