//===- CkptStepAttributes.h - attributes passes exchange --------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Discardable attributes of step IR. `ckpt-differentiate` writes all of them;
/// they stay to the end.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_DIALECT_CKPT_IR_CKPTSTEPATTRIBUTES_H
#define CKPT_DIALECT_CKPT_IR_CKPTSTEPATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace ckpt {

/// On a tensor op of a step: the boundary region it comes from, `attention` or
/// `ffn`; absent outside of both. `ckpt-select` moves it to the launch.
constexpr llvm::StringLiteral scopeAttrName = "scope";

// The others are on `ckpt.save`, for `buildProblem`.

/// The boundary region whose op makes the value, as above.
constexpr llvm::StringLiteral producerAttrName = "producer";
/// Unit: the value is a result of its producing region, or lies under one.
constexpr llvm::StringLiteral scopeResultAttrName = "scope_result";
/// Unit: a `ckpt.attention` captures the value, or a view of it.
constexpr llvm::StringLiteral attentionOperandAttrName = "attention_operand";
/// Unit: a `ckpt.ffn` captures the value, or a view of it.
constexpr llvm::StringLiteral ffnOperandAttrName = "ffn_operand";
/// Unit: O or LSE of an `sdpa` in a `ckpt.attention`.
constexpr llvm::StringLiteral attentionCoreAttrName = "attention_core";
/// i64: the state that the value is. For readers of the IR; `buildProblem`
/// sees it by the value.
constexpr llvm::StringLiteral stateAttrName = "state";

} // namespace ckpt

#endif // CKPT_DIALECT_CKPT_IR_CKPTSTEPATTRIBUTES_H
