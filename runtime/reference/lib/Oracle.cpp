//===- Oracle.cpp - outputs and gradients of a program --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

using namespace ckpt::rt;
using at::Tensor;

static bool comesFromCaller(ExternalKind kind) {
  return kind != ExternalKind::Output && kind != ExternalKind::Gradient;
}

static std::string quoted(const std::string &text) { return "'" + text + "'"; }

Oracle::Oracle(Program program, SizeValues sizes, std::vector<BlockRef> blocks)
    : program(std::move(program)), sizes(std::move(sizes)),
      blocks(std::move(blocks)),
      externals(externalsOf(this->program, this->blocks)) {}

Result<std::unique_ptr<Oracle>> Oracle::create(Program program,
                                               std::optional<int64_t> limit,
                                               const SizeValues &sizes,
                                               int threads) {
  Result<SizeValues> bound = bindSizes(program, sizes);
  if (!bound.ok())
    return bound.takeError();
  Result<std::vector<BlockRef>> blocks = blocksOf(program, limit);
  if (!blocks.ok())
    return blocks.takeError();
  if (blocks->empty())
    return Error{"expected at least one block, found none"};
  std::unique_ptr<Oracle> oracle(
      new Oracle(std::move(program), *bound, *blocks));
  for (const External &external : oracle->externals)
    for (const Size &dim : external.type.dims)
      if (dim.evaluate(oracle->sizes).value_or(-1) < 0)
        return Error{"tensor " + quoted(external.name) + ": extent " +
                     dim.str() + " has no value of at least 0"};
  at::set_num_threads(threads);
  return std::move(oracle);
}

Status Oracle::set(const std::string &name, const void *data, size_t bytes) {
  for (const External &external : externals) {
    if (external.name != name || !comesFromCaller(external.kind))
      continue;
    int64_t expected = external.type.bytes().evaluate(sizes).value_or(-1);
    if (static_cast<int64_t>(bytes) != expected)
      return Error{"tensor " + quoted(name) + ": expected " +
                   std::to_string(expected) + " bytes, found " +
                   std::to_string(bytes)};
    given[name] = data;
    return {};
  }
  return Error{"tensor " + quoted(name) +
               ": expected a state, input, parameter or incoming gradient of "
               "the program, found no such"};
}

//===----------------------------------------------------------------------===//
// One pass
//===----------------------------------------------------------------------===//

Tensor Oracle::load(const std::string &name, Arithmetic arithmetic) const {
  for (const External &external : externals)
    if (external.name == name && comesFromCaller(external.kind)) {
      // from_blob wants a pointer to non-const; nothing here writes to it.
      Tensor tensor = at::from_blob(
          const_cast<void *>(given.at(name)), extentsOf(external.type, sizes),
          at::TensorOptions(scalarTypeOf(external.type.dtype)));
      return arithmetic == Arithmetic::Float64 ? tensor.to(at::kDouble)
                                               : tensor;
    }
  TORCH_CHECK(false, "no tensor '", name, "'");
}

std::vector<Tensor> Oracle::valuesOf(size_t block, Arithmetic arithmetic,
                                     std::vector<Tensor> states) const {
  const BlockKind &kind = program.kinds[blocks[block].kind];
  std::vector<Tensor> values = std::move(states);
  for (const Port &port : kind.inputs)
    values.push_back(load(port.name, arithmetic));
  for (const Port &port : kind.params)
    values.push_back(
        load(expandName(port.name, blocks[block].index), arithmetic));
  return values;
}

Result<std::vector<Tensor>> Oracle::runBlock(size_t block,
                                             Arithmetic arithmetic,
                                             std::vector<Tensor> values) const {
  const BlockKind &kind = program.kinds[blocks[block].kind];
  auto results = evaluate(kind.graph, sizes, arithmetic, std::move(values));
  if (!results.ok())
    return Error{"block " + std::to_string(block) + " (" + kind.name + "), " +
                 results.message()};
  return results;
}

