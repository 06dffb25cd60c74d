//===- AttentionTest.cpp - sdpa and sdpa_dx on the host -------------------===//
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

/// One head in double.
struct Head {
  std::vector<double> o, lse, p;
};

/// Elements by (token, column).
using At = std::function<double(int64_t, int64_t)>;

Head attend(int64_t queries, int64_t keys, int64_t d, double scale, const At &q,
            const At &k, const At &v) {
  Head head;
  head.o.assign(queries * d, 0);
  head.lse.assign(queries, 0);
  head.p.assign(queries * keys, 0);
  for (int64_t i = 0; i < queries; ++i) {
    double largest = -1e30, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (int64_t c = 0; c < d; ++c)
        s += q(i, c) * k(j, c);
      head.p[i * keys + j] = s * scale;
      largest = std::max(largest, s * scale);
    }
    for (int64_t j = 0; j < keys; ++j)
      sum += std::exp(head.p[i * keys + j] - largest);
    head.lse[i] = largest + std::log(sum);
    for (int64_t j = 0; j < keys; ++j) {
      double &p = head.p[i * keys + j];
      p = std::exp(p - head.lse[i]);
      for (int64_t c = 0; c < d; ++c)
        head.o[i * d + c] += p * v(j, c);
    }
  }
  return head;
}

struct Shape {
  int64_t batch, queries, keys, heads, d;
  /// Of q, to make some weights small.
  double size = 1;
};

const Shape shapes[] = {{1, 1, 1, 1, 1},         {2, 7, 5, 3, 8},
                        {1, 33, 65, 2, 7},       {1, 200, 193, 1, 32},
                        {1, 400, 16, 1, 64, 40}, {2, 16, 450, 2, 33}};

std::string attentionText(const Shape &s, bool bf16) {
  std::string q = "!ckpt.tensor<batch x queries x $h x $d x $T>";
  std::string k = "!ckpt.tensor<batch x keys x $h x $d x $T>";
  std::string lse = "!ckpt.tensor<batch x $h x queries x f32>";
  std::string text =
      kernelText("forward", "attention_forward",
                 "%q : " + q + ", %k : " + k + ", %v : " + k,
                 "%o, %lse = ckpt.sdpa %q, %k, %v {with_lse, scale = 0.3} : " +
                     q + ", " + k + ", " + k + "\nckpt.yield %o, %lse : " + q +
                     ", " + lse + "\n") +
      kernelText("backward", "attention_backward",
                 "%q : " + q + ", %k : " + k + ", %v : " + k + ", %o : " + q +
                     ", %lse : " + lse + ", %do : " + q,
                 "%dq, %dk, %dv = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do "
                 "{scale = 0.3} : " +
                     q + ", " + k + ", " + k + ", " + q + ", " + lse + ", " +
                     q + "\nckpt.yield %dq, %dk, %dv : " + q + ", " + k + ", " +
                     k + "\n");
  return fill(text,
              {{"h", num(s.heads)}, {"d", num(s.d)}, {"T", nameOf(bf16)}});
}

} // namespace

