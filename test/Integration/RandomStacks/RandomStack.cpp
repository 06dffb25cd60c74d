//===- RandomStack.cpp - models nobody thought of -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "RandomStack.h"

#include <vector>

using namespace ckpt::test;

namespace {

/// splitmix64, so that a seed means the same with every standard library.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  int below(int bound) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return int((z ^ (z >> 31)) % uint64_t(bound));
  }
  /// True once in `n` times.
  bool oneIn(int n) { return below(n) == 0; }
  int pick(std::initializer_list<int> values) {
    return values.begin()[below(int(values.size()))];
  }

private:
  uint64_t state;
};

using Dims = std::vector<std::string>;

struct Tensor {
  std::string name;
  Dims dims;
  std::string dtype;

  std::string type() const {
    std::string text = "!ckpt.tensor<";
    for (const std::string &dim : dims)
      text += dim + " x ";
    return text + dtype + ">";
  }
};

/// The sizes that the blocks of a stack share.
struct Shape {
  int heads, d, hidden, context;
  bool twoStates;
  /// Whether these have a gradient.
  bool trainsText, trainsCondition, trainsContext;
  std::string dtype;

  int width() const { return heads * d; }
  Dims act() const { return {"batch", "tokens", std::to_string(width())}; }
};

class BlockWriter {
public:
  BlockWriter(Random &random, const Shape &shape, std::string name)
      : random(random), shape(shape), kind(std::move(name)) {}

  std::string write();

private:
  //===--- Text -----------------------------------------------------------===//

  Tensor op(const std::string &mnemonic, const std::vector<Tensor> &operands,
            Dims dims, const std::string &attributes = "",
            std::string dtype = "");
  Tensor param(const std::string &name, Dims dims, std::string dtype = "");
  Tensor input(const std::string &name, Dims dims, std::string dtype,
               bool differentiable);

  //===--- Pieces ---------------------------------------------------------===//

  Tensor linear(const Tensor &x, int out, bool mayTrainBias = true);
  Tensor norm(const Tensor &x, bool mayBeF32);
  /// n (1 + scale) + shift with rows from the conditioning.
  Tensor modulate(const Tensor &x);
  Tensor gate(const Tensor &x);
  Tensor conditioningRow();
  Tensor slice(const Tensor &x, int dim, const std::string &offset,
               const std::string &extent);
  Tensor split(const Tensor &x);
  Tensor merge(const Tensor &x);
  Tensor queryOrKey(Tensor x, bool isImage);
  Tensor residual(const Tensor &x, const Tensor &branch);
  Tensor attentionBranch(const Tensor &x, const Tensor *other);
  Tensor ffnBranch(const Tensor &x);
  /// Reads `x` and, in attention, `other`; the result is added to `onto`.
  Tensor attention(const Tensor &x, const Tensor *other);
  Tensor ffn(const Tensor &x, const Tensor &onto);
  void beginRegion();
  Tensor endRegion(const std::string &name, const Tensor &y);

  Random &random;
  const Shape &shape;
  std::string kind;
  std::string inputs, params, body, outside, indent = "  ";
  Tensor condition, context, cos, sin;
  int values = 0, weights = 0;
};

} // namespace

Tensor BlockWriter::op(const std::string &mnemonic,
                       const std::vector<Tensor> &operands, Dims dims,
                       const std::string &attributes, std::string dtype) {
  Tensor result{"%v" + std::to_string(values++), std::move(dims),
                dtype.empty() ? operands[0].dtype : dtype};
  std::string names, types;
  for (const Tensor &operand : operands) {
    names += (names.empty() ? "" : ", ") + operand.name;
    types += (types.empty() ? "" : ", ") + operand.type();
  }
  body += indent + result.name + " = ckpt." + mnemonic + " " + names +
          (attributes.empty() ? "" : " {" + attributes + "}") + " : " + types +
          "\n";
  return result;
}

Tensor BlockWriter::param(const std::string &name, Dims dims,
                          std::string dtype) {
  Tensor result{"%p" + std::to_string(weights++), std::move(dims),
                dtype.empty() ? shape.dtype : dtype};
  bool shared = random.oneIn(8);
  params += (params.empty() ? "" : ",\n           ") + result.name + " \"" +
            kind + (shared ? "." : ".{i}.") + name + result.name.substr(1) +
            (name.find("norm") != std::string::npos ? ".weight\" " : "\" ") +
            (random.oneIn(3) ? "trainable" : "frozen") + " : " + result.type();
  return result;
}

