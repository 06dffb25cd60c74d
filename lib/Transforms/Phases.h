//===- Phases.h - what a pass finds at its level ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pass that has nothing to do because another did not run says so. A module
/// without blocks has nothing to do at any level. All emit a diagnostic on
/// failure.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_PHASES_H
#define CKPT_LIB_TRANSFORMS_PHASES_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace ckpt {

/// Every block has a step.
mlir::LogicalResult verifyStepsExist(mlir::ModuleOp module);

/// Where there are blocks, there are variants.
mlir::LogicalResult verifyVariantsExist(mlir::ModuleOp module);

/// What a module must be at level 4: filled variants whose values are there
/// when they are loaded, and one ordered table.
mlir::LogicalResult verifyPlanned(mlir::ModuleOp module);

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_PHASES_H
