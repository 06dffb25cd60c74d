//===- Interpreter.cpp - block graphs on LibTorch -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"

#include <ATen/ATen.h>

#include <cmath>

using namespace ckpt::rt;
using at::Tensor;

at::ScalarType ckpt::rt::scalarTypeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return at::kFloat;
  case DType::BF16:
    return at::kBFloat16;
  case DType::F16:
    return at::kHalf;
  }
  return at::kFloat;
}

std::vector<int64_t> ckpt::rt::extentsOf(const TensorType &type,
                                         const SizeValues &sizes) {
  std::vector<int64_t> extents;
  for (const Size &dim : type.dims)
    extents.push_back(dim.evaluate(sizes).value_or(-1));
  return extents;
}

namespace {
/// What an op's function sees of it.
struct OpView {
  const GraphOp &op;
  const SizeValues &sizes;
  Arithmetic arithmetic;
  std::vector<Tensor> operands;
  std::vector<int64_t> shape;
  at::ScalarType type;

  bool isFloat64() const { return arithmetic == Arithmetic::Float64; }
  Tensor operand(size_t i) const {
    return i < operands.size() ? operands[i] : Tensor();
  }
  bool has(const char *name) const { return op.attributes.count(name); }
  double number(const char *name, double absent = 0) const {
    auto it = op.attributes.find(name);
    if (it == op.attributes.end())
      return absent;
    if (auto *value = std::get_if<double>(&it->second))
      return *value;
    if (auto *value = std::get_if<int64_t>(&it->second))
      return static_cast<double>(*value);
    return absent;
  }
  int64_t integer(const char *name) const {
    auto it = op.attributes.find(name);
    auto *value =
        it == op.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
    TORCH_CHECK(value, "expected an integer '", name, "'");
    return *value;
  }
  std::string text(const char *name) const {
    auto it = op.attributes.find(name);
    auto *value = it == op.attributes.end()
                      ? nullptr
                      : std::get_if<std::string>(&it->second);
    TORCH_CHECK(value, "expected a string '", name, "'");
    return *value;
  }
  int64_t size(const char *name) const {
    std::optional<Size> size = Size::parse(text(name));
    std::optional<int64_t> value;
    if (size)
      value = size->evaluate(sizes);
    TORCH_CHECK(value, "expected a size '", name, "', found '", text(name),
                "'");
    return *value;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// One function per op
//===----------------------------------------------------------------------===//

/// Declared: a product in f32, rounded once, is what PyTorch's bf16 products
/// are where the processor has them, and as fast where it has none.
static Tensor linear(const OpView &view) {
  Tensor x = view.operand(0), weight = view.operand(1), bias = view.operand(2);
  if (!view.isFloat64()) {
    x = x.to(at::kFloat);
    weight = weight.to(at::kFloat);
    bias = bias.defined() ? bias.to(at::kFloat) : bias;
  }
  return at::linear(x, weight, bias);
}

/// Float64: by its definition. Declared: PyTorch's own attention.
static Tensor sdpa(const OpView &view) {
  Tensor q = view.operand(0).transpose(1, 2);
  Tensor k = view.operand(1).transpose(1, 2);
  Tensor v = view.operand(2).transpose(1, 2);
  double scale = view.number("scale", 1 / std::sqrt(double(q.size(-1))));
  if (!view.isFloat64())
    return at::scaled_dot_product_attention(q, k, v, {}, 0.0, false, scale)
        .transpose(1, 2);
  Tensor scores = at::matmul(q, k.transpose(-2, -1)) * scale;
  return at::matmul(at::softmax(scores, -1), v).transpose(1, 2);
}

/// Norms compute in f32 inside, whatever goes in: PyTorch does the same where
/// all operands have one type, and takes no other.
static Tensor norm(const OpView &view, bool centered) {
  Tensor x = view.operand(0), weight = view.operand(1), bias = view.operand(2);
  bool mixed = (weight.defined() && weight.dtype() != x.dtype()) ||
               (bias.defined() && bias.dtype() != x.dtype());
  if (mixed) {
    x = x.to(at::kFloat);
    weight = weight.defined() ? weight.to(at::kFloat) : weight;
    bias = bias.defined() ? bias.to(at::kFloat) : bias;
  }
  std::vector<int64_t> last = {x.size(-1)};
  double eps = view.number("eps");
  if (centered)
    return at::layer_norm(x, last, weight, bias, eps);
  // Takes no undefined tensor for an absent weight, unlike layer_norm.
  return at::rms_norm(
      x, last, weight.defined() ? std::make_optional(weight) : std::nullopt,
      eps);
}

/// Pairs (x[2i], x[2i+1]) turned by the angle of (cos[i], sin[i]). Tables:
/// tokens x d/2 or batch x tokens x d/2, the same for every head.
static Tensor rope(const OpView &view) {
  Tensor x = view.operand(0);
  Tensor cos = view.operand(1).unsqueeze(-2),
         sin = view.operand(2).unsqueeze(-2);
  if (view.has("inverse") && view.number("inverse", 1) != 0)
    sin = -sin;
  Tensor pairs = x.unflatten(-1, {-1, 2});
  Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
  return at::stack({even * cos - odd * sin, even * sin + odd * cos}, -1)
      .flatten(-2);
}

static Tensor gelu(const OpView &view) {
  std::string approximate = view.text("approximate");
  TORCH_CHECK(approximate == "tanh" || approximate == "erf",
              "expected 'tanh' or 'erf' as 'approximate', found '", approximate,
              "'");
  return at::gelu(view.operand(0), approximate == "erf" ? "none" : "tanh");
}

static Tensor slice(const OpView &view) {
  return view.operand(0).narrow(view.integer("dim"), view.size("offset"),
                                view.size("extent"));
}

static Tensor transpose(const OpView &view) {
  auto it = view.op.attributes.find("permutation");
  auto *permutation = it == view.op.attributes.end()
                          ? nullptr
                          : std::get_if<std::vector<int64_t>>(&it->second);
  TORCH_CHECK(permutation, "expected a list of integers 'permutation'");
  return view.operand(0).permute(*permutation);
}

using OpFunction = Tensor (*)(const OpView &);

static const std::map<std::string, OpFunction> &opFunctions() {
  static const std::map<std::string, OpFunction> functions = {
      {"linear", linear},
      {"sdpa", sdpa},
      {"layer_norm", [](const OpView &view) { return norm(view, true); }},
      {"rms_norm", [](const OpView &view) { return norm(view, false); }},
      {"rope", rope},
      // The result's type does it, below.
      {"cast", [](const OpView &view) { return view.operand(0); }},
      {"scale",
       [](const OpView &view) {
         return view.operand(0) * view.number("factor", 1) +
                view.number("offset", 0);
       }},
      {"silu", [](const OpView &view) { return at::silu(view.operand(0)); }},
      {"gelu", gelu},
      {"add",
       [](const OpView &view) { return view.operand(0) + view.operand(1); }},
      {"sub",
       [](const OpView &view) { return view.operand(0) - view.operand(1); }},
      {"mul",
       [](const OpView &view) { return view.operand(0) * view.operand(1); }},
      {"concat",
       [](const OpView &view) {
         return at::cat(view.operands, view.integer("dim"));
       }},
      {"slice", slice},
      {"reshape",
       [](const OpView &view) { return view.operand(0).reshape(view.shape); }},
      {"transpose", transpose},
  };
  return functions;
}

//===----------------------------------------------------------------------===//
// A graph
//===----------------------------------------------------------------------===//

static std::string printExtents(at::IntArrayRef extents) {
  std::string text = "[";
  for (size_t i = 0; i < extents.size(); ++i)
    text += (i ? ", " : "") + std::to_string(extents[i]);
  return text + "]";
}

Result<std::vector<Tensor>> ckpt::rt::evaluate(const Graph &graph,
                                               const SizeValues &sizes,
                                               Arithmetic arithmetic,
                                               std::vector<Tensor> values) {
  values.resize(graph.values.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const GraphOp &op = graph.ops[i];
    std::string where = "op " + std::to_string(i) + " '" + op.name + "': ";
    auto function = opFunctions().find(op.name);
    if (function == opFunctions().end())
      return Error{where + "the reference does not know this op"};
    if (op.results.size() != 1)
      return Error{where + "expected one result, found " +
                   std::to_string(op.results.size())};
    const TensorType &type = graph.values[op.results[0]];
    OpView view{op,
                sizes,
                arithmetic,
                {},
                extentsOf(type, sizes),
                arithmetic == Arithmetic::Float64 ? at::kDouble
                                                  : scalarTypeOf(type.dtype)};
    for (int operand : op.operands)
      view.operands.push_back(operand < 0 ? Tensor() : values[operand]);
    Tensor result;
    try {
      result = function->second(view).to(view.type);
    } catch (const c10::Error &error) {
      return Error{where + error.what_without_backtrace()};
    }
    if (result.sizes() != at::IntArrayRef(view.shape))
      return Error{where + "expected a result of shape " +
                   printExtents(view.shape) + ", found " +
                   printExtents(result.sizes())};
    values[op.results[0]] = std::move(result);
  }
  std::vector<Tensor> results;
  for (int result : graph.results)
    results.push_back(values[result]);
  return results;
}