Result<Oracle::Tensors> Oracle::runPass(Arithmetic arithmetic,
                                        const Progress &step) const {
  // states[b]: what goes into block b; the last: what leaves the stack.
  std::vector<std::vector<Tensor>> states(blocks.size() + 1);
  for (const Port &port : program.kinds[blocks[0].kind].states)
    states[0].push_back(load(port.name, arithmetic));
  {
    at::NoGradGuard guard;
    for (size_t block = 0; block < blocks.size(); ++block) {
      auto results = runBlock(block, arithmetic,
                              valuesOf(block, arithmetic, states[block]));
      if (!results.ok())
        return results.takeError();
      states[block + 1] = *results;
      step(1, 0);
    }
  }
  Tensors results;
  size_t output = 0;
  bool wantsGradients = false;
  for (const External &external : externals) {
    if (external.kind == ExternalKind::Output)
      results[external.name] = states.back().at(output++);
    wantsGradients |= external.kind == ExternalKind::Gradient;
  }
  if (wantsGradients)
    if (Status status = runBackward(arithmetic, states, step, results);
        !status.ok())
      return Error{status.message()};
  return results;
}

/// Per block, for each of its values: is its gradient computed there? A state's
/// is when anything before the block needs it.
static std::vector<std::vector<bool>>
neededGradients(const Program &program, const std::vector<BlockRef> &blocks) {
  std::vector<std::vector<bool>> needed;
  bool before = false;
  for (const BlockRef &block : blocks) {
    const BlockKind &kind = program.kinds[block.kind];
    bool first = needed.empty();
    std::vector<bool> flags;
    for (const Port &port : kind.states)
      flags.push_back(first ? port.needsGradient : before);
    for (const auto *ports : {&kind.inputs, &kind.params})
      for (const Port &port : *ports)
        flags.push_back(port.needsGradient);
    for (bool flag : flags)
      before |= flag;
    needed.push_back(std::move(flags));
  }
  return needed;
}

