//===- Cost.cpp - what a kernel costs ---------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Cost.h"

#include "ckpt/Transforms/SelectGroups.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ckpt;
using rt::Size;

static ckpt::TensorType typeOf(Value value) {
  return cast<ckpt::TensorType>(value.getType());
}

static Size lastDim(Value value) {
  ckpt::TensorType type = typeOf(value);
  return type.getDim(type.getRank() - 1);
}

/// batch x heads x queries x keys x d.
static Size attentionVolume(Value q, Value k) {
  return typeOf(q).getNumElements() * typeOf(k).getDim(1);
}

static Size flopsOf(Operation &op) {
  if (isView(&op))
    return 0;
  if (auto linear = dyn_cast<LinearOp>(op))
    return Size(2) * typeOf(linear.getY()).getNumElements() *
           lastDim(linear.getX());
  if (auto linear = dyn_cast<LinearDxOp>(op))
    return Size(2) * typeOf(linear.getDx()).getNumElements() *
           lastDim(linear.getDy());
  if (auto linear = dyn_cast<LinearDwOp>(op))
    return Size(2) * typeOf(linear.getDy()).getNumElements() *
           lastDim(linear.getX());
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return Size(4) * attentionVolume(sdpa.getQ(), sdpa.getK());
  if (auto sdpa = dyn_cast<SdpaDxOp>(op))
    return Size(10) * attentionVolume(sdpa.getQ(), sdpa.getK());
  // A sum adds every element of its operand.
  Value counted =
      isSum(&op) ? op.getOperand(op.getNumOperands() - 1) : op.getResult(0);
  return typeOf(counted).getNumElements();
}

Size ckpt::flopsOf(Block &body) {
  Size flops;
  for (Operation &op : body.without_terminator())
    flops += ::flopsOf(op);
  return flops;
}

Size ckpt::bytesOf(ckpt::TensorType type) {
  return type.getNumElements() *
         Size(type.getElementType().getIntOrFloatBitWidth() / 8);
}

Size ckpt::trafficOf(Block &body) {
  Size traffic;
  for (Value argument : body.getArguments()) {
    if (!llvm::all_of(argument.getUsers(), llvm::IsaPred<SliceOp>)) {
      traffic += bytesOf(typeOf(argument));
      continue;
    }
    for (Operation *slice : argument.getUsers())
      traffic += bytesOf(typeOf(slice->getResult(0)));
  }
  for (Value result : body.getTerminator()->getOperands())
    traffic += bytesOf(typeOf(result));
  return traffic;
}
