//===- Unroll.cpp - from the table of blocks to nodes ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Draft.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

using Phase = TableEntry::Phase;

/// The buffers that a block's values stand for at this point of the list.
struct BlockState {
  const BlockKind *kind = nullptr;
  const Variant *variant = nullptr;
  /// Per value: made by the forward, and by a replay, a copy in or the
  /// backward; -1 = none.
  std::vector<int> forward, current;
  /// Per value: index into BlockKind::saved, or -1.
  std::vector<int> savedOf;
  /// Per saved value: its host buffer and the node of its copy out.
  std::vector<int> hostBuffer, copyNode;
};

/// A state between two blocks.
struct Border {
  int forward = -1, replayed = -1, gradient = -1;
};

class Unroller {
public:
  explicit Unroller(const Request &request)
      : request(request), program(request.program) {}

  Result<Draft> run();

private:
  Status prepare();
  Status findVariants();
  Status addExternals();
  Status beginBackward();
  Status endBackward();
  Status runList(const TableEntry &entry, const std::vector<VariantStep> &list);
  Status launch(const TableEntry &entry, const SelectedOp &op,
                const VariantStep &step);
  Status copyOut(const TableEntry &entry, int saved);
  Status copyIn(const TableEntry &entry, int saved);
  Status checkGradients() const;

  Result<int> bufferToRead(const TableEntry &entry, int value);
  Result<int> bufferToWrite(const TableEntry &entry, int value);
  /// A state, input, parameter or gradient that is the same in every phase.
  int sharedBuffer(int block, int value) const;

  Result<int64_t> bytesOfSize(const Size &size, const std::string &what) const;
  Result<int> addArena(const std::string &name, int block, const Size &bytes);
  int addNode(Node node);
  Status addLaunch(Node node, int kernel);
  std::string nameOf(int block, int value) const {
    return "b" + std::to_string(block) + "." +
           blocks[block].kind->values[value].name;
  }
  int external(const std::string &name) const {
    auto found = externalOf.find(name);
    return found == externalOf.end() ? -1 : found->second;
  }

  const Request &request;
  const Program &program;
  Draft draft;
  std::vector<BlockState> blocks;
  /// [border][state]; border b is before block b.
  std::vector<std::vector<Border>> borders;
  std::map<std::string, int> externalOf;
  /// Running sums by external gradient name.
  std::map<std::string, int> sumOf;
  /// Per buffer: the last node that writes it, or -1.
  std::vector<int> writerOf;
  /// Per kernel; negative = not asked yet.
  std::vector<double> kernelSeconds;
  std::vector<int64_t> kernelWorkspace;
};

Result<int64_t> Unroller::bytesOfSize(const Size &size,
                                      const std::string &what) const {
  std::optional<int64_t> bytes = size.evaluate(request.sizes);
  // With room left for sums and alignment.
  if (!bytes || *bytes > (int64_t(1) << 62))
    return Error{what + ": expected at most 2^62 bytes, found " + size.str() +
                 " at the sizes given; make them smaller"};
  if (*bytes < 1)
    return Error{what + ": expected a positive number of bytes, found " +
                 size.str() + " = " + std::to_string(*bytes)};
  return *bytes;
}

Result<int> Unroller::addArena(const std::string &name, int block,
                               const Size &size) {
  Result<int64_t> bytes = bytesOfSize(size, name);
  if (!bytes.ok())
    return bytes.takeError();
  Buffer buffer;
  buffer.name = name;
  buffer.block = block;
  buffer.bytes = *bytes;
  draft.buffers.push_back(std::move(buffer));
  writerOf.push_back(-1);
  return int(draft.buffers.size()) - 1;
}

int Unroller::addNode(Node node) {
  int index = int(draft.nodes.size());
  const Command &command = node.command;
  for (size_t i = command.numReads; i < command.buffers.size(); ++i)
    if (command.buffers[i] >= 0)
      writerOf[command.buffers[i]] = index;
  draft.nodes.push_back(std::move(node));
  return index;
}