Status Oracle::runBackward(Arithmetic arithmetic,
                           const std::vector<std::vector<Tensor>> &states,
                           const Progress &step, Tensors &results) const {
  std::vector<std::vector<bool>> needed = neededGradients(program, blocks);
  // Gradients of the states between blocks; undefined = zero.
  std::vector<Tensor> incoming;
  for (const External &external : externals)
    if (external.kind == ExternalKind::OutputGradient)
      incoming.push_back(load(external.name, arithmetic));
  incoming.resize(states.back().size());
  Tensors gradients;
  for (size_t block = blocks.size(); block-- > 0;) {
    const BlockKind &kind = program.kinds[blocks[block].kind];
    std::vector<Tensor> values = valuesOf(block, arithmetic, states[block]);
    std::vector<Tensor> leaves;
    std::vector<size_t> leafIndices;
    for (size_t i = 0; i < values.size(); ++i) {
      // A leaf of this block's graph alone.
      values[i] = values[i].detach();
      if (!needed[block][i])
        continue;
      values[i].requires_grad_();
      leaves.push_back(values[i]);
      leafIndices.push_back(i);
    }
    std::vector<Tensor> made(leaves.size());
    if (!leaves.empty()) {
      auto blockResults = runBlock(block, arithmetic, std::move(values));
      if (!blockResults.ok())
        return blockResults.takeError();
      std::vector<Tensor> outputs, weights;
      for (size_t i = 0; i < blockResults->size(); ++i)
        if (incoming[i].defined() && (*blockResults)[i].requires_grad()) {
          outputs.push_back((*blockResults)[i]);
          weights.push_back(incoming[i]);
        }
      if (!outputs.empty())
        made = torch::autograd::grad(outputs, leaves, weights,
                                     /*retain_graph=*/std::nullopt,
                                     /*create_graph=*/false,
                                     /*allow_unused=*/true);
    }
    incoming.assign(kind.states.size(), Tensor());
    for (size_t i = 0; i < made.size(); ++i) {
      size_t index = leafIndices[i], firstInput = kind.states.size(),
             firstParam = firstInput + kind.inputs.size();
      if (index < firstInput) {
        incoming[index] = made[i];
        if (block != 0)
          continue;
      }
      std::string name = index < firstInput ? kind.states[index].name
                         : index < firstParam
                             ? kind.inputs[index - firstInput].name
                             : expandName(kind.params[index - firstParam].name,
                                          blocks[block].index);
      // Summed over the blocks in the tensor's own type, as autograd does.
      Tensor &sum = gradients["grad." + name];
      if (made[i].defined())
        sum = sum.defined() ? sum + made[i] : made[i];
    }
    step(1, 0);
  }
  for (const External &external : externals) {
    if (external.kind != ExternalKind::Gradient)
      continue;
    Tensor &gradient = gradients[external.name];
    if (!gradient.defined())
      gradient = at::zeros(extentsOf(external.type, sizes), at::kDouble);
    results[external.name] = gradient;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Both passes, and comparing
//===----------------------------------------------------------------------===//

/// Relative Frobenius error, absolute where the reference is zero.
static double errorOf(const Tensor &tensor, const Tensor &reference) {
  double distance = (tensor.to(at::kDouble) - reference).norm().item<double>();
  double norm = reference.norm().item<double>();
  return norm == 0 ? distance : distance / norm;
}

Status Oracle::run(const Progress &progress) {
  int64_t total = 2 * static_cast<int64_t>(blocks.size()), done = 0;
  for (const External &external : externals) {
    if (comesFromCaller(external.kind) && !given.count(external.name))
      return Error{"tensor " + quoted(external.name) + " was not given"};
    if (external.kind == ExternalKind::Gradient)
      total = 4 * static_cast<int64_t>(blocks.size());
  }
  auto step = [&](int64_t steps, int64_t) {
    done += steps;
    if (progress)
      progress(done, total);
  };
  reference.clear();
  yardstick.clear();
  try {
    Result<Tensors> exact = runPass(Arithmetic::Float64, step);
    if (!exact.ok())
      return exact.takeError();
    Result<Tensors> own = runPass(Arithmetic::Declared, step);
    if (!own.ok())
      return own.takeError();
    for (const auto &[name, tensor] : *exact) {
      yardstick[name] = errorOf(own->at(name), tensor);
      reference[name] = tensor.contiguous();
    }
  } catch (const c10::Error &error) {
    return Error{std::string("the reference failed: ") +
                 error.what_without_backtrace()};
  } catch (const std::exception &error) {
    return Error{std::string("the reference failed: ") + error.what()};
  }
  return {};
}

Result<const External *> Oracle::findResult(const std::string &name) const {
  for (const External &external : externals)
    if (external.name == name && !comesFromCaller(external.kind)) {
      if (!reference.count(name))
        return Error{"tensor " + quoted(name) +
                     ": the reference has not been run"};
      return &external;
    }
  return Error{"tensor " + quoted(name) +
               ": expected an output or a gradient of the program, found no "
               "such"};
}

static double boundOf(DType dtype, double pytorchError) {
  switch (dtype) {
  case DType::F32:
    return 3 * pytorchError + 0x1p-17;
  case DType::BF16:
    return 1.5 * pytorchError + 0x1p-10;
  case DType::F16:
    return 1.5 * pytorchError + 0x1p-13;
  }
  return 0;
}

Result<Comparison> Oracle::compare(const std::string &name, const void *data,
                                   size_t bytes) const {
  Result<const External *> external = findResult(name);
  if (!external.ok())
    return external.takeError();
  const TensorType &type = (*external)->type;
  int64_t expected = type.bytes().evaluate(sizes).value_or(-1);
  if (static_cast<int64_t>(bytes) != expected)
    return Error{"tensor " + quoted(name) + ": expected " +
                 std::to_string(expected) + " bytes, found " +
                 std::to_string(bytes)};
  Comparison comparison;
  try {
    comparison.error =
        errorOf(at::from_blob(const_cast<void *>(data), extentsOf(type, sizes),
                              at::TensorOptions(scalarTypeOf(type.dtype))),
                reference.at(name));
  } catch (const std::exception &error) {
    return Error{"tensor " + quoted(name) +
                 ": the comparison failed: " + error.what()};
  }
  comparison.pytorchError = yardstick.at(name);
  comparison.bound = boundOf(type.dtype, comparison.pytorchError);
  // False for NaN: a value that is not finite never passes.
  comparison.passed = comparison.error <= comparison.bound;
  return comparison;
}

Result<Tensor> Oracle::values(const std::string &name) const {
  Result<const External *> external = findResult(name);
  if (!external.ok())
    return external.takeError();
  return reference.at(name);
}
