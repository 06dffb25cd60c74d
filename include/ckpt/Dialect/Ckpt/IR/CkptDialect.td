//===- CkptDialect.td - the ckpt dialect -------------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT
#define CKPT_DIALECT

include "mlir/IR/OpBase.td"

def Ckpt_Dialect : Dialect {
  let name = "ckpt";
  let cppNamespace = "::ckpt";
  let summary = "Transformer blocks and the checkpointed training step made of them";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

#endif // CKPT_DIALECT
