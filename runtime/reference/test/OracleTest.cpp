//===- OracleTest.cpp - outputs, gradients and the bound ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "AdapterProgram.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace ckpt::rt;

namespace {
/// An oracle with its tensors, normal (0, 1) by default.
struct Harness {
  explicit Harness(Program program, int64_t rows = 3,
                   std::optional<int64_t> limit = std::nullopt) {
    sizes = *bindSizes(program, {{"rows", rows}});
    externals = externalsOf(program, *blocksOf(program, limit));
    auto made = Oracle::create(std::move(program), limit, {{"rows", rows}});
    EXPECT_TRUE(made.ok());
    oracle = std::move(*made);
    auto generator = at::detail::createCPUGenerator(1);
    for (const External &external : externals) {
      if (external.kind == ExternalKind::Output ||
          external.kind == ExternalKind::Gradient)
        continue;
      tensors[external.name] =
          at::randn(extentsOf(external.type, sizes), generator,
                    at::TensorOptions(at::kFloat))
              .to(scalarTypeOf(external.type.dtype));
      set(external.name);
    }
  }
  void set(const std::string &name) {
    const at::Tensor &tensor = tensors[name];
    Status status = oracle->set(name, tensor.data_ptr(), tensor.nbytes());
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void run() {
    Status status = oracle->run({});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  at::Tensor values(const std::string &name) {
    auto result = oracle->values(name);
    EXPECT_TRUE(result.ok()) << result.message();
    return *result;
  }
  Comparison compare(const std::string &name, const at::Tensor &tensor) {
    at::Tensor dense = tensor.contiguous();
    auto result = oracle->compare(name, dense.data_ptr(), dense.nbytes());
    EXPECT_TRUE(result.ok()) << result.message();
    return *result;
  }
  /// What every gradient is the derivative of.
  double loss() {
    run();
    return (values("out.x") * tensors["grad.out.x"].to(at::kDouble))
        .sum()
        .item<double>();
  }
  std::unique_ptr<Oracle> oracle;
  std::vector<External> externals;
  SizeValues sizes;
  std::map<std::string, at::Tensor> tensors;
};
} // namespace

// Central differences of step 2^-9: the error is h^2/6 times the third
// derivative, some 1e-6 here; the step that f32 really takes is divided by.
TEST(Oracle, GradientsAreFiniteDifferences) {
  Harness h(makeAdapterProgram(DType::F32));
  h.run();
  std::map<std::string, at::Tensor> gradients;
  for (const External &external : h.externals)
    if (external.kind == ExternalKind::Gradient)
      gradients[external.name] = h.values(external.name).contiguous();
  // x, cond, two a, two b, gain.
  ASSERT_EQ(gradients.size(), 7u);
  for (auto &[name, gradient] : gradients) {
    std::string tensor = name.substr(5);
    float *at = h.tensors[tensor].data_ptr<float>();
    for (int64_t i = 0; i < gradient.numel(); ++i) {
      float middle = at[i], up = middle + 0x1p-9f, down = middle - 0x1p-9f;
      at[i] = up;
      double above = h.loss();
      at[i] = down;
      double below = h.loss();
      at[i] = middle;
      double expected = (above - below) / (double(up) - double(down));
      EXPECT_NEAR(gradient.data_ptr<double>()[i], expected,
                  1e-4 * (1 + std::abs(expected)))
          << name << " " << i;
    }
  }
}

// The whole program as one autograd graph, without blocks: what is summed over
// blocks and passed between them comes out the same.
TEST(Oracle, BlockByBlockIsTheWhole) {
  Harness h(makeAdapterProgram(DType::F32));
  h.run();
  std::map<std::string, at::Tensor> leaf;
  for (auto &[name, tensor] : h.tensors)
    leaf[name] = tensor.to(at::kDouble).set_requires_grad(true);
  at::Tensor x = leaf["x"];
  for (std::string block : {"blocks.0.", "blocks.1."}) {
    at::Tensor n =
        x * (x.square().mean(-1, true) + 1e-6).rsqrt() * leaf["gain"];
    at::Tensor z =
        n.matmul(leaf[block + "w"].t()) +
        0.5 * n.matmul(leaf[block + "a"].t()).matmul(leaf[block + "b"].t());
    at::Tensor m = z * leaf["cond"];
    x = x + m * m.sigmoid();
  }
  (x * leaf["grad.out.x"].detach()).sum().backward();
  EXPECT_TRUE(at::allclose(h.values("out.x"), x.detach(), 1e-12, 1e-12));
  int gradients = 0;
  for (const External &external : h.externals)
    if (external.kind == ExternalKind::Gradient) {
      EXPECT_TRUE(at::allclose(h.values(external.name),
                               leaf[external.name.substr(5)].grad(), 1e-11,
                               1e-11))
          << external.name;
      ++gradients;
    }
  EXPECT_EQ(gradients, 7);
}

// The reference rounded to the type passes; twice the bound away fails, and so
// does anything that is not finite.
TEST(Oracle, BoundCatchesWrongTensors) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Harness h(makeAdapterProgram(dtype), 16);
    h.run();
    double slack = dtype == DType::BF16 ? 0x1p-10 : 0x1p-17;
    double factor = dtype == DType::BF16 ? 1.5 : 3;
    for (const External &external : h.externals) {
      if (external.kind != ExternalKind::Output &&
          external.kind != ExternalKind::Gradient)
        continue;
      at::Tensor reference = h.values(external.name);
      auto type = scalarTypeOf(dtype);
      Comparison right = h.compare(external.name, reference.to(type));
      EXPECT_TRUE(right.passed) << external.name;
      EXPECT_EQ(right.bound, factor * right.pytorchError + slack);
      // PyTorch's own rounds on the way, and it is no worse than a few ulp:
      // there is an error, and it is not an error of ours.
      EXPECT_GT(right.pytorchError, dtype == DType::BF16 ? 1e-4 : 1e-9);
      EXPECT_LT(right.pytorchError, dtype == DType::BF16 ? 2e-2 : 1e-6);
      // The error is the relative norm of what is added, less rounding.
      at::Tensor wrong =
          (reference * (1 + 2 * right.bound + 2 * right.error)).to(type);
      Comparison caught = h.compare(external.name, wrong);
      EXPECT_FALSE(caught.passed) << external.name;
      EXPECT_GT(caught.error, right.bound);
      at::Tensor nan = reference.to(type).clone();
      nan.flatten()[0] = std::nan("");
      EXPECT_FALSE(h.compare(external.name, nan).passed);
      nan.flatten()[0] = INFINITY;
      EXPECT_FALSE(h.compare(external.name, nan).passed);
    }
  }
}

