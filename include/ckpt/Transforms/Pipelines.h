//===- Pipelines.h - whole levels at once -----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TRANSFORMS_PIPELINES_H
#define CKPT_TRANSFORMS_PIPELINES_H

#include "ckpt/Transforms/Passes.h"

namespace ckpt {

/// From block IR to selected steps: differentiate, select, with their checks.
void buildSelectPipeline(mlir::OpPassManager &pm,
                         const SelectPassOptions &options = {});

/// From selected steps to an ordered table of filled variants.
void buildPlanPipeline(mlir::OpPassManager &pm, const PlanPassOptions &options);

/// Registers `--ckpt-pipeline`, both of them one after the other, with the
/// options of `ckpt-select` and `ckpt-plan`.
void registerPipelines();

} // namespace ckpt

#endif // CKPT_TRANSFORMS_PIPELINES_H
