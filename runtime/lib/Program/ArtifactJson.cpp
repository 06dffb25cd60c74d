//===- ArtifactJson.cpp - a program as a JSON value -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// One pair of functions a structure, fields under their own names; sizes and
// enumerators as text. What comes in may be anything: every mismatch throws.
//
//===----------------------------------------------------------------------===//

#include "Program/ArtifactJson.h"

#include <stdexcept>

using nlohmann::json;
using namespace ckpt::rt;

namespace {

/// The enumerator of that name among the first `count`.
template <typename Enum>
Enum enumFrom(const json &j, int count) {
  std::string name = j.get<std::string>();
  for (int i = 0; i < count; ++i)
    if (name == nameOf(Enum(i)))
      return Enum(i);
  throw std::runtime_error("the unknown name " + name);
}

/// Enumerators without names are numbers.
template <typename Enum>
Enum numberedFrom(const json &j, Enum last) {
  int number = j.get<int>();
  if (number < 0 || number > int(last))
    throw std::runtime_error("the enumerator " + std::to_string(number));
  return Enum(number);
}

json bytesTo(const void *data, size_t size) {
  const auto *begin = static_cast<const uint8_t *>(data);
  return json::binary(std::vector<uint8_t>(begin, begin + size));
}

template <typename T>
json optionalTo(const std::optional<T> &value) {
  return value ? json(*value) : json();
}

template <typename T>
std::optional<T> optionalFrom(const json &j) {
  if (j.is_null())
    return std::nullopt;
  return j.get<T>();
}

} // namespace

