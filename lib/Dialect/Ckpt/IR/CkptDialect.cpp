//===- CkptDialect.cpp - the ckpt dialect ---------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ckpt;

#include "ckpt/Dialect/Ckpt/IR/CkptDialect.cpp.inc"
#include "ckpt/Dialect/Ckpt/IR/CkptEnums.cpp.inc"
#include "ckpt/Dialect/Ckpt/IR/CkptInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.cpp.inc"

void CkptDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.cpp.inc"
      >();
}

void CkptDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "ckpt/Dialect/Ckpt/IR/CkptOps.cpp.inc"
      >();
}
