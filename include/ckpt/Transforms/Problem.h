//===- Problem.h - the IR as the runtime's plain data -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the IR to `ckpt::rt::Program` and back: what planning asks and what an
/// artifact holds are read off the IR by the same code.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_TRANSFORMS_PROBLEM_H
#define CKPT_TRANSFORMS_PROBLEM_H

#include "Plan/Policy.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace ckpt {

/// Array of strings on a `ckpt.kernel` that casts the f32 sum of a gradient at
/// the end of a backward: the gradients' names outside, `grad.cond`. Written by
/// `ckpt-select`, read by `buildProblem`.
constexpr llvm::StringLiteral gradientCastsAttrName = "gradient_casts";

/// Everything of a module at level 3 or later but the variants, the defaults,
/// the target and the object. Kinds stand in the order of the blocks, kernels
/// in that of the kernels. Emits a diagnostic on failure.
mlir::FailureOr<rt::Program> buildProblem(mlir::ModuleOp module);

/// The variants of a module at level 4 into `program`, which `buildProblem`
/// made of it, in the module's order.
mlir::LogicalResult readVariants(mlir::ModuleOp module, rt::Program &program);

/// The demand that a variant answers.
rt::Demand demandOf(VariantOp variant);

/// Index into `program.kinds` of a variant's block.
int kindOf(VariantOp variant, mlir::ModuleOp module,
           const rt::Program &program);

/// The demands and segments that a table states. Which blocks of which stacks
/// they are is not in it.
mlir::FailureOr<rt::PlannedStep> readTable(TableOp table);

} // namespace ckpt

#endif // CKPT_TRANSFORMS_PROBLEM_H
