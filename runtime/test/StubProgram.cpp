//===- StubProgram.cpp - kernels and tensors without a compiler -----------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "StubProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace ckpt::rt;
using namespace ckpt::rt::test;

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static uint64_t hashText(const std::string &text) {
  uint64_t hash = 0;
  for (unsigned char c : text)
    hash = mix(hash ^ c);
  return hash;
}

/// Adds `bytes` bytes to `hash`; tells of poison among them.
static uint64_t hashBytes(uint64_t hash, const void *data, int64_t bytes,
                          bool &poison) {
  const auto *from = static_cast<const uint8_t *>(data);
  hash = mix(hash ^ uint64_t(bytes));
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, from + i, std::min<int64_t>(8, bytes - i));
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
  }
  poison |= bytes && std::memchr(data, 0xff, bytes);
  return hash;
}

/// Bytes below 0x80 that follow from `hash`.
static void fillBytes(uint64_t hash, void *data, int64_t bytes) {
  auto *to = static_cast<uint8_t *>(data);
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = mix(hash ^ uint64_t(i)) & 0x7f7f7f7f7f7f7f7f;
    std::memcpy(to + i, &word, std::min<int64_t>(8, bytes - i));
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// A Size that is evaluated from a launch's sizes, without allocating.
class BoundSize {
public:
  BoundSize(const Size &size, const std::vector<NamedSize> &names) {
    for (const auto &[factors, coefficient] : size.getTerms()) {
      Term term{coefficient, {}};
      for (const std::string &factor : factors)
        for (size_t i = 0; i < names.size(); ++i)
          if (names[i].name == factor)
            term.factors.push_back(i);
      terms.push_back(term);
    }
  }
  int64_t operator()(const int64_t *sizes) const {
    int64_t sum = 0;
    for (const Term &term : terms) {
      int64_t product = term.coefficient;
      for (size_t factor : term.factors)
        product *= sizes[factor];
      sum += product;
    }
    return sum;
  }

private:
  struct Term {
    int64_t coefficient;
    std::vector<size_t> factors;
  };
  std::vector<Term> terms;
};

struct Stub {
  uint64_t seed;
  std::vector<BoundSize> reads, writes;
  BoundSize workspace;
  StubCounts *counts;

  void operator()(void *const *arguments, const int64_t *sizes,
                  void *scratch) const {
    bool poison = false;
    uint64_t hash = seed;
    for (size_t i = 0; i < reads.size(); ++i)
      hash = hashBytes(hash, arguments[i], reads[i](sizes), poison);
    if (int64_t bytes = workspace(sizes)) {
      fillBytes(hash, scratch, bytes);
      hash = hashBytes(hash, scratch, bytes, poison);
    }
    for (size_t i = 0; i < writes.size(); ++i)
      if (void *to = arguments[reads.size() + i])
        fillBytes(mix(hash + i), to, writes[i](sizes));
    ++counts->launches;
    counts->poisonReads += poison;
  }
};
} // namespace

