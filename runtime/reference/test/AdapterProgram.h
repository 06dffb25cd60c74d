//===- AdapterProgram.h - a small program with every gradient ---*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_REFERENCE_TEST_ADAPTERPROGRAM_H
#define CKPT_REFERENCE_TEST_ADAPTERPROGRAM_H

#include "GraphBuilder.h"

namespace ckpt::rt {

constexpr int64_t adapterWidth = 6;

/// Two blocks of a frozen linear with an adapter, a gain shared by both and a
/// conditioning row; everything but `w` has a gradient:
///   n = rms_norm x gain;  z = n w^T + 0.5 (n a^T) b^T
///   y = x + silu(z cond)
inline Program makeAdapterProgram(DType dtype) {
  const int64_t width = adapterWidth, rank = 2;
  Size rows = Size::symbol("rows");
  TensorType act{{rows, width}, dtype}, row{{1, width}, dtype},
      square{{width, width}, dtype}, down{{rank, width}, dtype},
      up{{width, rank}, dtype}, gain{{width}, dtype};
  GraphBuilder b;
  int x = b.value(act.dims, dtype), cond = b.value(row.dims, dtype),
      w = b.value(square.dims, dtype), a = b.value(down.dims, dtype),
      u = b.value(up.dims, dtype), g = b.value(gain.dims, dtype);
  int n = b.op("rms_norm", {x, g}, act.dims, {{"eps", 1e-6}}, dtype);
  int base = b.op("linear", {n, w}, act.dims, {}, dtype);
  int low = b.op("linear", {n, a}, {rows, rank}, {}, dtype);
  int lora = b.op("linear", {low, u}, act.dims, {}, dtype);
  int half = b.op("scale", {lora}, act.dims, {{"factor", 0.5}}, dtype);
  int z = b.op("add", {base, half}, act.dims, {}, dtype);
  int m = b.op("mul", {z, cond}, act.dims, {}, dtype);
  int s = b.op("silu", {m}, act.dims, {}, dtype);
  b.graph.results = {b.op("add", {x, s}, act.dims, {}, dtype)};

  BlockKind kind;
  kind.name = "adapter";
  kind.states = {{"x", act, true}};
  kind.inputs = {{"cond", row, true}};
  kind.params = {{"blocks.{i}.w", square, false},
                 {"blocks.{i}.a", down, true},
                 {"blocks.{i}.b", up, true},
                 {"gain", gain, true}};
  kind.results = {act};
  kind.graph = b.graph;

  Program program;
  program.target = "host";
  program.sizes = {{"rows", std::nullopt}};
  program.kinds = {kind};
  program.stacks = {{"model", {0, 0}}};
  return program;
}

} // namespace ckpt::rt

#endif // CKPT_REFERENCE_TEST_ADAPTERPROGRAM_H