Status Unroller::addLaunch(Node node, int kernelIndex) {
  const Kernel &kernel = program.kernels[kernelIndex];
  Command &command = node.command;
  command.kernel = kernelIndex;
  if (kernelSeconds[kernelIndex] < 0) {
    kernelSeconds[kernelIndex] =
        secondsOf(kernel, request.sizes, request.profile);
    kernelWorkspace[kernelIndex] = 0;
    if (kernel.workspaceBytes.evaluate(request.sizes) != 0) {
      Result<int64_t> bytes =
          bytesOfSize(kernel.workspaceBytes, "workspace of " + kernel.symbol);
      if (!bytes.ok())
        return bytes.takeError();
      kernelWorkspace[kernelIndex] = *bytes;
    }
  }
  node.seconds = kernelSeconds[kernelIndex];
  if (kernelWorkspace[kernelIndex] > 0) {
    Result<int> workspace = addArena(
        (command.block < 0 ? std::string()
                           : "b" + std::to_string(command.block) + ".") +
            command.label + ".workspace",
        command.block, kernelWorkspace[kernelIndex]);
    if (!workspace.ok())
      return workspace.takeError();
    command.workspace = *workspace;
  }
  addNode(std::move(node));
  return {};
}

Status Unroller::findVariants() {
  std::map<int, std::vector<int>> savedOfKind;
  for (const BlockPlan &plan : request.plan.blocks) {
    const BlockKind &kind = program.kinds[plan.ref.kind];
    int variant = findVariant(kind, plan.demand);
    if (variant < 0)
      return Error{
          "block " + std::to_string(plan.ref.index) + " (@" + kind.name +
          "): expected a variant for these controls in the artifact's menu, "
          "found none among " +
          std::to_string(kind.variants.size()) +
          "; compile again with the full menu"};
    BlockState block;
    block.kind = &kind;
    block.variant = &kind.variants[variant];
    block.forward.assign(kind.values.size(), -1);
    block.current.assign(kind.values.size(), -1);
    block.savedOf.assign(kind.values.size(), -1);
    for (size_t i = 0; i < kind.saved.size(); ++i)
      block.savedOf[kind.saved[i].value] = int(i);
    block.hostBuffer.assign(kind.saved.size(), -1);
    block.copyNode.assign(kind.saved.size(), -1);
    blocks.push_back(std::move(block));
  }
  return {};
}

Status Unroller::addExternals() {
  for (size_t i = 0; i < request.externals.size(); ++i) {
    const External &external = request.externals[i];
    Result<int> buffer = addArena(external.name, -1, external.type.bytes());
    if (!buffer.ok())
      return buffer.takeError();
    draft.buffers[*buffer].space = Space::External;
    draft.buffers[*buffer].external = int(i);
    externalOf[external.name] = *buffer;
  }
  borders.resize(blocks.size() + 1);
  for (size_t b = 0; b <= blocks.size(); ++b)
    borders[b].resize(b < blocks.size() ? blocks[b].kind->states.size()
                                        : blocks[b - 1].kind->results.size());
  const BlockKind &first = *blocks.front().kind;
  for (size_t s = 0; s < first.states.size(); ++s) {
    borders.front()[s].forward = external(first.states[s].name);
    borders.front()[s].gradient = external("grad." + first.states[s].name);
  }
  const BlockKind &last = *blocks.back().kind;
  for (size_t s = 0; s < last.results.size(); ++s) {
    borders.back()[s].forward = external("out." + last.states[s].name);
    borders.back()[s].gradient = external("grad.out." + last.states[s].name);
  }
  return {};
}

// The sums of gradients begin at zero.
Status Unroller::beginBackward() {
  std::map<std::string, Size> sums;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const BlockKind &kind = *blocks[b].kind;
    for (const Port &port : kind.inputs)
      if (port.needsGradient)
        sums["grad." + port.name] = port.type.elements() * Size(4);
    for (const Port &port : kind.params)
      if (port.needsGradient && port.name.find("{i}") == std::string::npos)
        sums["grad." + port.name] = port.type.elements() * Size(4);
  }
  for (auto &[name, size] : sums) {
    Result<int> buffer = addArena("sum." + name.substr(5), -1, size);
    if (!buffer.ok())
      return buffer.takeError();
    sumOf[name] = *buffer;
    Node node;
    node.command.kind = Command::Kind::Fill;
    node.command.buffers = {*buffer};
    node.command.phase = Phase::Backward;
    node.command.label = "zero";
    node.seconds = draft.buffers[*buffer].bytes / request.profile.memory +
                   request.profile.launchSeconds;
    addNode(std::move(node));
  }
  return {};
}

