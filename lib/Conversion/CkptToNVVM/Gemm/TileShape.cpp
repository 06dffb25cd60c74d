//===- TileShape.cpp - one way to cut a product into tiles ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "TileShape.h"

using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

void TileShape::finish() {
  // More stages than this only wait for each other.
  constexpr int mostStages = 8;
  stages = 0;
  while (stages < mostStages) {
    ++stages;
    if (sharedBytes() > sharedLimit) {
      --stages;
      return;
    }
  }
}

std::string TileShape::name() const {
  std::string text = std::to_string(bm()) + "x" + std::to_string(bn);
  if (cluster > 1)
    text += " cluster " + std::to_string(cluster);
  if (splitK)
    text += " split";
  return text;
}
