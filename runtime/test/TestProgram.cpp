//===- TestProgram.cpp - programs for tests, made by hand -----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "Plan/Policy.h"
#include "Plan/Rematerialize.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace ckpt::rt;

namespace {

/// Builds the selected step of one kind; values are spoken of by name.
class KindBuilder {
public:
  KindBuilder(Program &program, std::string name) : program(program) {
    kind.name = std::move(name);
  }

  void state(const std::string &name, TensorType type, bool differentiable) {
    kind.states.push_back({name, type, differentiable});
    kind.results.push_back(type);
    value(name, type, ValueKind::StateIn, int(kind.states.size()) - 1);
  }
  void input(const std::string &name, TensorType type, bool differentiable) {
    kind.inputs.push_back({name, type, differentiable});
    value(name, type, ValueKind::Input, int(kind.inputs.size()) - 1);
  }
  void param(const std::string &name, const std::string &file, TensorType type,
             bool trainable) {
    kind.params.push_back({file, type, trainable});
    value(name, type, ValueKind::Param, int(kind.params.size()) - 1);
  }
  void value(const std::string &name, TensorType type,
             ValueKind valueKind = ValueKind::Temporary, int index = -1) {
    kind.values.push_back({name, type, valueKind, index});
  }

  void op(KernelClass cls, const std::string &symbol,
          const std::vector<std::string> &reads,
          const std::vector<std::string> &writes, Size flops, Scope scope,
          std::vector<std::pair<int, int>> inPlace = {}, Size workspace = 0) {
    Kernel kernel{
        symbol, cls, int(reads.size()), int(writes.size()), workspace, flops,
        0,      {}};
    SelectedOp op;
    for (const std::string &name : reads)
      op.reads.push_back(find(name));
    for (const std::string &name : writes)
      op.writes.push_back(find(name));
    for (int index : op.reads)
      kernel.trafficBytes += kind.values[index].type.bytes();
    for (int index : op.writes)
      kernel.trafficBytes += kind.values[index].type.bytes();
    bool isForward = !backward;
    op.id = (isForward ? "f" : "b") +
            std::to_string(isForward ? kind.ops.size()
                                     : kind.ops.size() - kind.numForwardOps);
    op.kernel = int(program.kernels.size());
    op.inPlace = std::move(inPlace);
    op.scope = scope;
    program.kernels.push_back(kernel);
    kind.ops.push_back(op);
  }
  void beginBackward() {
    backward = true;
    kind.numForwardOps = int(kind.ops.size());
  }

  SavedValue &save(const std::string &name, Scope producer) {
    SavedValue saved;
    saved.name = name;
    saved.value = find(name);
    saved.producer = producer;
    kind.saved.push_back(saved);
    return kind.saved.back();
  }

  BlockKind kind;

private:
  int find(const std::string &name) const {
    for (size_t i = 0; i < kind.values.size(); ++i)
      if (kind.values[i].name == name)
        return int(i);
    std::fprintf(stderr, "no value %s in @%s\n", name.c_str(),
                 kind.name.c_str());
    std::abort();
  }