Status Unroller::endBackward() {
  std::map<std::string, int> castOf;
  for (const GradientCast &cast : program.casts)
    castOf[cast.gradient] = cast.kernel;
  for (auto &[name, sum] : sumOf) {
    auto cast = castOf.find(name);
    if (cast == castOf.end() || external(name) < 0)
      return Error{name + ": expected a kernel that casts its sum, found none "
                          "in the artifact; compile again"};
    Node node;
    node.command.buffers = {sum, external(name)};
    node.command.numReads = 1;
    node.command.phase = Phase::Backward;
    node.command.label = "cast";
    if (Status status = addLaunch(std::move(node), cast->second); !status.ok())
      return status;
  }
  return {};
}

int Unroller::sharedBuffer(int block, int value) const {
  const BlockKind &kind = *blocks[block].kind;
  const Value &info = kind.values[value];
  int index = request.plan.blocks[block].ref.index;
  switch (info.kind) {
  case ValueKind::Input:
    return external(kind.inputs[info.index].name);
  case ValueKind::Param:
    return external(expandName(kind.params[info.index].name, index));
  case ValueKind::GradParam:
    return external("grad." + expandName(kind.params[info.index].name, index));
  case ValueKind::GradInput:
  case ValueKind::GradParamShared: {
    const Port &port = info.kind == ValueKind::GradInput
                           ? kind.inputs[info.index]
                           : kind.params[info.index];
    auto sum = sumOf.find("grad." + port.name);
    return sum == sumOf.end() ? -1 : sum->second;
  }
  case ValueKind::GradStateOut:
    return borders[block + 1][info.index].gradient;
  case ValueKind::GradStateIn:
    return borders[block][info.index].gradient;
  default:
    return -1;
  }
}

Result<int> Unroller::bufferToRead(const TableEntry &entry, int value) {
  const BlockState &block = blocks[entry.block];
  const Value &info = block.kind->values[value];
  int buffer = -1;
  bool isFromForward = false;
  switch (info.kind) {
  case ValueKind::Temporary:
  case ValueKind::StateIn:
  case ValueKind::StateOut: {
    buffer = block.current[value];
    if (buffer < 0 && info.kind == ValueKind::StateIn) {
      const Border &border = borders[entry.block][info.index];
      if (entry.phase != Phase::Forward)
        buffer = border.replayed;
      if (buffer < 0) {
        buffer = border.forward;
        isFromForward = true;
      }
    } else if (buffer < 0) {
      buffer = block.forward[value];
      isFromForward = true;
    }
    break;
  }
  default:
    buffer = sharedBuffer(entry.block, value);
  }
  std::string where =
      "block " + std::to_string(entry.block) + " (@" + block.kind->name + ")";
  if (buffer < 0)
    return Error{where + ": expected " + info.name +
                 " to be made before it is read, found nothing that makes it"};
  // What crosses must have been kept, or the peak would not be the plan's.
  if (isFromForward && entry.phase != Phase::Forward &&
      draft.buffers[buffer].space == Space::Arena) {
    int saved = block.savedOf[value];
    Fate fate = saved < 0 ? Fate::Unused : block.variant->demand.fates[saved];
    if (fate != Fate::Keep)
      return Error{where + ": expected " + info.name +
                   " to be kept, as the backward reads it, found " +
                   ckpt::rt::nameOf(fate)};
  }
  return buffer;
}

