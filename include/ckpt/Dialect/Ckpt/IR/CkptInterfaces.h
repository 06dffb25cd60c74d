//===- CkptInterfaces.h - differentiable ops --------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT_CKPT_IR_CKPTINTERFACES_H
#define CKPT_DIALECT_CKPT_IR_CKPTINTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include "ckpt/Dialect/Ckpt/IR/CkptInterfaces.h.inc"

#endif // CKPT_DIALECT_CKPT_IR_CKPTINTERFACES_H
