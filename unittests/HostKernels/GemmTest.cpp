//===- GemmTest.cpp - linear, linear_dx, linear_dw on the host ------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ckpt::test;

namespace {

std::string num(int64_t value) { return std::to_string(value); }

/// y = x w^T + b with `batch x tokens` rows.
std::string linearText(int64_t n, int64_t k, bool bf16) {
  std::string text = kernelText(
      "linear", "gemm",
      "%x : !ckpt.tensor<batch x tokens x $k x $T>, "
      "%w : !ckpt.tensor<$n x $k x $T>, %b : !ckpt.tensor<$n x $T>",
      "%y = ckpt.linear %x, %w, %b : !ckpt.tensor<batch x tokens x $k x $T>, "
      "!ckpt.tensor<$n x $k x $T>, !ckpt.tensor<$n x $T>\n"
      "ckpt.yield %y : !ckpt.tensor<batch x tokens x $n x $T>\n");
  text += kernelText(
      "dx", "gemm",
      "%dy : !ckpt.tensor<batch x tokens x $n x $T>, "
      "%w : !ckpt.tensor<$n x $k x $T>",
      "%dx = ckpt.linear_dx %dy, %w : !ckpt.tensor<batch x tokens x $n x $T>, "
      "!ckpt.tensor<$n x $k x $T>\n"
      "ckpt.yield %dx : !ckpt.tensor<batch x tokens x $k x $T>\n");
  text += kernelText("dw", "gemm",
                     "%dy : !ckpt.tensor<batch x tokens x $n x $T>, "
                     "%x : !ckpt.tensor<batch x tokens x $k x $T>",
                     "%dw = ckpt.linear_dw %dy, %x {to = f32} : "
                     "!ckpt.tensor<batch x tokens x $n x $T>, "
                     "!ckpt.tensor<batch x tokens x $k x $T>\n"
                     "ckpt.yield %dw : !ckpt.tensor<$n x $k x f32>\n");
  return fill(text, {{"n", num(n)}, {"k", num(k)}, {"T", nameOf(bf16)}});
}

struct Shape {
  int64_t batch, tokens, n, k;
};

// One element, odd everything, less and more than a tile, a panel and a vector,
// more than one block in each direction (384, 256, 256).
const Shape shapes[] = {{1, 1, 1, 1},     {1, 7, 33, 5},    {2, 3, 16, 8},
                        {3, 5, 17, 9},    {1, 48, 64, 128}, {1, 13, 300, 270},
                        {2, 200, 40, 30}, {1, 6, 8, 513}};

} // namespace

TEST(Gemm, threeProducts) {
  for (bool bf16 : {false, true})
    for (const Shape &s : shapes) {
      std::string what = num(s.batch) + "x" + num(s.tokens) + " n" + num(s.n) +
                         " k" + num(s.k) + " " + nameOf(bf16);
      SCOPED_TRACE(what);
      Kernels kernels(linearText(s.n, s.k, bf16), {"tokens", "batch"});
      std::vector<int64_t> sizes = {s.tokens, s.batch};
      int64_t m = s.batch * s.tokens;
      Tensor x = Tensor::random({s.batch, s.tokens, s.k}, bf16, 1);
      Tensor w = Tensor::random({s.n, s.k}, bf16, 2);
      Tensor b = Tensor::random({s.n}, bf16, 3);
      Tensor dy = Tensor::random({s.batch, s.tokens, s.n}, bf16, 4);
      expectNear(
          kernels.run("linear", {&x, &w, &b}, sizes)[0],
          [&](int64_t at) {
            double sum = b.get(at % s.n);
            for (int64_t i = 0; i < s.k; ++i)
              sum += x.get(at / s.n * s.k + i) * w.get(at % s.n * s.k + i);
            return sum;
          },
          toleranceOf(bf16), "linear");
      expectNear(
          kernels.run("dx", {&dy, &w}, sizes)[0],
          [&](int64_t at) {
            double sum = 0;
            for (int64_t i = 0; i < s.n; ++i)
              sum += dy.get(at / s.k * s.n + i) * w.get(i * s.k + at % s.k);
            return sum;
          },
          toleranceOf(bf16), "linear_dx");
      expectNear(
          kernels.run("dw", {&dy, &x}, sizes)[0],
          [&](int64_t at) {
            double sum = 0;
            for (int64_t i = 0; i < m; ++i)
              sum += dy.get(i * s.n + at / s.k) * x.get(i * s.k + at % s.k);
            return sum;
          },
          toleranceOf(false), "linear_dw");
    }
}

