//===- LowRank.h - a product that another one takes along -------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT_CKPT_IR_LOWRANK_H
#define CKPT_DIALECT_CKPT_IR_LOWRANK_H

#include "mlir/IR/Operation.h"

namespace ckpt {

/// The deepest product that is worth adding up in another one's accumulators:
/// one step of a kernel's loop over K.
constexpr int64_t lowRankDepth = 64;

/// The product `p` of `p + low`, where `low` is a linear or linear_dx without
/// bias of the same kind, types and shape, whose depth is a constant of at most
/// `lowRankDepth` and less than that of `p`, and where nobody else reads
/// either: an adapter beside its base. Both are then one sum in f32, rounded
/// once, and neither is ever stored. Null if `low` is nothing of that kind.
mlir::Operation *productBeside(mlir::Operation *low);

} // namespace ckpt

#endif // CKPT_DIALECT_CKPT_IR_LOWRANK_H
