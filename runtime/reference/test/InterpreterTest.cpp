//===- InterpreterTest.cpp - each op against its definition ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "GraphBuilder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace ckpt::rt;
using at::Tensor;

static Tensor tensorOf(std::vector<double> values, at::IntArrayRef shape) {
  return at::from_blob(values.data(), shape, at::kDouble).clone();
}

/// One op of one result on these operands, every value f32.
static Result<Tensor> tryOp(const std::string &name,
                            const std::vector<Tensor> &operands,
                            std::vector<Size> result,
                            std::map<std::string, Attribute> attributes = {},
                            Arithmetic arithmetic = Arithmetic::Float64,
                            const SizeValues &sizes = {}) {
  GraphBuilder builder;
  std::vector<int> indices;
  std::vector<Tensor> values;
  for (const Tensor &operand : operands) {
    if (!operand.defined()) {
      indices.push_back(-1);
      continue;
    }
    std::vector<Size> dims;
    for (int64_t extent : operand.sizes())
      dims.push_back(extent);
    indices.push_back(builder.value(dims));
    values.push_back(
        arithmetic == Arithmetic::Float64 ? operand : operand.to(at::kFloat));
  }
  builder.graph.results = {
      builder.op(name, indices, std::move(result), std::move(attributes))};
  auto results = evaluate(builder.graph, sizes, arithmetic, values);
  if (!results.ok())
    return results.takeError();
  return (*results)[0];
}

static void expectOp(const Tensor &expected, const std::string &name,
                     const std::vector<Tensor> &operands,
                     std::map<std::string, Attribute> attributes = {},
                     const SizeValues &sizes = {}) {
  std::vector<Size> dims;
  for (int64_t extent : expected.sizes())
    dims.push_back(extent);
  for (auto [arithmetic, tolerance] : {std::pair(Arithmetic::Float64, 1e-12),
                                       std::pair(Arithmetic::Declared, 2e-6)}) {
    auto result = tryOp(name, operands, dims, attributes, arithmetic, sizes);
    ASSERT_TRUE(result.ok()) << result.message();
    EXPECT_EQ(result->dtype(),
              arithmetic == Arithmetic::Float64 ? at::kDouble : at::kFloat);
    EXPECT_TRUE(
        at::allclose(result->to(at::kDouble), expected, tolerance, tolerance))
        << name << "\n"
        << *result << "\n"
        << expected;
  }
}

static Tensor randomTensor(at::IntArrayRef shape, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  // f32 values, so that both kinds start from the same.
  return at::randn(shape, generator, at::TensorOptions(at::kFloat))
      .to(at::kDouble);
}

TEST(Interpreter, Linear) {
  Tensor x = tensorOf({1, 2, 3, 4}, {2, 2});
  Tensor weight = tensorOf({1, 0, 0, 1, 1, -1}, {3, 2});
  Tensor bias = tensorOf({10, 20, 30}, {3});
  expectOp(tensorOf({11, 22, 29, 13, 24, 29}, {2, 3}), "linear",
           {x, weight, bias});
  expectOp(tensorOf({1, 2, -1, 3, 4, -1}, {2, 3}), "linear",
           {x, weight, Tensor()});
  expectOp(tensorOf({1, 2, -1, 3, 4, -1}, {2, 3}), "linear", {x, weight});
}

// One head of d = 1: scores q k = 0 and ln 3 give weights 1/4 and 3/4.
TEST(Interpreter, SdpaByHand) {
  Tensor q = tensorOf({1}, {1, 1, 1, 1});
  Tensor k = tensorOf({0, std::log(3.0)}, {1, 2, 1, 1});
  Tensor v = tensorOf({4, 8}, {1, 2, 1, 1});
  expectOp(tensorOf({7}, {1, 1, 1, 1}), "sdpa", {q, k, v});
  // Twice the scale squares the ratio: weights 1/10 and 9/10.
  expectOp(tensorOf({7.6}, {1, 1, 1, 1}), "sdpa", {q, k, v}, {{"scale", 2.0}});
}

