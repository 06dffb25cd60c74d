//===- CkptTypes.td - symbolic tensors ---------------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TYPES
#define CKPT_TYPES

include "ckpt/Dialect/Ckpt/IR/CkptDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Ckpt_TensorType : TypeDef<Ckpt_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "a dense tensor whose extents are polynomials in named sizes";
  let description = [{
    `!ckpt.tensor<batch x text + image x 3072 x bf16>`. An extent is a sum of
    products of named sizes and integers. Extents are kept in canonical text
    form (see `ckpt::rt::Size`), so that equal types are the same type.
    Element types: f32, bf16 and f16.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<::ckpt::rt::Size>":$dims,
                     "::mlir::Type":$elementType), [{
      ::llvm::SmallVector<::mlir::StringAttr> texts;
      for (const ::ckpt::rt::Size &dim : dims)
        texts.push_back(::mlir::StringAttr::get($_ctxt, dim.str()));
      return $_get($_ctxt, texts, elementType);
    }]>
  ];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getDims().size(); }
    ::ckpt::rt::Size getDim(unsigned i) const;
    ::llvm::SmallVector<::ckpt::rt::Size> getShape() const;
    ::ckpt::rt::Size getNumElements() const;
    /// The same shape with another element type.
    TensorType withElementType(::mlir::Type type) const;
  }];
}

#endif // CKPT_TYPES
