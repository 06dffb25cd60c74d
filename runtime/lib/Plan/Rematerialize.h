//===- Rematerialize.h - from a demand to three op lists --------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Turns what a plan asks of a block into what runs: the forward with the
/// copies out, the replay found by walking back from what is read, the
/// backward with the copies in. Pure functions of plain data.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PLAN_REMATERIALIZE_H
#define CKPT_RT_PLAN_REMATERIALIZE_H

#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::rt {

/// `demand` with the fate of every value that neither the backward nor the
/// replay reads set to `Unused`, so that equal variants have equal demands.
/// The demand must have the kind's numbers of saved values and states.
Demand normalizeFates(const BlockKind &kind, Demand demand);

/// The variant of `kind` that answers `demand`:
///   backward  the kind's backward ops that lead to an asked state gradient,
///             or to a gradient of an input or a parameter
///   replay    the forward ops that make again what the backward reads with
///             fate `Recompute` and the results asked for, from values that
///             are kept, offloaded, the caller's, or a state that the previous
///             block's replay made
///   forward   the forward ops that lead to a result or a value that is kept
///             or offloaded
/// Launches are in program order; a write that nobody reads is left out. A
/// copy out follows its producer (a state's stands first), a copy in precedes
/// the first reader, in the replay where that reads the value.
/// Fails when something reads a value that its fate makes unavailable.
Result<Variant> makeVariant(const BlockKind &kind, const Demand &demand);

} // namespace ckpt::rt

#endif // CKPT_RT_PLAN_REMATERIALIZE_H
