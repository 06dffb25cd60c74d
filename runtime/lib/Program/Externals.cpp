//===- Externals.cpp - the tensors that the caller owns -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Externals.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

std::string describe(const Program &program, const BlockRef &ref) {
  return "block " + std::to_string(ref.index) + " of stack @" +
         program.stacks[ref.stack].name + " (@" + program.kinds[ref.kind].name +
         ")";
}

Status checkNeighbours(const Program &program, const BlockRef &before,
                       const BlockRef &after) {
  const BlockKind &from = program.kinds[before.kind];
  const BlockKind &to = program.kinds[after.kind];
  if (from.results.size() != to.states.size())
    return Error{describe(program, after) + ": expected " +
                 std::to_string(to.states.size()) + " states, found " +
                 std::to_string(from.results.size()) + " results of " +
                 describe(program, before)};
  for (size_t i = 0; i < to.states.size(); ++i)
    if (!(from.results[i] == to.states[i].type))
      return Error{describe(program, after) + ": expected state " +
                   to.states[i].name + " to be " + to.states[i].type.str() +
                   ", found " + from.results[i].str() + " as result of " +
                   describe(program, before)};
  return {};
}

/// What a name was first used for.
struct Use {
  const Port *port;
  BlockRef ref;
};
using Uses = std::map<std::string, Use>;

// One name is one tensor, so all its uses must agree.
Status checkUse(const Program &program, Uses &uses, const std::string &name,
                const Port &port, const BlockRef &ref, bool mayRepeatGradient) {
  auto [found, isNew] = uses.insert({name, {&port, ref}});
  if (isNew)
    return {};
  const Port &first = *found->second.port;
  std::string where = describe(program, ref) + ": expected " + name;
  std::string other = describe(program, found->second.ref);
  if (!(first.type == port.type))
    return Error{where + " to be " + first.type.str() + " as in " + other +
                 ", found " + port.type.str()};
  if (first.needsGradient != port.needsGradient)
    return Error{where + (first.needsGradient ? " to need" : " to need no") +
                 " gradient as in " + other + ", found the opposite"};
  if (port.needsGradient && !mayRepeatGradient)
    return Error{where + " to be trained by one block, found " + other +
                 " too; give the stacks different parameter names"};
  return {};
}

bool isShared(const std::string &name) {
  return name.find("{i}") == std::string::npos;
}

} // namespace

std::string ckpt::rt::expandName(const std::string &name, int64_t index) {
  std::string text = name;
  std::string digits = std::to_string(index);
  for (size_t at = 0; (at = text.find("{i}", at)) != std::string::npos;
       at += digits.size())
    text.replace(at, 3, digits);
  return text;
}

Result<std::vector<BlockRef>> ckpt::rt::blocksOf(const Program &program,
                                                 std::optional<int64_t> limit) {
  if (limit && *limit < 1)
    return Error{"--blocks: expected at least 1, found " +
                 std::to_string(*limit)};
  std::vector<BlockRef> blocks;
  Uses inputs, params;
  for (size_t s = 0; s < program.stacks.size(); ++s) {
    const Stack &stack = program.stacks[s];
    int64_t count = stack.blocks.size();
    if (limit)
      count = std::min(count, *limit);
    for (int i = 0; i < count; ++i) {
      BlockRef ref{int(s), i, stack.blocks[i]};
      const BlockKind &kind = program.kinds[ref.kind];
      if (!blocks.empty())
        if (Status status = checkNeighbours(program, blocks.back(), ref);
            !status.ok())
          return Error{status.message()};
      for (const Port &port : kind.inputs)
        if (Status status =
                checkUse(program, inputs, port.name, port, ref, true);
            !status.ok())
          return Error{status.message()};
      for (const Port &port : kind.params)
        if (Status status = checkUse(program, params, expandName(port.name, i),
                                     port, ref, isShared(port.name));
            !status.ok())
          return Error{status.message()};
      blocks.push_back(ref);
    }
  }
  if (blocks.empty())
    return Error{"the program: expected at least one block in its stacks, "
                 "found none"};
  return blocks;
}

std::vector<External>
ckpt::rt::externalsOf(const Program &program,
                      const std::vector<BlockRef> &blocks) {
  std::vector<External> all, gradients;
  std::set<std::string> names;
  auto add = [&](const std::string &name, const TensorType &type,
                 ExternalKind kind, bool needsGradient) {
    if (!names.insert(name).second)
      return;
    all.push_back({name, type, kind});
    if (needsGradient)
      gradients.push_back({"grad." + name, type, ExternalKind::Gradient});
  };
  if (blocks.empty())
    return all;
  for (const Port &port : program.kinds[blocks.front().kind].states)
    add(port.name, port.type, ExternalKind::State, port.needsGradient);
  for (const BlockRef &ref : blocks)
    for (const Port &port : program.kinds[ref.kind].inputs)
      add(port.name, port.type, ExternalKind::Input, port.needsGradient);
  for (const BlockRef &ref : blocks)
    for (const Port &port : program.kinds[ref.kind].params)
      add(expandName(port.name, ref.index), port.type, ExternalKind::Param,
          port.needsGradient);
  const BlockKind &last = program.kinds[blocks.back().kind];
  for (size_t i = 0; i < last.results.size(); ++i)
    add("out." + last.states[i].name, last.results[i], ExternalKind::Output,
        false);
  for (size_t i = 0; i < last.results.size(); ++i)
    add("grad.out." + last.states[i].name, last.results[i],
        ExternalKind::OutputGradient, false);
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

Result<SizeValues> ckpt::rt::bindSizes(const Program &program,
                                       const SizeValues &given,
                                       const std::string &flag) {
  SizeValues bound;
  std::string known;
  for (const NamedSize &size : program.sizes) {
    known += (known.empty() ? "" : ", ") + size.name;
    auto found = given.find(size.name);
    if (found != given.end())
      bound[size.name] = found->second;
    else if (size.defaultValue)
      bound[size.name] = *size.defaultValue;
    else
      return Error{"size " + size.name +
                   ": expected a value, found none; add " + flag + size.name +
                   "=N"};
    if (bound[size.name] < 1)
      return Error{flag + size.name + ": expected at least 1, found " +
                   std::to_string(bound[size.name])};
  }
  for (auto &[name, value] : given)
    if (!bound.count(name))
      return Error{flag + name + ": expected " +
                   (known.empty() ? "no sizes at all" : "one of " + known) +
                   ", found " + name};
  return bound;
}