TEST(Attention, forwardAndBackward) {
  const double scale = 0.3;
  for (bool bf16 : {false, true})
    for (const Shape &s : shapes) {
      SCOPED_TRACE(num(s.batch) + "x" + num(s.queries) + "x" + num(s.keys) +
                   "x" + num(s.heads) + "x" + num(s.d) + " " + nameOf(bf16));
      Kernels kernels(attentionText(s, bf16), {"batch", "queries", "keys"});
      std::vector<int64_t> sizes = {s.batch, s.queries, s.keys};
      Tensor q = Tensor::random({s.batch, s.queries, s.heads, s.d}, bf16, 1);
      Tensor k = Tensor::random({s.batch, s.keys, s.heads, s.d}, bf16, 2);
      Tensor v = Tensor::random({s.batch, s.keys, s.heads, s.d}, bf16, 3);
      Tensor dout = Tensor::random({s.batch, s.queries, s.heads, s.d}, bf16, 4);
      for (int64_t i = 0; i < q.size(); ++i)
        q.set(i, q.get(i) * s.size);
      std::vector<Tensor> out = kernels.run("forward", {&q, &k, &v}, sizes);
      std::vector<Tensor> grads =
          kernels.run("backward", {&q, &k, &v, &out[0], &out[1], &dout}, sizes);

      auto dense = [&](int64_t tokens) {
        return Tensor({s.batch, tokens, s.heads, s.d}, false);
      };
      Tensor o = dense(s.queries), dq = o, dk = dense(s.keys), dv = dk;
      Tensor lse({s.batch, s.heads, s.queries}, false);
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t h = 0; h < s.heads; ++h) {
          auto position = [&](int64_t tokens, int64_t i, int64_t c) {
            return ((b * tokens + i) * s.heads + h) * s.d + c;
          };
          auto of = [&](const Tensor &t) {
            return [&, tokens = t.dims[1]](int64_t i, int64_t c) {
              return t.get(position(tokens, i, c));
            };
          };
          Head head =
              attend(s.queries, s.keys, s.d, scale, of(q), of(k), of(v));
          std::vector<double> gq(s.queries * s.d), gk(s.keys * s.d), gv = gk;
          for (int64_t i = 0; i < s.queries; ++i) {
            lse.set((b * s.heads + h) * s.queries + i, head.lse[i]);
            double delta = 0;
            for (int64_t c = 0; c < s.d; ++c)
              delta += of(dout)(i, c) * of(out[0])(i, c);
            for (int64_t j = 0; j < s.keys; ++j) {
              double p = head.p[i * s.keys + j], dp = 0;
              for (int64_t c = 0; c < s.d; ++c)
                dp += of(dout)(i, c) * of(v)(j, c);
              double ds = p * (dp - delta) * scale;
              for (int64_t c = 0; c < s.d; ++c) {
                gv[j * s.d + c] += p * of(dout)(i, c);
                gk[j * s.d + c] += ds * of(q)(i, c);
                gq[i * s.d + c] += ds * of(k)(j, c);
              }
            }
          }
          for (int64_t c = 0; c < s.d; ++c) {
            for (int64_t i = 0; i < s.queries; ++i) {
              o.set(position(s.queries, i, c), head.o[i * s.d + c]);
              dq.set(position(s.queries, i, c), gq[i * s.d + c]);
            }
            for (int64_t j = 0; j < s.keys; ++j) {
              dk.set(position(s.keys, j, c), gk[j * s.d + c]);
              dv.set(position(s.keys, j, c), gv[j * s.d + c]);
            }
          }
        }
      // The exponent's rounding grows with the scores, up to `size` times.
      double tolerance = toleranceOf(bf16) * (s.size > 1 ? 2 : 1);
      auto expect = [&](const Tensor &actual, const Tensor &reference,
                        const char *what) {
        expectNear(
            actual, [&](int64_t at) { return reference.get(at); },
            actual.bf16 ? tolerance : toleranceOf(false) * s.size, what);
      };
      expect(out[0], o, "o");
      expect(out[1], lse, "lse");
      if (s.keys > 1) {
        expect(grads[0], dq, "dq");
        expect(grads[1], dk, "dk");
      }
      expect(grads[2], dv, "dv");
    }
}