// Incoming gradient zero: all gradients are zero, and errors absolute.
TEST(Oracle, ZeroReferenceIsComparedAbsolutely) {
  Harness h(makeAdapterProgram(DType::F32));
  h.tensors["grad.out.x"].zero_();
  h.run();
  at::Tensor zero = at::zeros({adapterWidth}, at::kFloat);
  Comparison same = h.compare("grad.gain", zero);
  EXPECT_EQ(same.error, 0);
  EXPECT_EQ(same.bound, 0x1p-17);
  EXPECT_TRUE(same.passed);
  zero[0] = 0x1p-16;
  Comparison other = h.compare("grad.gain", zero);
  EXPECT_EQ(other.error, 0x1p-16);
  EXPECT_FALSE(other.passed);
}

// One block of two is not the two, and the second's parameters are not asked.
TEST(Oracle, LimitTakesTheFirstBlocks) {
  Harness whole(makeAdapterProgram(DType::F32)),
      first(makeAdapterProgram(DType::F32), 3, 1);
  EXPECT_FALSE(first.tensors.count("blocks.1.w"));
  for (auto &[name, tensor] : first.tensors) {
    tensor = whole.tensors.at(name);
    first.set(name);
  }
  whole.run();
  first.run();
  EXPECT_FALSE(at::allclose(first.values("out.x"), whole.values("out.x")));
}

/// One block with two states, which it exchanges, scaled, and a parameter that
/// only the second result sees.
static Program makeExchange() {
  TensorType type{{Size(2)}, DType::F32};
  GraphBuilder b;
  int x = b.value(type.dims), y = b.value(type.dims), p = b.value(type.dims),
      q = b.value(type.dims);
  int newX = b.op("scale", {y}, type.dims, {{"factor", 2.0}});
  int newY = b.op("mul", {x, p}, type.dims);
  b.graph.results = {newX, newY};
  BlockKind kind;
  kind.name = "exchange";
  kind.states = {{"x", type, false}, {"y", type, true}};
  kind.params = {{"b.{i}.p", type, true}, {"b.{i}.q", type, true}};
  kind.results = {type, type};
  kind.graph = b.graph;
  (void)q;
  Program program;
  program.kinds = {kind};
  program.stacks = {{"first", {0}}, {"second", {0}}};
  // The second stack starts at index 0 again, so its names must differ.
  BlockKind other = kind;
  other.params = {{"c.{i}.p", type, true}, {"c.{i}.q", type, true}};
  program.kinds.push_back(other);
  program.stacks[1].blocks = {1};
  return program;
}