// h and gelu(h) gate + residual: an inner value that is a result too, a
// per-sample row, an operand of the result's shape.
TEST(Gemm, epilogue) {
  std::string text = kernelText(
      "k", "gemm",
      "%x : !ckpt.tensor<2 x tokens x 24 x bf16>, "
      "%w : !ckpt.tensor<40 x 24 x bf16>, "
      "%gate : !ckpt.tensor<2 x 1 x 40 x bf16>, "
      "%residual : !ckpt.tensor<2 x tokens x 40 x bf16>",
      "%h = ckpt.linear %x, %w : !ckpt.tensor<2 x tokens x 24 x bf16>, "
      "!ckpt.tensor<40 x 24 x bf16>\n"
      "%a = ckpt.gelu %h {approximate = tanh} : "
      "!ckpt.tensor<2 x tokens x 40 x bf16>\n"
      "%g = ckpt.mul %a, %gate : !ckpt.tensor<2 x tokens x 40 x bf16>, "
      "!ckpt.tensor<2 x 1 x 40 x bf16>\n"
      "%y = ckpt.add %residual, %g : !ckpt.tensor<2 x tokens x 40 x bf16>\n"
      "ckpt.yield %y, %h : !ckpt.tensor<2 x tokens x 40 x bf16>, "
      "!ckpt.tensor<2 x tokens x 40 x bf16>\n");
  Kernels kernels(text, {"tokens"});
  const int64_t tokens = 9;
  Tensor x = Tensor::random({2, tokens, 24}, true, 1);
  Tensor w = Tensor::random({40, 24}, true, 2);
  Tensor gate = Tensor::random({2, 1, 40}, true, 3);
  Tensor residual = Tensor::random({2, tokens, 40}, true, 4);
  auto h = [&](int64_t at) {
    double sum = 0;
    for (int64_t i = 0; i < 24; ++i)
      sum += x.get(at / 40 * 24 + i) * w.get(at % 40 * 24 + i);
    return sum;
  };
  std::vector<Tensor> results =
      kernels.run("k", {&x, &w, &gate, &residual}, {tokens});
  expectNear(results[1], h, toleranceOf(true), "h");
  expectNear(
      results[0],
      [&](int64_t at) {
        double v = h(at);
        double gelu =
            0.5 * v *
            (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
        return residual.get(at) +
               gelu * gate.get(at / (tokens * 40) * 40 + at % 40);
      },
      toleranceOf(true), "y");
}

// A product of views: a range of rows of a fused weight, reshaped heads.
TEST(Gemm, views) {
  std::string text = kernelText(
      "k", "gemm",
      "%x : !ckpt.tensor<1 x 11 x 3 x 8 x f32>, "
      "%w : !ckpt.tensor<60 x 24 x f32>",
      "%rows = ckpt.reshape %x {shape = [\"1\", \"11\", \"24\"]} : "
      "!ckpt.tensor<1 x 11 x 3 x 8 x f32>\n"
      "%part = ckpt.slice %w {dim = 0, offset = \"20\", extent = \"20\"} : "
      "!ckpt.tensor<60 x 24 x f32>\n"
      "%y = ckpt.linear %rows, %part : !ckpt.tensor<1 x 11 x 24 x f32>, "
      "!ckpt.tensor<20 x 24 x f32>\n"
      "%z = ckpt.reshape %y {shape = [\"1\", \"11\", \"4\", \"5\"]} : "
      "!ckpt.tensor<1 x 11 x 20 x f32>\n"
      "ckpt.yield %z : !ckpt.tensor<1 x 11 x 4 x 5 x f32>\n");
  Kernels kernels(text);
  Tensor x = Tensor::random({1, 11, 3, 8}, false, 1);
  Tensor w = Tensor::random({60, 24}, false, 2);
  expectNear(
      kernels.run("k", {&x, &w})[0],
      [&](int64_t at) {
        double sum = 0;
        for (int64_t i = 0; i < 24; ++i)
          sum += x.get(at / 20 * 24 + i) * w.get((20 + at % 20) * 24 + i);
        return sum;
      },
      toleranceOf(false), "y");
}

// Not a test: what the machine makes of a layer of the sweep's shape, at many
// rows and at few.
TEST(Gemm, rate) {
  const int64_t n = 3072, k = 3072;
  for (bool bf16 : {false, true}) {
    Kernels kernels(linearText(n, k, bf16), {"tokens", "batch"});
    Tensor w = Tensor::random({n, k}, bf16, 2);
    Tensor b = Tensor::random({n}, bf16, 3);
    for (int64_t m : {16, 512}) {
      Tensor x = Tensor::random({1, m, k}, bf16, 1);
      Tensor dy = Tensor::random({1, m, n}, bf16, 4);
      auto measure = [&](const char *name,
                         const std::vector<const Tensor *> &reads) {
        std::vector<Tensor> results = kernels.outputs(name, {m, 1});
        double best = 1e9;
        for (int i = 0; i < 3; ++i) {
          double begin = processorSeconds();
          kernels.run(name, reads, {&results[0]}, {m, 1});
          best = std::min(best, processorSeconds() - begin);
        }
        printf("%s %s %ldx3072x3072: %.1f GFLOP/s\n", name, nameOf(bf16),
               long(m), 2e-9 * m * n * k / best);
      };
      measure("linear", {&x, &w, &b});
      measure("dx", {&dy, &w});
      measure("dw", {&dy, &x});
    }
    printf("three kernels compiled in %.2f s\n", kernels.compileSeconds);
  }
}
