//===- LowRank.cpp - a product that another one takes along ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/LowRank.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

using namespace mlir;
using namespace ckpt;

/// What is summed over: the last dimension of the first operand.
static std::optional<int64_t> depthOf(Operation *product) {
  auto type = cast<ckpt::TensorType>(product->getOperand(0).getType());
  if (type.getRank() == 0)
    return std::nullopt;
  return type.getDim(type.getRank() - 1).asConstant();
}

Operation *ckpt::productBeside(Operation *low) {
  if (!isa<LinearOp, LinearDxOp>(low) || !low->hasOneUse())
    return nullptr;
  if (auto linear = dyn_cast<LinearOp>(low); linear && linear.getBias())
    return nullptr;
  auto sum = dyn_cast<AddOp>(*low->user_begin());
  std::optional<int64_t> depth = depthOf(low);
  if (!sum || !depth || *depth > lowRankDepth)
    return nullptr;
  for (Value operand : sum->getOperands()) {
    Operation *other = operand.getDefiningOp();
    if (!other || other == low || other->getName() != low->getName() ||
        !other->hasOneUse() ||
        operand.getType() != low->getResult(0).getType() ||
        cast<ckpt::TensorType>(other->getOperand(0).getType())
                .getElementType() !=
            cast<ckpt::TensorType>(low->getOperand(0).getType())
                .getElementType())
      continue;
    std::optional<int64_t> otherDepth = depthOf(other);
    if (!otherDepth || *otherDepth > *depth)
      return other;
  }
  return nullptr;
}
