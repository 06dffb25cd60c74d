//===- Validate.cpp - a program that cannot lead out of range -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Artifact.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

/// Collects the first fault; later ones are its consequences.
class Validator {
public:
  explicit Validator(const Program &program) : program(program) {
    for (const NamedSize &size : program.sizes)
      names.insert(size.name);
  }

  Status run();

private:
  void index(const std::string &what, int64_t index, size_t count,
             int64_t least = 0) {
    if (index < least || index >= int64_t(count))
      fail(what, "an index below " + std::to_string(count),
           std::to_string(index));
  }
  void length(const std::string &what, size_t expected, size_t found) {
    if (expected != found)
      fail(what, std::to_string(expected) + " entries", std::to_string(found));
  }
  void size(const std::string &what, const Size &size) {
    std::set<std::string> used;
    size.collectNames(used);
    for (const std::string &name : used)
      if (!names.count(name))
        fail(what, "declared sizes only", name);
  }
  /// The number of multiprocessors is a size that the device declares.
  void formula(const std::string &what, const Formula &formula) {
    std::set<std::string> used;
    formula.collectNames(used);
    for (const std::string &name : used)
      if (name != multiprocessors && !names.count(name))
        fail(what, "declared sizes only", name);
  }
  void type(const std::string &what, const TensorType &type) {
    for (const Size &dim : type.dims)
      size(what, dim);
  }
  void fail(const std::string &what, const std::string &expected,
            const std::string &found) {
    if (message.empty())
      message = "the artifact's " + what + ": expected " + expected +
                ", found " + found;
  }

  void checkGraph(const BlockKind &kind);
  void checkPorts(const BlockKind &kind);
  void checkValue(const BlockKind &kind, const Value &value);
  void checkOps(const BlockKind &kind);
  void checkSteps(const BlockKind &kind, const std::vector<VariantStep> &steps,
                  int firstOp, size_t endOp);
  void checkVariant(const BlockKind &kind, const Variant &variant);
  void checkKind(const BlockKind &kind);
  void checkFunction(const GpuFunction &function);
  void checkMap(const std::string &what, const LaunchArgument &argument);
  void checkLaunch(const Kernel &kernel, const GpuLaunch &launch);
  void checkKernel(const Kernel &kernel);

  const Program &program;
  std::set<std::string> names;
  std::string message;
};

void Validator::checkGraph(const BlockKind &kind) {
  const std::string in = "graph of @" + kind.name;
  size_t count = kind.graph.values.size();
  for (const TensorType &value : kind.graph.values)
    type(in, value);
  for (const GraphOp &op : kind.graph.ops) {
    for (int operand : op.operands)
      index("operand of " + op.name + " in the " + in, operand, count, -1);
    for (int result : op.results)
      index("result of " + op.name + " in the " + in, result, count);
  }
  for (int result : kind.graph.results)
    index("result of the " + in, result, count);
}

void Validator::checkPorts(const BlockKind &kind) {
  length("results of @" + kind.name, kind.states.size(), kind.results.size());
  for (auto *ports : {&kind.states, &kind.inputs, &kind.params})
    for (const Port &port : *ports) {
      type(port.name, port.type);
      if (port.encoding != "dense")
        fail("encoding of " + port.name, "dense", port.encoding);
    }
  for (const TensorType &result : kind.results)
    type("results of @" + kind.name, result);
}

void Validator::checkValue(const BlockKind &kind, const Value &value) {
  const std::string what = "value " + value.name + " of @" + kind.name;
  type(what, value.type);
  std::vector<TensorType> types;
  auto typesOf = [&](const std::vector<Port> &ports) {
    for (const Port &port : ports)
      types.push_back(port.type);
  };
  switch (value.kind) {
  case ValueKind::Temporary:
    return;
  case ValueKind::StateIn:
  case ValueKind::GradStateIn:
    typesOf(kind.states);
    break;
  case ValueKind::StateOut:
  case ValueKind::GradStateOut:
    types = kind.results;
    break;
  case ValueKind::Input:
  case ValueKind::GradInput:
    typesOf(kind.inputs);
    break;
  case ValueKind::Param:
  case ValueKind::GradParam:
  case ValueKind::GradParamShared:
    typesOf(kind.params);
    break;
  }
  index(what, value.index, types.size());
  if (!message.empty())
    return;
  TensorType expected = types[value.index];
  // Sums over the blocks are f32 whatever the caller's dtype.
  if (value.kind == ValueKind::GradInput ||
      value.kind == ValueKind::GradParamShared)
    expected.dtype = DType::F32;
  if (!(value.type == expected))
    fail(what, expected.str(), value.type.str());
}

void Validator::checkOps(const BlockKind &kind) {
  index("number of forward ops of @" + kind.name, kind.numForwardOps,
        kind.ops.size() + 1);
  for (const SelectedOp &op : kind.ops) {
    const std::string what = "op " + op.id + " of @" + kind.name;
    index("kernel of " + what, op.kernel, program.kernels.size());
    for (int value : op.reads)
      index("reads of " + what, value, kind.values.size());
    for (int value : op.writes)
      index("writes of " + what, value, kind.values.size());
    for (auto [read, write] : op.inPlace) {
      index("in place reads of " + what, read, op.reads.size());
      index("in place writes of " + what, write, op.writes.size());
    }
    if (!message.empty())
      return;
    const Kernel &kernel = program.kernels[op.kernel];
    length("reads of " + what, size_t(kernel.numReads), op.reads.size());
    length("writes of " + what, size_t(kernel.numWrites), op.writes.size());
  }
}

