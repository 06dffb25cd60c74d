//===- FieldBlocksTest.cpp - gradients that went missing elsewhere --------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cases V1, V3 and O1 of the field (Cases.h).
///
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Tensors/Safetensors.h"

#include <algorithm>

using namespace ckpt;
using namespace ckpt::test;

namespace {

//===----------------------------------------------------------------------===//
// V1: the state needs no gradient, adapters or norms train
//===----------------------------------------------------------------------===//

/// A norm, a linear with an adapter of rank 2, a second linear. `adapter` and
/// `norm` are the roles of their parameters: frozen or trainable.
std::string loraBlock(const std::string &adapter, const std::string &norm) {
  return R"(
ckpt.size @batch default 1
ckpt.size @tokens

!x = !ckpt.tensor<batch x tokens x 16 x DTYPE>
!low = !ckpt.tensor<batch x tokens x 2 x DTYPE>
!w = !ckpt.tensor<16 x 16 x DTYPE>
!a = !ckpt.tensor<2 x 16 x DTYPE>
!b = !ckpt.tensor<16 x 2 x DTYPE>
!g = !ckpt.tensor<16 x DTYPE>

ckpt.block @lora
    states(%x : !x)
    params(%g "blocks.{i}.norm.weight" )" +
         norm + R"( : !g,
           %w1 "blocks.{i}.fc1.weight" frozen : !w,
           %a "blocks.{i}.fc1.lora_A.weight" )" +
         adapter + R"( : !a,
           %b "blocks.{i}.fc1.lora_B.weight" )" +
         adapter + R"( : !b,
           %w2 "blocks.{i}.fc2.weight" frozen : !w) {
  %y = ckpt.ffn {
    %n = ckpt.rms_norm %x, %g {eps = 1.0e-6} : !x, !g
    %base = ckpt.linear %n, %w1 : !x, !w
    %t = ckpt.linear %n, %a : !x, !a
    %u = ckpt.linear %t, %b : !low, !b
    %h = ckpt.add %base, %u : !x, !x
    %s = ckpt.silu %h : !x
    %o = ckpt.linear %s, %w2 : !x, !w
    %r = ckpt.add %x, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model { ckpt.repeat @lora, 2 }
)";
}

struct LoraCase {
  const char *name, *adapter, *norm;
  std::vector<std::string> trained;
  /// Backward launches of block 1 less those of block 0.
  int fewer;
};

class V1 : public testing::TestWithParam<LoraCase> {};