TEST(Interpreter, SdpaOfOtherKeys) {
  Tensor q = randomTensor({2, 5, 3, 4}, 1), k = randomTensor({2, 7, 3, 4}, 2),
         v = randomTensor({2, 7, 3, 4}, 3);
  Tensor expected = at::scaled_dot_product_attention(
                        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
                        .transpose(1, 2);
  expectOp(expected, "sdpa", {q, k, v});
}

// Row (1, 3): mean 2, variance 1; eps = 3 halves the result.
TEST(Interpreter, LayerNorm) {
  Tensor x = tensorOf({1, 3}, {1, 2}), weight = tensorOf({2, 4}, {2}),
         bias = tensorOf({1, -1}, {2});
  expectOp(tensorOf({-0.5, 0.5}, {1, 2}), "layer_norm", {x}, {{"eps", 3.0}});
  expectOp(tensorOf({-1, 2}, {1, 2}), "layer_norm", {x, weight, Tensor()},
           {{"eps", 3.0}});
  expectOp(tensorOf({0, 1}, {1, 2}), "layer_norm", {x, weight, bias},
           {{"eps", 3.0}});
}

// Row (3, 5): mean square 17; eps = 8 makes the root 5.
TEST(Interpreter, RmsNorm) {
  Tensor x = tensorOf({3, 5}, {1, 2}), weight = tensorOf({2, 4}, {2});
  expectOp(tensorOf({0.6, 1}, {1, 2}), "rms_norm", {x}, {{"eps", 8.0}});
  expectOp(tensorOf({1.2, 4}, {1, 2}), "rms_norm", {x, weight}, {{"eps", 8.0}});
}

TEST(Interpreter, RopeIsComplexMultiplication) {
  Tensor x = randomTensor({2, 5, 3, 8}, 1);
  Tensor pairs = at::view_as_complex(x.reshape({2, 5, 3, 4, 2}));
  for (bool perBatch : {false, true}) {
    Tensor angle =
        perBatch ? randomTensor({2, 5, 4}, 2) : randomTensor({5, 4}, 2);
    // As the f32 tables have it, for both kinds of arithmetic.
    Tensor cos = angle.cos().to(at::kFloat).to(at::kDouble),
           sin = angle.sin().to(at::kFloat).to(at::kDouble);
    Tensor factor = at::complex(cos, sin).unsqueeze(-2);
    expectOp(at::view_as_real(pairs * factor).flatten(-2), "rope",
             {x, cos, sin});
    expectOp(at::view_as_real(pairs * factor.conj()).flatten(-2), "rope",
             {x, cos, sin}, {{"inverse", int64_t(1)}});
  }
}

TEST(Interpreter, Elementwise) {
  Tensor x = randomTensor({3, 4}, 1);
  Tensor silu = x.clone(), tanh = x.clone(), erf = x.clone();
  for (int64_t i = 0; i < 12; ++i) {
    double v = x.data_ptr<double>()[i];
    silu.data_ptr<double>()[i] = v / (1 + std::exp(-v));
    erf.data_ptr<double>()[i] = v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
    tanh.data_ptr<double>()[i] =
        v / 2 *
        (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  }
  expectOp(silu, "silu", {x});
  expectOp(erf, "gelu", {x}, {{"approximate", std::string("erf")}});
  expectOp(tanh, "gelu", {x}, {{"approximate", std::string("tanh")}});
  expectOp(x * 3 + 2, "scale", {x}, {{"factor", 3.0}, {"offset", 2.0}});
  expectOp(x, "scale", {x});
}

TEST(Interpreter, BinaryBroadcasts) {
  Tensor x = tensorOf({1, 2, 3, 4}, {2, 1, 2});
  Tensor row = tensorOf({10, 20}, {2}), token = tensorOf({5, 6, 7}, {1, 3, 1});
  expectOp(tensorOf({11, 22, 13, 24}, {2, 1, 2}), "add", {x, row});
  expectOp(tensorOf({9, 18, 7, 16}, {2, 1, 2}), "sub", {row, x});
  expectOp(tensorOf({5, 10, 6, 12, 7, 14, 15, 20, 18, 24, 21, 28}, {2, 3, 2}),
           "mul", {x, token});
}

TEST(Interpreter, Shape) {
  Tensor x = tensorOf({0, 1, 2, 3, 4, 5}, {2, 3});
  expectOp(tensorOf({0, 1, 2, 0, 3, 4, 5, 3}, {2, 4}), "concat",
           {x, x.narrow(1, 0, 1).contiguous()}, {{"dim", int64_t(1)}});
  expectOp(tensorOf({1, 2, 4, 5}, {2, 2}), "slice", {x},
           {{"dim", int64_t(1)},
            {"offset", std::string("n")},
            {"extent", std::string("2*n")}},
           {{"n", 1}});
  expectOp(tensorOf({0, 1, 2, 3, 4, 5}, {3, 2}), "reshape", {x},
           {{"shape", std::string("3 x 2")}});
  expectOp(tensorOf({0, 3, 1, 4, 2, 5}, {3, 2}), "transpose", {x},
           {{"permutation", std::vector<int64_t>{1, 0}}});
}

/// One unary op from `in` to `out`.
static Tensor unary(const std::string &name, DType in, DType out,
                    const Tensor &x, Arithmetic arithmetic) {
  GraphBuilder builder;
  int value = builder.value({Size(2)}, in);
  builder.graph.results = {
      builder.op(name, {value}, {Size(2)}, {{"to", std::string("bf16")}}, out)};
  return (*evaluate(builder.graph, {}, arithmetic, {x}))[0];
}

// 1 + 2^-8 is a tie between bf16 neighbours, 1 + 3 x 2^-8 as well.
TEST(Interpreter, CastRoundsInDeclaredTypesAlone) {
  Tensor x = tensorOf({1 + 0x1p-8, 1 + 3 * 0x1p-8}, {2});
  Tensor declared = unary("cast", DType::F32, DType::BF16, x.to(at::kFloat),
                          Arithmetic::Declared);
  EXPECT_EQ(declared.dtype(), at::kBFloat16);
  EXPECT_TRUE(
      at::equal(declared.to(at::kDouble), tensorOf({1, 1 + 4 * 0x1p-8}, {2})));
  EXPECT_TRUE(at::equal(
      unary("cast", DType::F32, DType::BF16, x, Arithmetic::Float64), x));
}

// 256 + 1 + 1 in bf16 (8 bits): each sum of its own would stay 256; summed in
// f32 it is 258, which bf16 holds.
TEST(Interpreter, Bf16LinearSumsInF32) {
  GraphBuilder builder;
  int x = builder.value({Size(1), Size(3)}, DType::BF16);
  int weight = builder.value({Size(1), Size(3)}, DType::BF16);
  builder.graph.results = {
      builder.op("linear", {x, weight}, {Size(1), Size(1)}, {}, DType::BF16)};
  Tensor ones = at::ones({1, 3}, at::kBFloat16);
  Tensor values = tensorOf({256, 1, 1}, {1, 3}).to(at::kBFloat16);
  auto results =
      evaluate(builder.graph, {}, Arithmetic::Declared, {values, ones});
  ASSERT_TRUE(results.ok()) << results.message();
  EXPECT_EQ((*results)[0].dtype(), at::kBFloat16);
  EXPECT_EQ((*results)[0].item<double>(), 258);
}

// PyTorch's own attention in bf16, and its gradients, are there on a CPU and
// within a few roundings (2^-8 each) of the definition.
TEST(Interpreter, SdpaInBf16) {
  GraphBuilder builder;
  std::vector<Size> queries{Size(2), Size(40), Size(3), Size(32)},
      keys{Size(2), Size(7), Size(3), Size(32)};
  int q = builder.value(queries, DType::BF16),
      k = builder.value(keys, DType::BF16),
      v = builder.value(keys, DType::BF16);
  builder.graph.results = {
      builder.op("sdpa", {q, k, v}, queries, {}, DType::BF16)};
  std::vector<Tensor> exact, own;
  for (uint64_t seed : {1, 2, 3}) {
    Tensor x = randomTensor({2, seed == 1 ? 40 : 7, 3, 32}, seed);
    own.push_back(x.to(at::kBFloat16).requires_grad_());
    exact.push_back(own.back().detach().to(at::kDouble).requires_grad_());
  }
  for (auto *tensors : {&exact, &own}) {
    auto results =
        evaluate(builder.graph, {},
                 tensors == &exact ? Arithmetic::Float64 : Arithmetic::Declared,
                 *tensors);
    ASSERT_TRUE(results.ok()) << results.message();
    (*results)[0].sum().backward();
    tensors->push_back((*results)[0].detach());
  }
  auto distance = [](const Tensor &a, const Tensor &b) {
    return ((a.to(at::kDouble) - b).norm() / b.norm()).item<double>();
  };
  EXPECT_LT(distance(own[3], exact[3]), 4 * 0x1p-8);
  EXPECT_GT(distance(own[3], exact[3]), 0);
  // The gradient of a sum of softmax rows: of v alone it is not near zero.
  EXPECT_LT(distance(own[2].grad(), exact[2].grad()), 4 * 0x1p-8);
  EXPECT_TRUE(own[0].grad().isfinite().all().item<bool>());
}

// bf16 rows with f32 weights, and the other way round.
TEST(Interpreter, NormsTakeMixedTypes) {
  for (const char *name : {"layer_norm", "rms_norm"})
    for (auto [type, weightType] : {std::pair(DType::BF16, DType::F32),
                                    std::pair(DType::F32, DType::BF16),
                                    std::pair(DType::BF16, DType::BF16)}) {
      GraphBuilder builder;
      int x = builder.value({Size(4), Size(8)}, type);
      int weight = builder.value({Size(8)}, weightType);
      builder.graph.results = {builder.op(name, {x, weight}, {Size(4), Size(8)},
                                          {{"eps", 1e-6}}, type)};
      Tensor rows = randomTensor({4, 8}, 1).to(scalarTypeOf(type));
      Tensor gains = randomTensor({8}, 2).to(scalarTypeOf(weightType));
      auto exact = evaluate(builder.graph, {}, Arithmetic::Float64,
                            {rows.to(at::kDouble), gains.to(at::kDouble)});
      auto own =
          evaluate(builder.graph, {}, Arithmetic::Declared, {rows, gains});
      ASSERT_TRUE(own.ok()) << own.message();
      EXPECT_EQ((*own)[0].dtype(), scalarTypeOf(type));
      // At most one rounding to bf16 of the product, and one of the gain's.
      EXPECT_TRUE(
          at::allclose((*own)[0].to(at::kDouble), (*exact)[0], 0x1p-7, 1e-6));
    }
}

TEST(Interpreter, SaysWhatIsWrong) {
  Tensor x = tensorOf({1, 2}, {2});
  EXPECT_EQ(tryOp("tan", {x}, {Size(2)}).message(),
            "op 0 'tan': the reference does not know this op");
  EXPECT_EQ(tryOp("silu", {x}, {Size(3)}).message(),
            "op 0 'silu': expected a result of shape [3], found [2]");
  EXPECT_EQ(
      tryOp("gelu", {x}, {Size(2)}, {{"approximate", std::string("sigmoid")}})
          .message(),
      "op 0 'gelu': expected 'tanh' or 'erf' as 'approximate', found "
      "'sigmoid'");
  EXPECT_EQ(tryOp("slice", {x}, {Size(1)},
                  {{"dim", int64_t(0)},
                   {"offset", std::string("m")},
                   {"extent", std::string("1")}})
                .message(),
            "op 0 'slice': expected a size 'offset', found 'm'");
  EXPECT_EQ(tryOp("transpose", {x}, {Size(2)}).message(),
            "op 0 'transpose': expected a list of integers 'permutation'");
}