// nlohmann finds these by the namespace of their types.
namespace ckpt::rt {

static void to_json(json &j, const Size &size) { j = size.str(); }
static void from_json(const json &j, Size &size) {
  std::optional<Size> parsed = Size::parse(j.get<std::string>());
  if (!parsed)
    throw std::runtime_error("no size formula: " + j.get<std::string>());
  size = *parsed;
}

static void to_json(json &j, const Formula &formula) { j = formula.str(); }
static void from_json(const json &j, Formula &formula) {
  std::optional<Formula> parsed = Formula::parse(j.get<std::string>());
  if (!parsed)
    throw std::runtime_error("no formula: " + j.get<std::string>());
  formula = *parsed;
}

static void to_json(json &j, const TensorType &type) {
  j = {{"dims", type.dims}, {"dtype", nameOf(type.dtype)}};
}
static void from_json(const json &j, TensorType &type) {
  j.at("dims").get_to(type.dims);
  type.dtype = enumFrom<DType>(j.at("dtype"), 3);
}

static void to_json(json &j, const NamedSize &size) {
  j = {{"name", size.name}, {"default", optionalTo(size.defaultValue)}};
}
static void from_json(const json &j, NamedSize &size) {
  j.at("name").get_to(size.name);
  size.defaultValue = optionalFrom<int64_t>(j.at("default"));
}

static void from_json(const json &j, Attribute &attribute) {
  if (j.is_number_float())
    attribute = j.get<double>();
  else if (j.is_number_integer())
    attribute = j.get<int64_t>();
  else if (j.is_string())
    attribute = j.get<std::string>();
  else
    attribute = j.get<std::vector<int64_t>>();
}

static void to_json(json &j, const GraphOp &op) {
  json attributes = json::object();
  for (auto &[name, value] : op.attributes)
    attributes[name] = std::visit([](auto &v) { return json(v); }, value);
  j = {{"name", op.name},
       {"operands", op.operands},
       {"results", op.results},
       {"attributes", attributes},
       {"scope", nameOf(op.scope)}};
}
static void from_json(const json &j, GraphOp &op) {
  j.at("name").get_to(op.name);
  j.at("operands").get_to(op.operands);
  j.at("results").get_to(op.results);
  for (auto &[name, value] : j.at("attributes").items())
    from_json(value, op.attributes[name]);
  op.scope = enumFrom<Scope>(j.at("scope"), 3);
}

static void to_json(json &j, const Graph &graph) {
  j = {
      {"values", graph.values}, {"ops", graph.ops}, {"results", graph.results}};
}
static void from_json(const json &j, Graph &graph) {
  j.at("values").get_to(graph.values);
  j.at("ops").get_to(graph.ops);
  j.at("results").get_to(graph.results);
}

static void to_json(json &j, const Port &port) {
  j = {{"name", port.name},
       {"type", port.type},
       {"needsGradient", port.needsGradient},
       {"encoding", port.encoding}};
}
static void from_json(const json &j, Port &port) {
  j.at("name").get_to(port.name);
  j.at("type").get_to(port.type);
  j.at("needsGradient").get_to(port.needsGradient);
  j.at("encoding").get_to(port.encoding);
}

static void to_json(json &j, const Value &value) {
  j = {{"name", value.name},
       {"type", value.type},
       {"kind", int(value.kind)},
       {"index", value.index}};
}
static void from_json(const json &j, Value &value) {
  j.at("name").get_to(value.name);
  j.at("type").get_to(value.type);
  value.kind = numberedFrom(j.at("kind"), ValueKind::GradParamShared);
  j.at("index").get_to(value.index);
}

static void to_json(json &j, const GpuFunction &function) {
  j = {{"symbol", function.symbol},
       {"ptx", bytesTo(function.ptx.data(), function.ptx.size())},
       {"cubin", bytesTo(function.cubin.data(), function.cubin.size())},
       {"threads", function.threads},
       {"cluster", function.cluster},
       {"sharedBytes", function.sharedBytes}};
}
static void from_json(const json &j, GpuFunction &function) {
  j.at("symbol").get_to(function.symbol);
  const std::vector<uint8_t> &ptx = j.at("ptx").get_binary();
  function.ptx.assign(ptx.begin(), ptx.end());
  function.cubin = j.at("cubin").get_binary();
  j.at("threads").get_to(function.threads);
  j.at("cluster").get_to(function.cluster);
  j.at("sharedBytes").get_to(function.sharedBytes);
}

static void to_json(json &j, const LaunchArgument &argument) {
  using Kind = LaunchArgument::Kind;
  j = {{"kind", int(argument.kind)}};
  switch (argument.kind) {
  case Kind::Map:
    j["extents"] = argument.extents;
    j["strides"] = argument.strides;
    j["box"] = argument.box;
    j["dtype"] = nameOf(argument.dtype);
    j["swizzle"] = argument.swizzle;
    [[fallthrough]];
  case Kind::Pointer:
    j["argument"] = argument.argument;
    j["offset"] = argument.offset;
    return;
  case Kind::Int32:
  case Kind::Int64:
    j["value"] = argument.value;
    return;
  case Kind::Float32:
    j["number"] = argument.number;
    return;
  }
}
static void from_json(const json &j, LaunchArgument &argument) {
  using Kind = LaunchArgument::Kind;
  argument.kind = numberedFrom(j.at("kind"), Kind::Float32);
  switch (argument.kind) {
  case Kind::Map:
    j.at("extents").get_to(argument.extents);
    j.at("strides").get_to(argument.strides);
    j.at("box").get_to(argument.box);
    argument.dtype = enumFrom<DType>(j.at("dtype"), 3);
    j.at("swizzle").get_to(argument.swizzle);
    [[fallthrough]];
  case Kind::Pointer:
    j.at("argument").get_to(argument.argument);
    j.at("offset").get_to(argument.offset);
    return;
  case Kind::Int32:
  case Kind::Int64:
    j.at("value").get_to(argument.value);
    return;
  case Kind::Float32:
    j.at("number").get_to(argument.number);
    return;
  }
}

static void to_json(json &j, const GpuLaunch &launch) {
  j = {{"function", launch.function},
       {"grid", {launch.gridX, launch.gridY, launch.gridZ}},
       {"arguments", launch.arguments},
       {"fillBytes", launch.fillBytes}};
}
static void from_json(const json &j, GpuLaunch &launch) {
  j.at("function").get_to(launch.function);
  j.at("grid").at(0).get_to(launch.gridX);
  j.at("grid").at(1).get_to(launch.gridY);
  j.at("grid").at(2).get_to(launch.gridZ);
  j.at("arguments").get_to(launch.arguments);
  j.at("fillBytes").get_to(launch.fillBytes);
}

static void to_json(json &j, const Alternative &alternative) {
  j = {{"name", alternative.name},
       {"cost", alternative.cost},
       {"launches", alternative.launches}};
}
static void from_json(const json &j, Alternative &alternative) {
  j.at("name").get_to(alternative.name);
  j.at("cost").get_to(alternative.cost);
  j.at("launches").get_to(alternative.launches);
}

static void to_json(json &j, const Kernel &kernel) {
  j = {{"symbol", kernel.symbol},
       {"class", nameOf(kernel.cls)},
       {"numReads", kernel.numReads},
       {"numWrites", kernel.numWrites},
       {"workspaceBytes", kernel.workspaceBytes},
       {"flops", kernel.flops},
       {"trafficBytes", kernel.trafficBytes},
       {"alternatives", kernel.alternatives}};
}
static void from_json(const json &j, Kernel &kernel) {
  j.at("symbol").get_to(kernel.symbol);
  kernel.cls = enumFrom<KernelClass>(j.at("class"), 4);
  j.at("numReads").get_to(kernel.numReads);
  j.at("numWrites").get_to(kernel.numWrites);
  j.at("workspaceBytes").get_to(kernel.workspaceBytes);
  j.at("flops").get_to(kernel.flops);
  j.at("trafficBytes").get_to(kernel.trafficBytes);
  j.at("alternatives").get_to(kernel.alternatives);
}

static void to_json(json &j, const SelectedOp &op) {
  j = {{"id", op.id},           {"kernel", op.kernel},
       {"reads", op.reads},     {"writes", op.writes},
       {"inPlace", op.inPlace}, {"scope", nameOf(op.scope)}};
}
static void from_json(const json &j, SelectedOp &op) {
  j.at("id").get_to(op.id);
  j.at("kernel").get_to(op.kernel);
  j.at("reads").get_to(op.reads);
  j.at("writes").get_to(op.writes);
  j.at("inPlace").get_to(op.inPlace);
  op.scope = enumFrom<Scope>(j.at("scope"), 3);
}

static void to_json(json &j, const SavedValue &saved) {
  j = {{"name", saved.name},
       {"value", saved.value},
       {"state", saved.state},
       {"producer", nameOf(saved.producer)},
       {"scopeResult", saved.scopeResult},
       {"attentionOperand", saved.attentionOperand},
       {"ffnOperand", saved.ffnOperand},
       {"attentionCore", saved.attentionCore}};
}
static void from_json(const json &j, SavedValue &saved) {
  j.at("name").get_to(saved.name);
  j.at("value").get_to(saved.value);
  j.at("state").get_to(saved.state);
  saved.producer = enumFrom<Scope>(j.at("producer"), 3);
  j.at("scopeResult").get_to(saved.scopeResult);
  j.at("attentionOperand").get_to(saved.attentionOperand);
  j.at("ffnOperand").get_to(saved.ffnOperand);
  j.at("attentionCore").get_to(saved.attentionCore);
}

static void to_json(json &j, const Demand &demand) {
  json fates = json::array();
  for (Fate fate : demand.fates)
    fates.push_back(nameOf(fate));
  j = {{"fates", fates},
       {"replayResults", demand.replayResults},
       {"stateGradients", demand.stateGradients}};
}
static void from_json(const json &j, Demand &demand) {
  for (const json &fate : j.at("fates"))
    demand.fates.push_back(enumFrom<Fate>(fate, 4));
  j.at("replayResults").get_to(demand.replayResults);
  j.at("stateGradients").get_to(demand.stateGradients);
}

static void to_json(json &j, const VariantStep &step) {
  j = {{"kind", int(step.kind)}, {"index", step.index}};
  if (step.kind == VariantStep::Kind::Launch)
    j["writes"] = step.writes;
}
static void from_json(const json &j, VariantStep &step) {
  step.kind = numberedFrom(j.at("kind"), VariantStep::Kind::CopyIn);
  j.at("index").get_to(step.index);
  if (step.kind == VariantStep::Kind::Launch)
    j.at("writes").get_to(step.writes);
}

static void to_json(json &j, const Variant &variant) {
  j = {{"demand", variant.demand},
       {"forward", variant.forward},
       {"replay", variant.replay},
       {"backward", variant.backward}};
}
static void from_json(const json &j, Variant &variant) {
  j.at("demand").get_to(variant.demand);
  j.at("forward").get_to(variant.forward);
  j.at("replay").get_to(variant.replay);
  j.at("backward").get_to(variant.backward);
}

static void to_json(json &j, const BlockKind &kind) {
  j = {{"name", kind.name},
       {"states", kind.states},
       {"inputs", kind.inputs},
       {"params", kind.params},
       {"results", kind.results},
       {"hasAttention", kind.hasAttention},
       {"hasFfn", kind.hasFfn},
       {"graph", kind.graph},
       {"values", kind.values},
       {"ops", kind.ops},
       {"numForwardOps", kind.numForwardOps},
       {"saved", kind.saved},
       {"variants", kind.variants}};
}
static void from_json(const json &j, BlockKind &kind) {
  j.at("name").get_to(kind.name);
  j.at("states").get_to(kind.states);
  j.at("inputs").get_to(kind.inputs);
  j.at("params").get_to(kind.params);
  j.at("results").get_to(kind.results);
  j.at("hasAttention").get_to(kind.hasAttention);
  j.at("hasFfn").get_to(kind.hasFfn);
  j.at("graph").get_to(kind.graph);
  j.at("values").get_to(kind.values);
  j.at("ops").get_to(kind.ops);
  j.at("numForwardOps").get_to(kind.numForwardOps);
  j.at("saved").get_to(kind.saved);
  j.at("variants").get_to(kind.variants);
}

static void to_json(json &j, const Stack &stack) {
  j = {{"name", stack.name}, {"blocks", stack.blocks}};
}
static void from_json(const json &j, Stack &stack) {
  j.at("name").get_to(stack.name);
  j.at("blocks").get_to(stack.blocks);
}

static void to_json(json &j, const Controls &controls) {
  j = {{"backend", nameOf(controls.backend)},
       {"interval", optionalTo(controls.interval)},
       {"segmentStride", optionalTo(controls.segmentStride)},
       {"attentionOnce", controls.attentionOnce},
       {"offloadAttention", controls.offloadAttention},
       {"pinMemoryMaxBuckets", optionalTo(controls.pinMemoryMaxBuckets)}};
}
static void from_json(const json &j, Controls &controls) {
  controls.backend = enumFrom<Backend>(j.at("backend"), 5);
  controls.interval = optionalFrom<int64_t>(j.at("interval"));
  controls.segmentStride = optionalFrom<int64_t>(j.at("segmentStride"));
  j.at("attentionOnce").get_to(controls.attentionOnce);
  j.at("offloadAttention").get_to(controls.offloadAttention);
  controls.pinMemoryMaxBuckets =
      optionalFrom<int64_t>(j.at("pinMemoryMaxBuckets"));
}

static void to_json(json &j, const GradientCast &cast) {
  j = {{"gradient", cast.gradient}, {"kernel", cast.kernel}};
}
static void from_json(const json &j, GradientCast &cast) {
  j.at("gradient").get_to(cast.gradient);
  j.at("kernel").get_to(cast.kernel);
}

} // namespace ckpt::rt

json ckpt::rt::programToJson(const Program &program) {
  return {{"sizes", program.sizes},
          {"kinds", program.kinds},
          {"stacks", program.stacks},
          {"kernels", program.kernels},
          {"casts", program.casts},
          {"defaults", program.defaults},
          {"target", program.target},
          {"chip", program.chip},
          {"functions", program.functions},
          {"deterministic", program.deterministic}};
}

Program ckpt::rt::programFromJson(const json &j) {
  Program program;
  j.at("sizes").get_to(program.sizes);
  j.at("kinds").get_to(program.kinds);
  j.at("stacks").get_to(program.stacks);
  j.at("kernels").get_to(program.kernels);
  j.at("casts").get_to(program.casts);
  j.at("defaults").get_to(program.defaults);
  j.at("target").get_to(program.target);
  j.at("chip").get_to(program.chip);
  j.at("functions").get_to(program.functions);
  j.at("deterministic").get_to(program.deterministic);
  return program;
}
