//===- CkptAttrs.h - enumerations of the ckpt dialect -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT_CKPT_IR_CKPTATTRS_H
#define CKPT_DIALECT_CKPT_IR_CKPTATTRS_H

#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "ckpt/Dialect/Ckpt/IR/CkptEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.h.inc"

#endif // CKPT_DIALECT_CKPT_IR_CKPTATTRS_H