  Program &program;
  bool backward = false;
};

BlockKind makeDitKind(Program &program, const DitShape &shape) {
  KindBuilder b(program, "dit");
  Size batch = Size::symbol("batch"), image = Size::symbol("image");
  Size rows = batch * image;
  int64_t w = shape.width, hidden = shape.hidden;
  auto act = [&](int64_t width) {
    return TensorType{{batch, image, width}, shape.dtype};
  };
  auto weight = [&](int64_t out, int64_t in) {
    return TensorType{{out, in}, shape.dtype};
  };
  auto bias = [&](int64_t out) { return TensorType{{out}, shape.dtype}; };
  TensorType stats{{batch, image, 2}, DType::F32};
  auto gemm = [&](int64_t n, int64_t k) { return rows * (2 * n * k); };
  Size core = rows * image * (4 * w);
  Scope attention = Scope::Attention, ffn = Scope::Ffn;

  b.state("x", act(w), true);
  b.param("wqkv", "blocks.{i}.qkv.weight", weight(3 * w, w), false);
  b.param("bqkv", "blocks.{i}.qkv.bias", bias(3 * w), false);
  b.param("wo", "blocks.{i}.proj.weight", weight(w, w), false);
  b.param("bo", "blocks.{i}.proj.bias", bias(w), false);
  b.param("w1", "blocks.{i}.fc1.weight", weight(hidden, w), false);
  b.param("b1", "blocks.{i}.fc1.bias", bias(hidden), false);
  b.param("w2", "blocks.{i}.fc2.weight", weight(w, hidden), false);
  b.param("b2", "blocks.{i}.fc2.bias", bias(w), false);
  for (const char *name : {"n", "o", "x1", "n2"})
    b.value(name, act(w));
  b.value("qkv", act(3 * w));
  b.value("a", act(hidden));
  b.value("h", act(hidden));
  b.value("stats1", stats);
  b.value("stats2", stats);
  b.value("lse", {{batch, shape.heads, image}, DType::F32});
  b.value("y", act(w), ValueKind::StateOut, 0);
  b.value("dy", act(w), ValueKind::GradStateOut, 0);
  b.value("dh", act(hidden));
  for (const char *name : {"dn2", "dx1", "do", "dn"})
    b.value(name, act(w));
  b.value("dqkv", act(3 * w));
  b.value("dx", act(w), ValueKind::GradStateIn, 0);

  b.op(KernelClass::RowWise, "norm", {"x"}, {"n", "stats1"}, rows * (8 * w),
       attention, {{0, 0}});
  b.op(KernelClass::Gemm, "gemm_bias", {"n", "wqkv", "bqkv"}, {"qkv"},
       gemm(3 * w, w), attention);
  b.op(KernelClass::AttentionForward, "attention", {"qkv"}, {"o", "lse"}, core,
       attention);
  b.op(KernelClass::Gemm, "gemm_residual_wo", {"o", "wo", "bo", "x"}, {"x1"},
       gemm(w, w), attention, {{3, 0}});
  b.op(KernelClass::RowWise, "norm", {"x1"}, {"n2", "stats2"}, rows * (8 * w),
       ffn, {{0, 0}});
  b.op(KernelClass::Gemm, "gemm_gelu", {"n2", "w1", "b1"}, {"a", "h"},
       gemm(hidden, w), ffn);
  b.op(KernelClass::Gemm, "gemm_residual_w2", {"a", "w2", "b2", "x1"}, {"y"},
       gemm(w, hidden), ffn, {{3, 0}});
  b.beginBackward();
  b.op(KernelClass::Gemm, "gemm_gelu_dx", {"dy", "w2", "h"}, {"dh"},
       gemm(hidden, w), ffn, {{2, 0}});
  b.op(KernelClass::Gemm, "gemm_dx_w1", {"dh", "w1"}, {"dn2"}, gemm(w, hidden),
       ffn);
  b.op(KernelClass::RowWise, "norm_dx_add", {"dn2", "x1", "stats2", "dy"},
       {"dx1"}, rows * (12 * w), ffn, {{0, 0}, {1, 0}, {3, 0}});
  b.op(KernelClass::Gemm, "gemm_dx_wo", {"dx1", "wo"}, {"do"}, gemm(w, w),
       attention);
  b.op(KernelClass::AttentionBackward, "attention_dx",
       {"qkv", "o", "lse", "do"}, {"dqkv"}, rows * image * (10 * w), attention,
       {}, rows * (4 * w));
  b.op(KernelClass::Gemm, "gemm_dx_wqkv", {"dqkv", "wqkv"}, {"dn"},
       gemm(w, 3 * w), attention);
  b.op(KernelClass::RowWise, "norm_dx_add", {"dn", "x", "stats1", "dx1"},
       {"dx"}, rows * (12 * w), attention, {{0, 0}, {1, 0}, {3, 0}});

  SavedValue &x = b.save("x", Scope::None);
  x.state = 0;
  x.attentionOperand = true;
  b.save("stats1", attention);
  b.save("qkv", attention);
  b.save("o", attention).attentionCore = true;
  b.save("lse", attention).attentionCore = true;
  SavedValue &x1 = b.save("x1", attention);
  x1.scopeResult = x1.ffnOperand = true;
  b.save("stats2", ffn);
  b.save("h", ffn);
  b.kind.hasAttention = b.kind.hasFfn = true;
  return b.kind;
}

BlockKind makeAdapterKind(Program &program) {
  KindBuilder b(program, "adapter");
  constexpr int64_t width = 8;
  Size rows = Size::symbol("rows");
  TensorType act{{rows, width}, DType::F32};
  TensorType weight{{width, width}, DType::F32}, row{{1, width}, DType::F32};
  Size flops = rows * (2 * width * width);

  b.state("x", act, false);
  b.input("cond", row, true);
  b.param("w", "blocks.{i}.w", weight, true);
  b.param("bias", "bias", row, true);
  b.value("y", act, ValueKind::StateOut, 0);
  b.value("dy", act, ValueKind::GradStateOut, 0);
  b.value("dx", act, ValueKind::GradStateIn, 0);
  b.value("dcond", row, ValueKind::GradInput, 0);
  b.value("dw", weight, ValueKind::GradParam, 0);
  b.value("dbias", row, ValueKind::GradParamShared, 1);

  b.op(KernelClass::Gemm, "gemm_bias_add", {"x", "w", "bias", "cond"}, {"y"},
       flops, Scope::None);
  b.beginBackward();
  b.op(KernelClass::Gemm, "gemm_dx", {"dy", "w"}, {"dx"}, flops, Scope::None);
  b.op(KernelClass::Gemm, "gemm_dw", {"x", "dy"}, {"dw"}, flops, Scope::None);
  b.op(KernelClass::RowWise, "accumulate_rows", {"dy", "dbias"}, {"dbias"},
       rows * width, Scope::None, {{1, 0}});
  b.op(KernelClass::RowWise, "accumulate_rows", {"dy", "dcond"}, {"dcond"},
       rows * width, Scope::None, {{1, 0}});
  b.save("x", Scope::None).state = 0;

  // The same for the oracle, whose linear takes (out, in) weights. Values: x,
  // cond, w, bias, then one an op.
  Graph &graph = b.kind.graph;
  graph.values = {act, row, weight, row, weight, act, act, act};
  graph.ops = {{"transpose",
                {2},
                {4},
                {{"permutation", std::vector<int64_t>{1, 0}}},
                Scope::None},
               {"linear", {0, 4, -1}, {5}, {}, Scope::None},
               {"add", {5, 3}, {6}, {}, Scope::None},
               {"add", {6, 1}, {7}, {}, Scope::None}};
  graph.results = {7};
  return b.kind;
}

/// One kernel a symbol, as the compiler shares them between launches.
void shareKernels(Program &program) {
  std::vector<Kernel> unique;
  std::vector<int> newIndex;
  for (const Kernel &kernel : program.kernels) {
    auto same =
        std::find_if(unique.begin(), unique.end(), [&](const Kernel &other) {
          return other.symbol == kernel.symbol && other.flops == kernel.flops &&
                 other.trafficBytes == kernel.trafficBytes;
        });
    newIndex.push_back(int(same - unique.begin()));
    if (same == unique.end())
      unique.push_back(kernel);
  }
  for (BlockKind &kind : program.kinds)
    for (SelectedOp &op : kind.ops)
      op.kernel = newIndex[op.kernel];
  program.kernels = std::move(unique);
}

void repeat(Program &program, int blocks) {
  program.stacks.push_back({"model", std::vector<int>(blocks, 0)});
  program.target = "host";
  shareKernels(program);
  fillMenu(program);
}

} // namespace