// q, k and v are slices of one buffer, their gradients go back into one.
TEST(Attention, fusedProjections) {
  std::string qkv = "!ckpt.tensor<1 x 10 x 96 x f32>";
  std::string head = "!ckpt.tensor<1 x 10 x 4 x 8 x f32>";
  std::string flat = "!ckpt.tensor<1 x 10 x 32 x f32>";
  std::string views;
  for (int i = 0; i < 3; ++i)
    views += "%s" + num(i) + " = ckpt.slice %qkv {dim = 2, offset = \"" +
             num(32 * i) + "\", extent = \"32\"} : " + qkv + "\n%v" + num(i) +
             " = ckpt.reshape %s" + num(i) +
             " {shape = [\"1\", \"10\", \"4\", \"8\"]} : " + flat + "\n";
  std::string flatten;
  for (const char *name : {"q", "k", "v"})
    flatten += std::string("%f") + name + " = ckpt.reshape %d" + name +
               " {shape = [\"1\", \"10\", \"32\"]} : " + head + "\n";
  std::string lse = "!ckpt.tensor<1 x 4 x 10 x f32>";
  std::string text =
      kernelText(
          "forward", "attention_forward", "%qkv : " + qkv,
          views + "%o, %lse = ckpt.sdpa %v0, %v1, %v2 {with_lse} : " + head +
              "\n%f = ckpt.reshape %o {shape = [\"1\", \"10\", \"32\"]}"
              " : " +
              head + "\nckpt.yield %f, %lse : " + flat + ", " + lse + "\n") +
      kernelText(
          "backward", "attention_backward",
          "%qkv : " + qkv + ", %o : " + head + ", %lse : " + lse +
              ", %do : " + head,
          views +
              "%dq, %dk, %dv = ckpt.sdpa_dx %v0, %v1, %v2, %o, %lse, %do : " +
              head + ", " + head + ", " + head + ", " + head + ", " + lse +
              ", " + head + "\n" + flatten +
              "%all = ckpt.concat %fq, %fk, %fv {dim = 2} : " + flat +
              "\nckpt.yield %all : " + qkv + "\n") +
      kernelText(
          "plain", "attention_backward",
          "%q : " + head + ", %k : " + head + ", %v : " + head +
              ", %o : " + head + ", %lse : " + lse + ", %do : " + head,
          "%dq, %dk, %dv = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : " + head +
              ", " + head + ", " + head + ", " + head + ", " + lse + ", " +
              head + "\nckpt.yield %dq, %dk, %dv : " + head + ", " + head +
              ", " + head + "\n");
  Kernels kernels(text);
  Tensor all = Tensor::random({1, 10, 96}, false, 1);
  Tensor dout = Tensor::random({1, 10, 4, 8}, false, 2);
  std::vector<Tensor> forward = kernels.run("forward", {&all});
  auto part = [&](int i) {
    Tensor tensor({1, 10, 4, 8}, false);
    for (int64_t at = 0; at < tensor.size(); ++at)
      tensor.set(at, all.get(at / 32 * 96 + 32 * i + at % 32));
    return tensor;
  };
  Tensor q = part(0), k = part(1), v = part(2);
  for (int64_t h = 0; h < 4; ++h) {
    auto of = [&](const Tensor &t) {
      return [&](int64_t i, int64_t c) { return t({0, i, h, c}); };
    };
    Head head = attend(10, 10, 8, 1 / std::sqrt(8.0), of(q), of(k), of(v));
    for (int64_t i = 0; i < 10; ++i)
      for (int64_t c = 0; c < 8; ++c)
        EXPECT_NEAR(forward[0]({0, i, 8 * h + c}), head.o[i * 8 + c], 4e-6);
  }
  std::vector<Tensor> plain =
      kernels.run("plain", {&q, &k, &v, &forward[0], &forward[1], &dout});
  Tensor fused =
      kernels.run("backward", {&all, &forward[0], &forward[1], &dout})[0];
  // The same arithmetic, written elsewhere.
  for (int i = 0; i < 3; ++i)
    for (int64_t at = 0; at < 320; ++at)
      ASSERT_EQ(fused.get(at / 32 * 96 + 32 * i + at % 32), plain[i].get(at));
}

// Not a test: what the machine makes of one head of 1024 tokens.
TEST(Attention, rate) {
  Shape s = {1, 1024, 1024, 4, 128};
  Kernels kernels(attentionText(s, true), {"batch", "queries", "keys"});
  std::vector<int64_t> sizes = {s.batch, s.queries, s.keys};
  Tensor q = Tensor::random({1, s.queries, s.heads, s.d}, true, 1);
  std::vector<Tensor> out = kernels.outputs("forward", sizes);
  std::vector<Tensor> grads = kernels.outputs("backward", sizes);
  auto measure = [&](const char *name, double flops,
                     const std::vector<const Tensor *> &reads,
                     const std::vector<Tensor *> &writes) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      double begin = processorSeconds();
      kernels.run(name, reads, writes, sizes);
      best = std::min(best, processorSeconds() - begin);
    }
    printf("%s bf16 4 x 1024 x 128: %.1f GFLOP/s\n", name, 1e-9 * flops / best);
  };
  double product = 2.0 * s.queries * s.keys * s.heads * s.d;
  measure("forward", 2 * product, {&q, &q, &q}, {&out[0], &out[1]});
  measure("backward", 5 * product, {&q, &q, &q, &out[0], &out[1], &q},
          {&grads[0], &grads[1], &grads[2]});
  printf("two kernels compiled in %.2f s\n", kernels.compileSeconds);
}
