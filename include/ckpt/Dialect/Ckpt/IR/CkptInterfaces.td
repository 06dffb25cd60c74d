//===- CkptInterfaces.td - differentiable ops --------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_INTERFACES
#define CKPT_INTERFACES

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::ckpt";
  let description = [{
    An op that knows its backward, and exactly which of its operands and
    results that reads.
  }];
  let methods = [
    InterfaceMethod<[{
      The operands and results that the backward reads when gradients of the
      operands flagged in `needed` are asked for.
    }], "::llvm::SmallVector<::mlir::Value>", "getBackwardReads",
      (ins "::llvm::ArrayRef<bool>":$needed)>,
    InterfaceMethod<[{
      Builds the backward. `grads`: one gradient per result that has one (null
      elsewhere). `saved`: maps a forward value that `getBackwardReads` names
      to its value in the backward. Returns one contribution per operand, null
      where `needed` is false; a contribution may have the shape of the result
      where the operand was broadcast: the caller sums it down.
    }], "::llvm::SmallVector<::mlir::Value>", "buildBackward",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$grads,
           "::llvm::function_ref<::mlir::Value(::mlir::Value)>":$saved,
           "::llvm::ArrayRef<bool>":$needed)>
  ];
}

#endif // CKPT_INTERFACES
