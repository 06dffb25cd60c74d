//===- RandomStack.h - models nobody thought of -----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TEST_RANDOMSTACK_H
#define CKPT_TEST_RANDOMSTACK_H

#include "Program/Size.h"

#include <cstdint>
#include <string>

namespace ckpt::test {

struct RandomStack {
  /// Block IR.
  std::string text;
  rt::SizeValues sizes;
};

/// Three to five blocks of one or two kinds, made of norms, attention and FFN
/// in many forms, at sizes that no vector length divides. The same seed gives
/// the same stack everywhere; odd seeds are in bf16, even ones in f32.
RandomStack makeRandomStack(uint64_t seed);

} // namespace ckpt::test

#endif // CKPT_TEST_RANDOMSTACK_H
