//===- ExampleCosts.h - closed formulas of the examples ---------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TEST_EXAMPLECOSTS_H
#define CKPT_TEST_EXAMPLECOSTS_H

#include "Program/Size.h"

#include <string>

namespace ckpt::test {

/// What one block of an example costs; counted by hand from its block graph in
/// ExampleCosts.cpp.
struct ExampleCosts {
  /// Launches of a whole block's replay: for its backward alone, the same with
  /// O and LSE held, and what making the block's result adds.
  int64_t wholeReplay = 0, wholeReplayOnce = 0, resultOps = 0;
  /// Launches of the FFN's replay.
  int64_t ffnReplay = 0;
  /// Bytes: the block's state, the operands of `ckpt.ffn`, O and LSE, and what
  /// is saved of `ckpt.attention` but its results.
  int64_t state = 0, ffnOperands = 0, core = 0, attentionInside = 0;
  /// Of `attentionInside`, what the first block does not save because nobody
  /// asks for the gradient of the stack's state.
  int64_t firstBlockLess = 0;
};

/// `file`: name of the twin; `dtype`: f32 or bf16.
ExampleCosts costsOf(const std::string &file, const std::string &dtype,
                     const rt::SizeValues &sizes);

} // namespace ckpt::test

#endif // CKPT_TEST_EXAMPLECOSTS_H