Tensor BlockWriter::input(const std::string &name, Dims dims, std::string dtype,
                          bool differentiable) {
  Tensor result{"%" + name, std::move(dims), std::move(dtype)};
  inputs += (inputs.empty() ? "" : ", ") + result.name + " : " + result.type() +
            (differentiable ? " differentiable" : "");
  return result;
}

Tensor BlockWriter::linear(const Tensor &x, int out, bool mayTrainBias) {
  Dims dims = x.dims;
  std::string in = dims.back();
  dims.back() = std::to_string(out);
  std::vector<Tensor> operands = {x, param("w", {dims.back(), in})};
  if (mayTrainBias && random.oneIn(2))
    operands.push_back(param("b", {dims.back()}));
  Tensor y = op("linear", operands, dims);
  if (!random.oneIn(5))
    return y;
  // An adapter of rank 3.
  Dims low = dims;
  low.back() = "3";
  Tensor down = op("linear", {x, param("lora_A", {"3", in})}, low);
  Tensor up = op("linear", {down, param("lora_B", {dims.back(), "3"})}, dims);
  return op("add", {y, op("scale", {up}, dims, "factor = 0.5")}, dims);
}

Tensor BlockWriter::norm(const Tensor &given, bool mayBeF32) {
  Tensor x = given;
  bool island = mayBeF32 && x.dtype == "bf16" && random.oneIn(3);
  if (island)
    x = op("cast", {x}, x.dims, "to = f32", "f32");
  std::vector<Tensor> operands = {x};
  bool layer = random.oneIn(2);
  if (random.oneIn(2)) {
    operands.push_back(param("norm", {x.dims.back()}, x.dtype));
    if (layer && random.oneIn(2))
      operands.push_back(param("c", {x.dims.back()}, x.dtype));
  }
  Tensor y =
      op(layer ? "layer_norm" : "rms_norm", operands, x.dims, "eps = 1.0e-5");
  return island ? op("cast", {y}, y.dims, "to = bf16", "bf16") : y;
}

Tensor BlockWriter::slice(const Tensor &x, int dim, const std::string &offset,
                          const std::string &extent) {
  Dims dims = x.dims;
  dims[dim] = extent;
  return op("slice", {x}, dims,
            "dim = " + std::to_string(dim) + ", offset = \"" + offset +
                "\", extent = \"" + extent + "\"");
}

Tensor BlockWriter::conditioningRow() {
  if (condition.name.empty())
    condition = input("cond", {"batch", "3", std::to_string(shape.width())},
                      shape.dtype, shape.trainsCondition);
  return slice(condition, 1, std::to_string(random.below(3)), "1");
}

Tensor BlockWriter::modulate(const Tensor &x) {
  Tensor row = conditioningRow();
  Tensor scale = op("scale", {row}, row.dims, "factor = 0.25, offset = 1.0");
  Tensor scaled = op("mul", {x, scale}, x.dims);
  return op("add", {scaled, conditioningRow()}, x.dims);
}

Tensor BlockWriter::gate(const Tensor &x) {
  return op("mul", {x, conditioningRow()}, x.dims);
}

/// width -> heads x d.
Tensor BlockWriter::split(const Tensor &x) {
  Dims dims = {x.dims[0], x.dims[1], std::to_string(shape.heads),
               std::to_string(shape.d)};
  return op("reshape", {x}, dims,
            "shape = [\"" + dims[0] + "\", \"" + dims[1] + "\", \"" + dims[2] +
                "\", \"" + dims[3] + "\"]");
}

Tensor BlockWriter::merge(const Tensor &x) {
  Dims dims = {x.dims[0], x.dims[1], std::to_string(shape.width())};
  return op("reshape", {x}, dims,
            "shape = [\"" + dims[0] + "\", \"" + dims[1] + "\", \"" + dims[2] +
                "\"]");
}