Result<int> Unroller::bufferToWrite(const TableEntry &entry, int value) {
  BlockState &block = blocks[entry.block];
  const Value &info = block.kind->values[value];
  bool isForward = entry.phase == Phase::Forward;
  if (info.kind == ValueKind::GradStateIn) {
    int &gradient = borders[entry.block][info.index].gradient;
    if (gradient < 0) {
      Result<int> buffer =
          addArena(nameOf(entry.block, value), entry.block, info.type.bytes());
      if (!buffer.ok())
        return buffer;
      gradient = *buffer;
    }
    return gradient;
  }
  if (info.kind == ValueKind::Temporary || info.kind == ValueKind::StateOut) {
    Border *border = info.kind == ValueKind::StateOut
                         ? &borders[entry.block + 1][info.index]
                         : nullptr;
    int buffer = border && isForward ? border->forward : -1;
    if (buffer < 0) {
      // A state has the name that the block it goes to gives it.
      std::string name = nameOf(entry.block, value);
      if (border && size_t(entry.block) + 1 < blocks.size())
        name = "b" + std::to_string(entry.block + 1) + "." +
               blocks[entry.block + 1].kind->states[info.index].name;
      Result<int> added =
          addArena(name + (entry.phase == Phase::Replay ? "'" : ""),
                   entry.block, info.type.bytes());
      if (!added.ok())
        return added;
      buffer = *added;
    }
    (isForward ? block.forward : block.current)[value] = buffer;
    if (border)
      (isForward ? border->forward : border->replayed) = buffer;
    return buffer;
  }
  int buffer = sharedBuffer(entry.block, value);
  if (buffer < 0)
    return Error{"block " + std::to_string(entry.block) + " (@" +
                 block.kind->name + "): expected a place for " + info.name +
                 ", found none; compile again"};
  return buffer;
}

Status Unroller::launch(const TableEntry &entry, const SelectedOp &op,
                        const VariantStep &step) {
  Node node;
  Command &command = node.command;
  command.block = entry.block;
  command.phase = entry.phase;
  command.label = op.id;
  command.numReads = int(op.reads.size());
  command.inPlace = op.inPlace;
  for (int value : op.reads) {
    Result<int> buffer = bufferToRead(entry, value);
    if (!buffer.ok())
      return buffer.takeError();
    command.buffers.push_back(*buffer);
  }
  for (size_t w = 0; w < op.writes.size(); ++w) {
    if (w < step.writes.size() && !step.writes[w]) {
      command.buffers.push_back(-1);
      continue;
    }
    Result<int> buffer = bufferToWrite(entry, op.writes[w]);
    if (!buffer.ok())
      return buffer.takeError();
    command.buffers.push_back(*buffer);
  }
  return addLaunch(std::move(node), op.kernel);
}

Status Unroller::copyOut(const TableEntry &entry, int saved) {
  BlockState &block = blocks[entry.block];
  int value = block.kind->saved[saved].value;
  Result<int> source = bufferToRead(entry, value);
  if (!source.ok())
    return source.takeError();
  Buffer host = draft.buffers[*source];
  host.name = nameOf(entry.block, value) + " on the host";
  host.block = entry.block;
  host.space = Space::Host;
  host.external = -1;
  host.slot = int(draft.slots.size());
  draft.slots.push_back({host.bytes, true});
  block.hostBuffer[saved] = int(draft.buffers.size());
  draft.buffers.push_back(std::move(host));
  writerOf.push_back(-1);

  Node node;
  Command &command = node.command;
  command.kind = Command::Kind::CopyOut;
  command.stream = StreamKind::CopyOut;
  command.buffers = {*source, block.hostBuffer[saved]};
  command.numReads = 1;
  command.block = entry.block;
  command.phase = entry.phase;
  command.label = "copy " + block.kind->values[value].name;
  if (writerOf[*source] >= 0)
    node.after.push_back(writerOf[*source]);
  node.seconds = draft.buffers[*source].bytes / request.profile.link;
  block.copyNode[saved] = addNode(std::move(node));
  return {};
}