// x1 = 2 y, y1 = x p;  x2 = 2 y1 = 2 x p, y2 = x1 p' = 2 y p'.
// With weights g, h on x2, y2: dp = 2 x g, dp' = 2 y h, dy = 2 p' h, dq = 0.
TEST(Oracle, SeveralStatesAndStacks) {
  Program program = makeExchange();
  auto oracle = Oracle::create(program, std::nullopt, {});
  ASSERT_TRUE(oracle.ok()) << oracle.message();
  std::map<std::string, std::vector<float>> given = {
      {"x", {1, 2}},           {"y", {3, 4}},
      {"b.0.p", {5, 6}},       {"b.0.q", {0, 0}},
      {"c.0.p", {7, 8}},       {"c.0.q", {0, 0}},
      {"grad.out.x", {1, 10}}, {"grad.out.y", {100, 1000}}};
  for (auto &[name, values] : given)
    ASSERT_TRUE((*oracle)->set(name, values.data(), 8).ok());
  std::vector<std::pair<int64_t, int64_t>> progress;
  ASSERT_TRUE((*oracle)
                  ->run([&](int64_t done, int64_t total) {
                    progress.push_back({done, total});
                  })
                  .ok());
  auto expect = [&](const char *name, double first, double second) {
    auto tensor = (*oracle)->values(name);
    ASSERT_TRUE(tensor.ok()) << tensor.message();
    EXPECT_EQ((*tensor)[0].item<double>(), first) << name;
    EXPECT_EQ((*tensor)[1].item<double>(), second) << name;
  };
  expect("out.x", 10, 24);
  expect("out.y", 42, 64);
  expect("grad.y", 1400, 16000);
  expect("grad.b.0.p", 2, 40);
  expect("grad.c.0.p", 600, 8000);
  expect("grad.b.0.q", 0, 0);
  EXPECT_FALSE((*oracle)->values("grad.x").ok());
  // Two passes, forward and backward, of two blocks.
  ASSERT_EQ(progress.size(), 8u);
  EXPECT_EQ(progress.front(), std::make_pair(int64_t(1), int64_t(8)));
  EXPECT_EQ(progress.back(), std::make_pair(int64_t(8), int64_t(8)));
}

TEST(Oracle, SaysWhatIsWrong) {
  float values[64] = {};
  auto made = Oracle::create(makeAdapterProgram(DType::F32), std::nullopt, {});
  EXPECT_FALSE(made.ok());
  made = Oracle::create(makeAdapterProgram(DType::F32), std::nullopt,
                        {{"rows", 3}});
  ASSERT_TRUE(made.ok());
  Oracle &oracle = **made;
  EXPECT_EQ(oracle.set("q", values, 4).message(),
            "tensor 'q': expected a state, input, parameter or incoming "
            "gradient of the program, found no such");
  EXPECT_FALSE(oracle.set("out.x", values, 72).ok());
  EXPECT_EQ(oracle.set("x", values, 4).message(),
            "tensor 'x': expected 72 bytes, found 4");
  EXPECT_EQ(oracle.run({}).message(), "tensor 'x' was not given");
  EXPECT_EQ(oracle.compare("out.x", values, 72).message(),
            "tensor 'out.x': the reference has not been run");
  EXPECT_EQ(oracle.compare("x", values, 72).message(),
            "tensor 'x': expected an output or a gradient of the program, "
            "found no such");
  Harness h(makeAdapterProgram(DType::F32));
  h.run();
  EXPECT_EQ(h.oracle->compare("out.x", values, 4).message(),
            "tensor 'out.x': expected 72 bytes, found 4");
}

TEST(Oracle, NamesTheBlockAndOpOfAFailure) {
  Program program = makeAdapterProgram(DType::F32);
  program.kinds[0].graph.ops[4].name = "halve";
  Harness h(program);
  EXPECT_EQ(h.oracle->run({}).message(),
            "block 0 (adapter), op 4 'halve': the reference does not know this "
            "op");
}
