//===- Cost.h - what a kernel costs -----------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_COST_H
#define CKPT_LIB_TRANSFORMS_COST_H

#include "Program/Size.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt {

/// Floating point operations of a kernel's body: 2MNK for a contraction,
/// 4 and 10 times batch x heads x queries x keys x d for attention, one per
/// element and op elsewhere; nothing for views.
rt::Size flopsOf(mlir::Block &body);

/// Bytes that a kernel reads and writes when every result is asked for. An
/// argument that is only sliced counts with its slices.
rt::Size trafficOf(mlir::Block &body);

/// Dense bytes of a tensor.
rt::Size bytesOf(TensorType type);

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_COST_H
