//===- CkptTypes.h - symbolic tensors ---------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT_CKPT_IR_CKPTTYPES_H
#define CKPT_DIALECT_CKPT_IR_CKPTTYPES_H

#include "Program/Size.h"
#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

#define GET_TYPEDEF_CLASSES
#include "ckpt/Dialect/Ckpt/IR/CkptTypes.h.inc"

namespace ckpt {
/// What tensors hold: f32, bf16 or f16.
bool isElementType(mlir::Type type);
} // namespace ckpt

#endif // CKPT_DIALECT_CKPT_IR_CKPTTYPES_H