Tensor BlockWriter::queryOrKey(Tensor x, bool isImage) {
  int form = random.below(4);
  if (form == 0)
    x = norm(x, false);
  x = split(x);
  if (form == 1)
    x = norm(x, false);
  if (isImage && form >= 1 && random.oneIn(2)) {
    if (cos.name.empty()) {
      Dims dims = {"tokens", std::to_string(shape.d / 2)};
      cos = input("cos", dims, "f32", false);
      sin = input("sin", dims, "f32", false);
    }
    x = op("rope", {x, cos, sin}, x.dims);
  }
  return x;
}

Tensor BlockWriter::residual(const Tensor &x, const Tensor &branch) {
  Tensor y = random.oneIn(2) ? op("add", {x, branch}, x.dims)
                             : op("add", {branch, x}, x.dims);
  return random.oneIn(5) ? norm(y, false) : y;
}

Tensor BlockWriter::attentionBranch(const Tensor &x, const Tensor *other) {
  // Always normalized: where scores grow, softmax is a maximum, whose gradient
  // no arithmetic of 8 bits gets right.
  Tensor n = norm(x, true);
  if (random.oneIn(3))
    n = modulate(n);
  int width = shape.width();
  std::string w = std::to_string(width);
  Tensor q, k, v;
  // Self, cross to the context or the other state, or joint with the latter.
  int form = random.below(other ? 4 : 3);
  if (form == 0 || form == 1) {
    Tensor qkv = linear(n, 3 * width);
    q = queryOrKey(slice(qkv, 2, "0", w), true);
    k = queryOrKey(slice(qkv, 2, w, w), true);
    v = split(slice(qkv, 2, std::to_string(2 * width), w));
  } else if (form == 2) {
    Tensor source;
    if (other && random.oneIn(2)) {
      source = norm(*other, false);
    } else {
      if (context.name.empty())
        context =
            input("context", {"batch", "text", std::to_string(shape.context)},
                  shape.dtype, shape.trainsContext);
      source = context;
    }
    q = queryOrKey(linear(n, width), true);
    k = queryOrKey(linear(source, width, /*mayTrainBias=*/false), false);
    v = split(linear(source, width));
  } else {
    Tensor m = norm(*other, false);
    q = queryOrKey(linear(n, width), true);
    Tensor kImage = queryOrKey(linear(n, width), true);
    Tensor kText = queryOrKey(linear(m, width), false);
    Tensor vImage = split(linear(n, width)), vText = split(linear(m, width));
    Dims joined = kImage.dims;
    joined[1] = "text + tokens";
    k = op("concat", {kText, kImage}, joined, "dim = 1");
    v = op("concat", {vText, vImage}, joined, "dim = 1");
  }
  Tensor o =
      op("sdpa", {q, k, v}, q.dims, random.oneIn(3) ? "scale = 0.3" : "");
  return linear(merge(o), width);
}

Tensor BlockWriter::ffnBranch(const Tensor &x) {
  Tensor n = random.oneIn(4) ? x : norm(x, true);
  if (random.oneIn(3))
    n = modulate(n);
  std::string hidden = std::to_string(shape.hidden);
  Dims dims = n.dims;
  dims.back() = hidden;
  Tensor a;
  switch (random.below(4)) {
  case 0:
    a = op("gelu", {linear(n, shape.hidden)}, dims, "approximate = tanh");
    break;
  case 1:
    a = op("gelu", {linear(n, shape.hidden)}, dims, "approximate = erf");
    break;
  case 2: {
    // Both halves of one product.
    Tensor both = linear(n, 2 * shape.hidden);
    Tensor on = op("silu", {slice(both, 2, "0", hidden)}, dims);
    a = op("mul", {on, slice(both, 2, hidden, hidden)}, dims);
    break;
  }
  default: {
    Tensor on = op("silu", {linear(n, shape.hidden)}, dims);
    a = op(random.oneIn(2) ? "mul" : "sub", {on, linear(n, shape.hidden)},
           dims);
  }
  }
  Tensor y = linear(a, std::stoi(x.dims.back()));
  if (!random.oneIn(4))
    return y;
  // There and back again: a view that no contraction reads through.
  Dims turned = {y.dims[0], y.dims[2], y.dims[1]};
  Tensor t = op("transpose", {y}, turned, "permutation = array<i64: 0, 2, 1>");
  Tensor s = op("silu", {t}, turned);
  return op("transpose", {s}, y.dims, "permutation = array<i64: 0, 2, 1>");
}