void Validator::checkSteps(const BlockKind &kind,
                           const std::vector<VariantStep> &steps, int firstOp,
                           size_t endOp) {
  const std::string what = "variant step of @" + kind.name;
  for (const VariantStep &step : steps) {
    if (step.kind != VariantStep::Kind::Launch) {
      index(what, step.index, kind.saved.size());
      continue;
    }
    index(what, step.index, endOp, firstOp);
    if (message.empty())
      length("writes of a " + what, kind.ops[step.index].writes.size(),
             step.writes.size());
  }
}

void Validator::checkVariant(const BlockKind &kind, const Variant &variant) {
  const std::string what = " of a variant of @" + kind.name;
  const Demand &demand = variant.demand;
  length("fates" + what, kind.saved.size(), demand.fates.size());
  length("replay flags" + what, kind.results.size(),
         demand.replayResults.size());
  length("gradient flags" + what, kind.states.size(),
         demand.stateGradients.size());
  checkSteps(kind, variant.forward, 0, size_t(kind.numForwardOps));
  checkSteps(kind, variant.replay, 0, size_t(kind.numForwardOps));
  checkSteps(kind, variant.backward, kind.numForwardOps, kind.ops.size());
}

void Validator::checkKind(const BlockKind &kind) {
  checkGraph(kind);
  checkPorts(kind);
  for (const Value &value : kind.values)
    checkValue(kind, value);
  checkOps(kind);
  std::set<int> savedValues;
  for (const SavedValue &saved : kind.saved) {
    const std::string what = "saved value " + saved.name + " of @" + kind.name;
    index(what, saved.value, kind.values.size());
    index("state of " + what, saved.state, kind.states.size(), -1);
    if (!savedValues.insert(saved.value).second)
      fail(what, "each value saved once", "it saved twice");
  }
  for (const Variant &variant : kind.variants)
    if (message.empty())
      checkVariant(kind, variant);
}

void Validator::checkFunction(const GpuFunction &function) {
  const std::string in = "GPU function " + function.symbol;
  auto number = [&](const char *what, int found, int least, int most) {
    if (found < least || found > most)
      fail(what + (" of " + in),
           std::to_string(least) + " to " + std::to_string(most),
           std::to_string(found));
  };
  number("threads", function.threads, 1, 1024);
  number("cluster", function.cluster, 1, 8);
  number("shared bytes", function.sharedBytes, 0, 1 << 20);
  if (function.ptx.empty())
    fail("PTX of " + in, "a text", "none");
}

void Validator::checkMap(const std::string &what,
                         const LaunchArgument &argument) {
  size_t rank = argument.extents.size();
  if (rank < 1 || rank > 5)
    fail("extents of " + what, "1 to 5 entries", std::to_string(rank));
  length("strides of " + what, rank - 1, argument.strides.size());
  length("box of " + what, rank, argument.box.size());
  for (auto *formulas : {&argument.extents, &argument.strides})
    for (const Formula &one : *formulas)
      formula(what, one);
  for (int extent : argument.box)
    if (extent < 1 || extent > 256)
      fail("box of " + what, "1 to 256 elements", std::to_string(extent));
  int swizzle = argument.swizzle;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    fail("swizzle of " + what, "0, 32, 64 or 128", std::to_string(swizzle));
}

void Validator::checkLaunch(const Kernel &kernel, const GpuLaunch &launch) {
  const std::string of = "kernel " + kernel.symbol;
  index("function of " + of, launch.function, program.functions.size(), -1);
  for (const Formula *one :
       {&launch.gridX, &launch.gridY, &launch.gridZ, &launch.fillBytes})
    formula("launch of " + of, *one);
  for (const LaunchArgument &argument : launch.arguments) {
    const std::string what = "launch argument of " + of;
    formula(what, argument.offset);
    formula(what, argument.value);
    if (argument.kind != LaunchArgument::Kind::Pointer &&
        argument.kind != LaunchArgument::Kind::Map)
      continue;
    index(what, argument.argument, size_t(kernel.numReads + kernel.numWrites),
          -1);
    if (argument.kind == LaunchArgument::Kind::Map)
      checkMap("map of " + of, argument);
  }
  if (launch.function < 0 &&
      (launch.arguments.size() != 1 ||
       launch.arguments[0].kind != LaunchArgument::Kind::Pointer))
    fail("fill of " + of, "one pointer", "other arguments");
}

void Validator::checkKernel(const Kernel &kernel) {
  const std::string what = "kernel " + kernel.symbol;
  for (const Size *formula :
       {&kernel.workspaceBytes, &kernel.flops, &kernel.trafficBytes})
    size(what, *formula);
  if (kernel.numReads < 0 || kernel.numWrites < 0) {
    fail(what, "no negative count", "one");
    return;
  }
  if (!program.functions.empty() && kernel.alternatives.empty())
    fail(what, "a way to run it", "none");
  for (const Alternative &alternative : kernel.alternatives) {
    formula("cost of " + what, alternative.cost);
    for (const GpuLaunch &launch : alternative.launches)
      checkLaunch(kernel, launch);
  }
}

Status Validator::run() {
  if (program.target != "host" && program.target != "nvptx")
    fail("target", "host or nvptx", program.target);
  for (const GpuFunction &function : program.functions)
    checkFunction(function);
  for (const Kernel &kernel : program.kernels)
    checkKernel(kernel);
  for (const BlockKind &kind : program.kinds)
    if (message.empty())
      checkKind(kind);
  for (const Stack &stack : program.stacks)
    for (int kind : stack.blocks)
      index("block of stack @" + stack.name, kind, program.kinds.size());
  for (const GradientCast &cast : program.casts)
    index("cast of " + cast.gradient, cast.kernel, program.kernels.size());
  if (message.empty())
    return {};
  return Error{message};
}

} // namespace

Status ckpt::rt::validate(const Program &program) {
  return Validator(program).run();
}