TEST_P(V1, TrainsWhatTrainsThoughTheInputDoesNot) {
  const LoraCase &param = GetParam();
  for (std::string dtype : {"f32", "bf16"}) {
    Model model = compileModel(loraBlock(param.adapter, param.norm), dtype,
                               {{"tokens", 7}});
    PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
    expectOracle(model, none);
    for (rt::Controls controls :
         {controlsOf(rt::Backend::None), controlsOf(rt::Backend::Torch),
          controlsOf(rt::Backend::Torch, 2), controlsOf(rt::Backend::TorchFfn),
          controlsOf(rt::Backend::Unsloth),
          controlsOf(rt::Backend::UnslothFfn)}) {
      SCOPED_TRACE(dtype + " " + describe(controls));
      PolicyRun run = runModel(model, controls);
      expectSameBits(run, none);
      // Exactly the trained parameters of both blocks have a gradient.
      std::vector<std::string> gradients, expected;
      for (const run::Tensor &tensor : run.tensors)
        if (tensor.external.kind == rt::ExternalKind::Gradient)
          gradients.push_back(tensor.external.name);
      for (int block = 0; block < 2; ++block)
        for (const std::string &name : param.trained)
          expected.push_back("grad.blocks." + std::to_string(block) + "." +
                             name);
      std::sort(gradients.begin(), gradients.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(gradients, expected);
      for (const std::string &name : gradients)
        EXPECT_FALSE(isAllZero(bytesOf(run, name))) << name;
      // Block 1 makes its state's gradient for block 0; nothing makes block
      // 0's, neither as a tensor nor as a launch.
      auto made = [&](const std::string &name) {
        return std::any_of(
            run.schedule->buffers.begin(), run.schedule->buffers.end(),
            [&](const rt::Buffer &buffer) { return buffer.name == name; });
      };
      EXPECT_TRUE(made("b1.grad.x"));
      EXPECT_FALSE(made("b0.grad.x"));
      EXPECT_FALSE(made("grad.x"));
      EXPECT_EQ(countLaunches(*run.schedule, Phase::Backward, 1) -
                    countLaunches(*run.schedule, Phase::Backward, 0),
                param.fewer);
    }
  }
}

// Backward of a block with everything asked for. From dy:
//   ds  y -> dh (linear_dx of fc2, silu_dx)
//   dB, dt  from dh;  dA  from dt;  dn  from dh and dt;  dx, dg  from dn.
// Adapters alone: block 0 ends with dA, so dn, by way of fc1 and lora_A in one
// sum (1), and the norm's dx (1) are left out.
// The norm alone: block 0 needs dn for dg, so only the norm's dx (1) is.
INSTANTIATE_TEST_SUITE_P(
    Field, V1,
    testing::Values(LoraCase{"adapters",
                             "trainable",
                             "frozen",
                             {"fc1.lora_A.weight", "fc1.lora_B.weight"},
                             2},
                    LoraCase{
                        "norms", "frozen", "trainable", {"norm.weight"}, 1}),
    [](const testing::TestParamInfo<LoraCase> &info) {
      return info.param.name;
    });

//===----------------------------------------------------------------------===//
// V3: a segment's blocks read one another's states
//===----------------------------------------------------------------------===//

/// The weights of `run` as a file, those of block i under `names[i]`; blocks
/// with an empty name are left out.
void writeWeights(const PolicyRun &run, const std::string &path,
                  const std::vector<std::string> &names) {
  std::vector<rt::SafetensorsTensor> tensors;
  for (const run::Tensor &tensor : run.tensors) {
    const std::string &name = tensor.external.name;
    if (tensor.external.kind != rt::ExternalKind::Param)
      continue;
    for (size_t i = 0; i < names.size(); ++i) {
      std::string prefix = "blocks." + std::to_string(i) + ".";
      if (!names[i].empty() && name.compare(0, prefix.size(), prefix) == 0)
        tensors.push_back({names[i] + "." + name.substr(prefix.size()),
                           tensor.shape, tensor.external.type.dtype,
                           tensor.data.get()});
    }
  }
  rt::Status status = rt::writeSafetensors(path, tensors);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(V3, BlocksOfASegmentReadOneAnothersStates) {
  for (std::string dtype : {"f32", "bf16"}) {
    SCOPED_TRACE(dtype);
    Model model = compileModel(smallTransformer(2), dtype, {{"tokens", 4}});
    rt::Controls segment = controlsOf(rt::Backend::Torch, 2);
    PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
    expectOracle(model, none);
    PolicyRun run = runModel(model, segment);
    EXPECT_EQ(segmentsOf(*run.schedule), "[0,1]");
    expectSameBits(run, none);

    // Weights exchanged: other outputs, under the segment as under `none`.
    TemporaryFile exchanged("exchanged.safetensors");
    writeWeights(none, exchanged.path, {"blocks.1", "blocks.0"});
    Model other = model;
    other.options.weights = exchanged.path;
    PolicyRun otherNone = runModel(other, controlsOf(rt::Backend::None));
    PolicyRun otherRun = runModel(other, segment);
    EXPECT_NE(bytesOf(otherRun, "out.x"), bytesOf(run, "out.x"));
    expectSameBits(otherRun, otherNone);

    // Block 1 alone, fed what block 0 alone leaves, makes the same output.
    Model one = model;
    one.options.blocks = 1;
    PolicyRun first = runModel(one, segment);
    TemporaryFile weights("second.safetensors"), inputs("state.safetensors");
    writeWeights(none, weights.path, {"", "blocks.0"});
    std::vector<rt::SafetensorsTensor> given;
    for (auto [name, from] : {std::pair{"x", "out.x"}, {"cond", "cond"}}) {
      const run::Tensor *tensor = find(first, from);
      ASSERT_TRUE(tensor);
      given.push_back({name, tensor->shape, tensor->external.type.dtype,
                       tensor->data.get()});
    }
    ASSERT_TRUE(rt::writeSafetensors(inputs.path, given).ok());
    one.options.weights = weights.path;
    one.options.inputs = inputs.path;
    PolicyRun second = runModel(one, segment);
    EXPECT_EQ(bytesOf(second, "out.x"), bytesOf(run, "out.x"));
    EXPECT_NE(bytesOf(first, "out.x"), bytesOf(run, "out.x"));
  }
}

//===----------------------------------------------------------------------===//
// O1: a tensor and its transposed view
//===----------------------------------------------------------------------===//

// Tokens = head dim = 64, so that a tensor and its transposed view have the
// same shape, bytes and storage. The backward reads `a` and its transposed view
// for sdpa and for the product: a view is never saved, what it views is, once.
// A second square lies transposed in memory (twice `a`), because a trained
// linear reads it.
constexpr const char *square = R"(
ckpt.size @batch default 2

!m = !ckpt.tensor<batch x 64 x 64 x DTYPE>
!heads = !ckpt.tensor<batch x 64 x 1 x 64 x DTYPE>
!w = !ckpt.tensor<64 x 64 x DTYPE>

ckpt.block @square
    states(%x : !m differentiable)
    params(%wa "blocks.{i}.a.weight" trainable : !w,
           %wt "blocks.{i}.t.weight" trainable : !w,
           %wo "blocks.{i}.o.weight" frozen : !w) {
  %y = ckpt.attention {
    %a = ckpt.linear %x, %wa : !m, !w
    %t = ckpt.transpose %a {permutation = array<i64: 0, 2, 1>} : !m
    %d = ckpt.scale %t {factor = 2.0} : !m
    %v0 = ckpt.linear %d, %wt : !m, !w
    %q = ckpt.reshape %a {shape = ["batch", "64", "1", "64"]} : !m
    %k = ckpt.reshape %t {shape = ["batch", "64", "1", "64"]} : !m
    %v = ckpt.reshape %v0 {shape = ["batch", "64", "1", "64"]} : !m
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o1 = ckpt.reshape %o0 {shape = ["batch", "64", "64"]} : !heads
    %product = ckpt.mul %a, %t : !m, !m
    %s = ckpt.add %o1, %product : !m, !m
    %p = ckpt.linear %s, %wo : !m, !w
    %r = ckpt.add %x, %p : !m, !m
    ckpt.yield %r : !m
  } : !m
  ckpt.return %y : !m
}

ckpt.stack @model { ckpt.repeat @square, 2 }
)";

TEST(O1, ATensorAndItsTransposedViewAreTwo) {
  for (std::string dtype : {"f32", "bf16"}) {
    SCOPED_TRACE(dtype);
    Model model = compileModel(square, dtype, {});
    PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
    expectOracle(model, none);
    PolicyRun run =
        runModel(model, withAttentionOffload(controlsOf(rt::Backend::None)));
    expectSameBits(run, none);
    for (const char *name :
         {"grad.x", "grad.blocks.0.a.weight", "grad.blocks.1.t.weight"})
      EXPECT_FALSE(isAllZero(bytesOf(run, name))) << name;
    // Each block offloads a, d, v, o (batch x 64 x 64 each) and lse, batch x
    // 64 floats; x is not made in the region. Every one has its own slot.
    int64_t square = 2 * 64 * 64 * (dtype == "f32" ? 4 : 2);
    int64_t lse = 2 * 64 * 4;
    EXPECT_EQ(run.simulation.copiedToHost, 2 * (4 * square + lse));
    EXPECT_EQ(run.simulation.copiedToDevice, 2 * (4 * square + lse));
    EXPECT_EQ(run.schedule->slots.size(), 2u * 5);
  }
}

} // namespace