DitShape ckpt::rt::smallDitShape() { return {32, 2, 64, DType::F32}; }

void ckpt::rt::fillMenu(Program &program) {
  for (size_t k = 0; k < program.kinds.size(); ++k) {
    std::vector<Variant> variants;
    for (const Demand &demand : menuOf(program, int(k))) {
      Result<Variant> variant = makeVariant(program.kinds[k], demand);
      if (!variant.ok()) {
        std::fprintf(stderr, "%s\n", variant.message().c_str());
        std::abort();
      }
      variants.push_back(*variant);
    }
    program.kinds[k].variants = std::move(variants);
  }
}

Program ckpt::rt::makeDitProgram(int blocks, const DitShape &shape) {
  Program program;
  program.sizes = {{"batch", 1}, {"image", std::nullopt}};
  program.kinds.push_back(makeDitKind(program, shape));
  repeat(program, blocks);
  return program;
}

Program ckpt::rt::makeAdapterProgram(int blocks) {
  Program program;
  program.sizes = {{"rows", std::nullopt}};
  program.kinds.push_back(makeAdapterKind(program));
  repeat(program, blocks);
  // An f32 sum into an f32 gradient: the cast only copies.
  Kernel cast{"cast", KernelClass::RowWise, 1, 1, 0, 0, 2 * 8 * 4, {}};
  for (const char *gradient : {"grad.cond", "grad.bias"})
    program.casts.push_back({gradient, int(program.kernels.size())});
  program.kernels.push_back(cast);
  return program;
}