Status Unroller::copyIn(const TableEntry &entry, int saved) {
  BlockState &block = blocks[entry.block];
  int value = block.kind->saved[saved].value;
  if (block.hostBuffer[saved] < 0)
    return Error{"block " + std::to_string(entry.block) + " (@" +
                 block.kind->name + "): expected " +
                 block.kind->values[value].name +
                 " to be copied out before it is copied in, found no copy"};
  Result<int> target = addArena(nameOf(entry.block, value) + "'", entry.block,
                                block.kind->values[value].type.bytes());
  if (!target.ok())
    return target.takeError();
  block.current[value] = *target;

  Node node;
  Command &command = node.command;
  command.kind = Command::Kind::CopyIn;
  command.stream = StreamKind::CopyIn;
  command.buffers = {block.hostBuffer[saved], *target};
  command.numReads = 1;
  command.block = entry.block;
  command.phase = entry.phase;
  command.label = "copy " + block.kind->values[value].name;
  node.after.push_back(block.copyNode[saved]);
  node.seconds = draft.buffers[*target].bytes / request.profile.link;
  addNode(std::move(node));
  return {};
}

Status Unroller::runList(const TableEntry &entry,
                         const std::vector<VariantStep> &list) {
  for (const VariantStep &step : list) {
    Status status;
    switch (step.kind) {
    case VariantStep::Kind::Launch:
      status = launch(entry, blocks[entry.block].kind->ops[step.index], step);
      break;
    case VariantStep::Kind::CopyOut:
      status = copyOut(entry, step.index);
      break;
    case VariantStep::Kind::CopyIn:
      status = copyIn(entry, step.index);
      break;
    }
    if (!status.ok())
      return status;
  }
  return {};
}

// A gradient that nothing writes would hand the caller what was there before.
Status Unroller::checkGradients() const {
  for (size_t i = 0; i < request.externals.size(); ++i) {
    const External &external = request.externals[i];
    if ((external.kind == ExternalKind::Gradient ||
         external.kind == ExternalKind::Output) &&
        writerOf[externalOf.at(external.name)] < 0)
      return Error{external.name +
                   ": expected a launch that writes it, found none"};
  }
  return {};
}

Result<Draft> Unroller::run() {
  kernelSeconds.assign(program.kernels.size(), -1);
  kernelWorkspace.assign(program.kernels.size(), 0);
  if (Status status = findVariants(); !status.ok())
    return Error{status.message()};
  if (Status status = addExternals(); !status.ok())
    return Error{status.message()};

  int lastBlock = -1;
  for (const TableEntry &entry : request.table) {
    if (entry.phase != Phase::Forward && draft.forwardEnd == 0) {
      Node join;
      join.isJoin = true;
      draft.nodes.push_back(std::move(join));
      draft.forwardEnd = int(draft.nodes.size());
      if (Status status = beginBackward(); !status.ok())
        return Error{status.message()};
    }
    if (draft.forwardEnd != 0 && entry.block != lastBlock) {
      draft.runs.push_back(int(draft.nodes.size()));
      lastBlock = entry.block;
    }
    const Variant &variant = *blocks[entry.block].variant;
    Status status =
        runList(entry, entry.phase == Phase::Forward  ? variant.forward
                       : entry.phase == Phase::Replay ? variant.replay
                                                      : variant.backward);
    if (!status.ok())
      return Error{status.message()};
  }
  if (Status status = endBackward(); !status.ok())
    return Error{status.message()};
  if (Status status = checkGradients(); !status.ok())
    return Error{status.message()};

  // A copy in must come after its reader is known: readers name it.
  std::vector<int> copyInOf(draft.buffers.size(), -1);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    Node &node = draft.nodes[n];
    const Command &command = node.command;
    if (command.kind == Command::Kind::CopyIn) {
      copyInOf[command.buffers[1]] = int(n);
      continue;
    }
    for (int i = 0; i < command.numReads; ++i)
      if (command.buffers[i] >= 0 && copyInOf[command.buffers[i]] >= 0)
        node.after.push_back(copyInOf[command.buffers[i]]);
  }
  draft.replaces.assign(draft.buffers.size(), -1);
  return std::move(draft);
}

} // namespace

int64_t ckpt::rt::alignedBytes(int64_t bytes) {
  return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
}

Result<Draft> ckpt::rt::unroll(const Request &request) {
  return Unroller(request).run();
}