void BlockWriter::beginRegion() {
  outside = std::move(body);
  body.clear();
  indent = "    ";
}

Tensor BlockWriter::endRegion(const std::string &name, const Tensor &y) {
  body += indent + "ckpt.yield " + y.name + " : " + y.type() + "\n";
  indent = "  ";
  Tensor result{"%r" + std::to_string(values++), y.dims, y.dtype};
  body = outside + "  " + result.name + " = ckpt." + name + " {\n" + body +
         "  } : " + y.type() + "\n";
  return result;
}

/// One or two attentions, as a block with self and cross attention has.
Tensor BlockWriter::attention(const Tensor &x, const Tensor *other) {
  beginRegion();
  Tensor y = x;
  for (int i = random.oneIn(4) ? 2 : 1; i > 0; --i) {
    Tensor branch = attentionBranch(y, other);
    y = residual(y, random.oneIn(3) ? gate(branch) : branch);
  }
  return endRegion("attention", y);
}

Tensor BlockWriter::ffn(const Tensor &x, const Tensor &onto) {
  beginRegion();
  Tensor branch = ffnBranch(x);
  return endRegion("ffn",
                   residual(onto, random.oneIn(3) ? gate(branch) : branch));
}

std::string BlockWriter::write() {
  Tensor x{"%x", shape.act(), shape.dtype};
  Tensor text{
      "%t", {"batch", "text", std::to_string(shape.width())}, shape.dtype};
  Tensor other = text;
  Tensor y = attention(x, shape.twoStates ? &other : nullptr);
  // Now and then side by side, as in single-stream blocks.
  y = ffn(random.oneIn(5) ? x : y, y);
  if (random.oneIn(4))
    y = op("add", {y, op("silu", {x}, x.dims)}, x.dims);
  std::string states = "%x : " + x.type() + " differentiable";
  std::string results = y.name, types = y.type();
  if (shape.twoStates) {
    other =
        op("add", {text, linear(norm(text, false), shape.width())}, text.dims);
    states +=
        ", %t : " + text.type() + (shape.trainsText ? " differentiable" : "");
    results += ", " + other.name;
    types += ", " + other.type();
  }
  return "ckpt.block @" + kind + "\n    states(" + states + ")\n" +
         (inputs.empty() ? "" : "    inputs(" + inputs + ")\n") +
         "    params(" + params + ") {\n" + body + "  ckpt.return " + results +
         " : " + types + "\n}\n";
}

RandomStack ckpt::test::makeRandomStack(uint64_t seed) {
  Random random(seed * 7919 + 1);
  Shape shape;
  shape.heads = random.pick({1, 2, 3});
  shape.d = random.pick({6, 10, 14});
  shape.hidden = random.pick({12, 20, 27});
  shape.context = random.pick({3, 11});
  shape.twoStates = random.oneIn(3);
  shape.trainsText = random.oneIn(2);
  shape.trainsCondition = random.oneIn(2);
  shape.trainsContext = random.oneIn(2);
  shape.dtype = seed % 2 ? "bf16" : "f32";

  RandomStack stack;
  stack.sizes["batch"] = random.pick({1, 2});
  stack.sizes["tokens"] = random.pick({1, 7, 33});
  stack.sizes["text"] = random.pick({1, 5, 18});
  stack.text = "ckpt.size @batch default 1\nckpt.size @tokens\n"
               "ckpt.size @text default 4\n\n";
  bool twoKinds = random.oneIn(2);
  stack.text += BlockWriter(random, shape, "a").write() + "\n";
  if (twoKinds)
    stack.text += BlockWriter(random, shape, "b").write() + "\n";
  stack.text += "ckpt.stack @model {\n  ckpt.repeat @a, " +
                std::to_string(2 + random.below(2)) + "\n";
  if (twoKinds)
    stack.text += "  ckpt.repeat @b, 1\n  ckpt.repeat @a, 1\n";
  stack.text += "}\n";
  return stack;
}
