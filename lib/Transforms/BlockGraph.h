//===- BlockGraph.h - a block as plain data ---------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_BLOCKGRAPH_H
#define CKPT_LIB_TRANSFORMS_BLOCKGRAPH_H

#include "Program/Program.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt {

rt::TensorType toRuntime(TensorType type);

/// The ops of a block, boundary regions flattened. Attributes keep their
/// names; an element type becomes `f32`, `bf16` or `f16`, a keyword its text, a
/// flag 1, and a shape its extents joined by ` x `.
rt::Graph readGraph(BlockOp block);

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_BLOCKGRAPH_H
