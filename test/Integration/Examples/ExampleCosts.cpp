//===- ExampleCosts.cpp - closed formulas of the examples -----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// A block's forward is launches f0, f1, ...; what each saves is in brackets.
// A replay runs the launches that lead to saved values which the backward
// reads; the last launches make only the block's result.
//
//===----------------------------------------------------------------------===//

#include "ExampleCosts.h"

using namespace ckpt;
using namespace ckpt::test;

namespace {

struct Sizes {
  /// Rows of the state: batch x tokens.
  int64_t rows;
  int64_t batch;
  /// Bytes of an element.
  int64_t element;
};

// Width 384, 24 heads:
//   f0 norm [stats]  f1 qkv [qkv]  f2 sdpa [o lse]  f3 proj + residual [x1]
//   f4 norm [stats]  f5 fc1 + gelu [h]  f6 fc2 + residual
// f6 makes the result alone. The FFN's replay: f4 f5.
ExampleCosts dit(const Sizes &s) {
  ExampleCosts costs;
  int64_t unit = s.rows * 384 * s.element;
  int64_t stats = s.rows * 2 * 4;
  costs.wholeReplay = 6;
  costs.wholeReplayOnce = 5;
  costs.resultOps = 1;
  costs.ffnReplay = 2;
  costs.state = costs.ffnOperands = unit;
  costs.core = unit + s.rows * 24 * 4;
  costs.attentionInside = 3 * unit + stats + costs.core;
  return costs;
}

// The same with rank 16 on qkv, proj, fc1 and fc2; a trainable factor's
// gradient reads its input, so n and a are saved too:
//   f0 norm [n stats]  f1 n a [t]  f2 qkv + t b [qkv]  f3 sdpa [o lse]
//   f4 o a [t]  f5 proj + t b + residual [x1]  f6 norm [n stats]  f7 n a [t]
//   f8 fc1 + t b, gelu [h a]  f9 a a [t]  f10 fc2 + t b + residual
// f10 makes the result alone. The FFN's replay: f6 to f9.
// The stack's state needs no gradient: the first block's f0 saves no stats.
ExampleCosts lora(const Sizes &s) {
  ExampleCosts costs = dit(s);
  int64_t low = s.rows * 16 * s.element;
  costs.wholeReplay = 10;
  costs.wholeReplayOnce = 9;
  costs.resultOps = 1;
  costs.ffnReplay = 4;
  costs.attentionInside += costs.state + 2 * low;
  costs.firstBlockLess = s.rows * 2 * 4;
  return costs;
}

// Width 192, 12 heads, f32 modulation:
//   f0 table + temb [m]  f1 1 + scale [scale]  f2 norm, modulate [stats]
//   f3 f4 f5 q k v [q0 k0 v]  f6 f7 rms_norm [stats each]  f8 f9 rope [q k]
//   f10 sdpa [o lse]  f11 out, gate, residual [x1]  f12 norm [stats]
//   f13 f14 f15 q k v, k and v of the text [q0 v]  f16 f17 rms_norm
//   [q stats, k of the text]  f18 sdpa [o lse]  f19 out + residual [x2]
//   f20 f21 modulation [m scale]  f22 norm, modulate [stats]
//   f23 ffn1 + gelu [h]  f24 ffn2, gate, residual
// The text needs no gradient, so its k is saved after its norm only.
// f24 makes the result alone. The FFN's replay: f20 to f23.
ExampleCosts wan(const Sizes &s, int64_t textRows) {
  ExampleCosts costs;
  int64_t unit = s.rows * 192 * s.element;
  int64_t text = textRows * 192 * s.element;
  costs.wholeReplay = 24;
  costs.wholeReplayOnce = 22;
  costs.resultOps = 1;
  costs.ffnReplay = 4;
  costs.state = costs.ffnOperands = unit;
  costs.core = 2 * (unit + s.rows * 12 * 4);
  // m and scale; two layer norms' statistics, three rms norms'.
  int64_t small = s.batch * (3 + 1) * 192 * 4 + s.rows * (2 * 2 + 3) * 4;
  // q0 k0 v q k x1, then q0 and q; v and k of the text.
  costs.attentionInside = 8 * unit + 2 * text + small + costs.core;
  return costs;
}

// Width 48, 12 heads, post-norm: neither x nor x1 is read by the backward.
//   f0 f1 f2 q k v [q k v]  f3 sdpa [o lse]  f4 out + residual [r1]
//   f5 norm [x1 stats]  f6 fc1 + gelu [h]  f7 fc2 + residual [r2]
//   f8 norm [stats], the result
// The result is f8's other output and costs no launch. The FFN's replay: f6 to
// f8.
ExampleCosts minilm(const Sizes &s) {
  ExampleCosts costs;
  int64_t unit = s.rows * 48 * s.element;
  costs.wholeReplay = 9;
  costs.wholeReplayOnce = 8;
  costs.resultOps = 0;
  costs.ffnReplay = 3;
  costs.state = costs.ffnOperands = unit;
  costs.core = unit + s.rows * 12 * 4;
  costs.attentionInside = 4 * unit + s.rows * 2 * 4 + costs.core;
  return costs;
}

} // namespace

ExampleCosts test::costsOf(const std::string &file, const std::string &dtype,
                           const rt::SizeValues &sizes) {
  auto size = [&](const char *name) {
    auto it = sizes.find(name);
    return it == sizes.end() ? int64_t(1) : it->second;
  };
  int64_t tokens = size(file == "minilm.mlir" ? "tokens" : "image");
  Sizes s{size("batch") * tokens, size("batch"), dtype == "f32" ? 4 : 2};
  if (file == "dit-3072.mlir")
    return dit(s);
  if (file == "dit-lora.mlir")
    return lora(s);
  if (file == "wan-1.3b.mlir")
    return wan(s, size("batch") * size("text"));
  return minilm(s);
}
