//===- SelectViews.h - who reads through a view -----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_SELECTVIEWS_H
#define CKPT_LIB_TRANSFORMS_SELECTVIEWS_H

#include "ckpt/Transforms/SelectGroups.h"

namespace ckpt {

/// The views and widening casts of a block after `separateViews` that their
/// only reader reads through. They belong to its kernel.
llvm::DenseSet<mlir::Operation *> findTakenViews(mlir::Block &block);

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_SELECTVIEWS_H
