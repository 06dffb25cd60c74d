//===- CkptOps.td - all ops of the dialect -----------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_OPS
#define CKPT_OPS

include "ckpt/Dialect/Ckpt/IR/CkptBlockOps.td"
include "ckpt/Dialect/Ckpt/IR/CkptTensorOps.td"
include "ckpt/Dialect/Ckpt/IR/CkptBackwardOps.td"
include "ckpt/Dialect/Ckpt/IR/CkptStepOps.td"

#endif // CKPT_OPS