void ckpt::rt::test::registerStubs(HostDevice &device, const Program &program,
                                   StubCounts &counts) {
  auto add = [&](const Kernel &kernel, const std::vector<Size> &reads,
                 const std::vector<Size> &writes) {
    Stub stub{hashText(kernel.symbol),
              {},
              {},
              BoundSize(kernel.workspaceBytes, program.sizes),
              &counts};
    for (const Size &size : reads)
      stub.reads.emplace_back(size, program.sizes);
    for (const Size &size : writes)
      stub.writes.emplace_back(size, program.sizes);
    device.registerKernel(kernel.symbol, stub);
  };
  for (const BlockKind &kind : program.kinds)
    for (const SelectedOp &op : kind.ops) {
      std::vector<Size> reads, writes;
      for (int value : op.reads)
        reads.push_back(kind.values[value].type.bytes());
      for (int value : op.writes)
        writes.push_back(kind.values[value].type.bytes());
      add(program.kernels[op.kernel], reads, writes);
    }
  Result<std::vector<BlockRef>> blocks = blocksOf(program, std::nullopt);
  ASSERT_TRUE(blocks.ok()) << blocks.message();
  for (const External &external : externalsOf(program, *blocks))
    for (const GradientCast &cast : program.casts)
      if (cast.gradient == external.name)
        add(program.kernels[cast.kernel], {external.type.elements() * 4},
            {external.type.bytes()});
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

std::shared_ptr<const Schedule>
ckpt::rt::test::scheduleOf(const Program &program, const Controls &controls,
                           const SizeValues &sizes) {
  Result<PlannedStep> plan = applyPolicy(program, controls, std::nullopt);
  EXPECT_TRUE(plan.ok()) << plan.message();
  Result<Profile> profile = profileNamed("host");
  EXPECT_TRUE(profile.ok()) << profile.message();
  Result<SizeValues> bound = bindSizes(program, sizes);
  EXPECT_TRUE(bound.ok()) << bound.message();
  Result<Schedule> schedule =
      instantiate(program, *plan, *bound, controls, *profile);
  EXPECT_TRUE(schedule.ok()) << schedule.message();
  return std::make_shared<const Schedule>(std::move(*schedule));
}

std::vector<Controls> ckpt::rt::test::legalControls(const Program &program) {
  std::vector<Controls> legal;
  using Optional = std::optional<int64_t>;
  for (Backend backend : {Backend::None, Backend::Torch, Backend::TorchFfn,
                          Backend::Unsloth, Backend::UnslothFfn})
    for (Optional interval : {Optional(), Optional(2)})
      for (Optional stride : {Optional(), Optional(4)})
        for (bool once : {false, true})
          for (bool offload : {false, true}) {
            Controls controls{backend, interval, stride,
                              once,    offload,  std::nullopt};
            if (checkControls(controls).ok() &&
                checkControls(controls, program).ok())
              legal.push_back(controls);
          }
  return legal;
}

std::string ckpt::rt::test::describe(const Controls &controls) {
  std::string text = nameOf(controls.backend);
  if (controls.interval)
    text += " interval=" + std::to_string(*controls.interval);
  if (controls.segmentStride)
    text += " segment-stride=" + std::to_string(*controls.segmentStride);
  if (controls.attentionOnce)
    text += " attention-once";
  if (controls.offloadAttention)
    text += " offload-attention";
  return text;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static bool isResult(ExternalKind kind) {
  return kind == ExternalKind::Output || kind == ExternalKind::Gradient;
}

Tensors::Tensors(HostDevice &device, const Schedule &schedule, uint64_t seed)
    : device(device) {
  for (const External &external : schedule.externals) {
    int64_t bytes = *external.type.bytes().evaluate(schedule.sizeValues);
    Result<void *> data = device.allocate(bytes);
    EXPECT_TRUE(data.ok());
    tensors.push_back({external, *data, bytes});
    // Device memory of the host device is memory.
    fillBytes(hashText(external.name) ^ mix(seed), *data, bytes);
  }
  clearResults();
}

Tensors::~Tensors() {
  for (const Tensor &tensor : tensors)
    device.free(tensor.data, tensor.bytes);
}

void Tensors::clearResults() {
  for (const Tensor &tensor : tensors)
    if (isResult(tensor.external.kind))
      std::memset(tensor.data, 0xee, tensor.bytes);
}

void Tensors::bindTo(Step &step) const {
  for (const Tensor &tensor : tensors) {
    Status status = step.bind(tensor.external.name, tensor.data, tensor.bytes);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

uint64_t Tensors::digest() const {
  uint64_t hash = 0;
  bool poison = false;
  for (const Tensor &tensor : tensors)
    if (isResult(tensor.external.kind))
      hash = hashBytes(hash ^ hashText(tensor.external.name), tensor.data,
                       tensor.bytes, poison);
  EXPECT_FALSE(poison) << "a result holds poison";
  return hash;
}
