//===- ControlsTest.cpp - the controls on models of the field -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The controls' own cases elsewhere, in our meaning, by number (Cases.h).
///
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Plan/Policy.h"

using namespace ckpt;
using namespace ckpt::test;

namespace {

//===----------------------------------------------------------------------===//
// A Flux-like model: two streams with joint attention, then one stream
//===----------------------------------------------------------------------===//

// The state is two tensors. The double block modulates both streams, attends
// over their concatenation and feeds each forward; the single block runs
// attention and FFN side by side on the concatenation. Some weights train, so
// that there are gradients of every kind.
constexpr const char *fluxSizesAndTypes = R"(
ckpt.size @batch default 1
ckpt.size @image
ckpt.size @text

!img = !ckpt.tensor<batch x image x 16 x DTYPE>
!txt = !ckpt.tensor<batch x text x 16 x DTYPE>
!joint = !ckpt.tensor<batch x text + image x 16 x DTYPE>
!heads = !ckpt.tensor<batch x text + image x 2 x 8 x DTYPE>
!qkv_img = !ckpt.tensor<batch x image x 48 x DTYPE>
!qkv_txt = !ckpt.tensor<batch x text x 48 x DTYPE>
!qkv = !ckpt.tensor<batch x text + image x 48 x DTYPE>
!hidden_img = !ckpt.tensor<batch x image x 32 x DTYPE>
!hidden_txt = !ckpt.tensor<batch x text x 32 x DTYPE>
!hidden = !ckpt.tensor<batch x text + image x 32 x DTYPE>
!both = !ckpt.tensor<batch x text + image x 48 x DTYPE>
!vec = !ckpt.tensor<batch x 6 x 16 x DTYPE>
!row = !ckpt.tensor<batch x 1 x 16 x DTYPE>
!freqs = !ckpt.tensor<text + image x 4 x f32>
!wqkv = !ckpt.tensor<48 x 16 x DTYPE>
!wo = !ckpt.tensor<16 x 16 x DTYPE>
!w1 = !ckpt.tensor<32 x 16 x DTYPE>
!w2 = !ckpt.tensor<16 x 32 x DTYPE>
!b = !ckpt.tensor<16 x DTYPE>
)";

constexpr const char *fluxDouble = R"(
ckpt.block @double
    states(%img : !img differentiable, %txt : !txt differentiable)
    inputs(%vec : !vec differentiable, %cos : !freqs, %sin : !freqs)
    params(%wi "double.{i}.img_attn.qkv.weight" frozen : !wqkv,
           %wt "double.{i}.txt_attn.qkv.weight" trainable : !wqkv,
           %oi "double.{i}.img_attn.proj.weight" frozen : !wo,
           %ot "double.{i}.txt_attn.proj.weight" frozen : !wo,
           %i1 "double.{i}.img_mlp.0.weight" frozen : !w1,
           %i2 "double.{i}.img_mlp.2.weight" trainable : !w2,
           %t1 "double.{i}.txt_mlp.0.weight" frozen : !w1,
           %t2 "double.{i}.txt_mlp.2.weight" frozen : !w2,
           %bi "double.{i}.img_mlp.2.bias" trainable : !b) {
  %shift = ckpt.slice %vec {dim = 1, offset = "0", extent = "1"} : !vec
  %scale0 = ckpt.slice %vec {dim = 1, offset = "1", extent = "1"} : !vec
  %scale = ckpt.scale %scale0 {offset = 1.0} : !row
  %gate = ckpt.slice %vec {dim = 1, offset = "2", extent = "1"} : !vec
  %img1, %txt1 = ckpt.attention {
    %in0 = ckpt.layer_norm %img {eps = 1.0e-6} : !img
    %in1 = ckpt.mul %in0, %scale : !img, !row
    %in = ckpt.add %in1, %shift : !img, !row
    %tn0 = ckpt.layer_norm %txt {eps = 1.0e-6} : !txt
    %tn1 = ckpt.mul %tn0, %scale : !txt, !row
    %tn = ckpt.add %tn1, %shift : !txt, !row
    %iqkv = ckpt.linear %in, %wi : !img, !wqkv
    %tqkv = ckpt.linear %tn, %wt : !txt, !wqkv
    %qkv = ckpt.concat %tqkv, %iqkv {dim = 1} : !qkv_txt, !qkv_img
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "16"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "16", extent = "16"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "32", extent = "16"} : !qkv
    %q1 = ckpt.reshape %q0 {shape = ["batch", "text + image", "2", "8"]} : !joint
    %k1 = ckpt.reshape %k0 {shape = ["batch", "text + image", "2", "8"]} : !joint
    %v = ckpt.reshape %v0 {shape = ["batch", "text + image", "2", "8"]} : !joint
    %q2 = ckpt.rms_norm %q1 {eps = 1.0e-6} : !heads
    %k2 = ckpt.rms_norm %k1 {eps = 1.0e-6} : !heads
    %q = ckpt.rope %q2, %cos, %sin : !heads, !freqs, !freqs
    %k = ckpt.rope %k2, %cos, %sin : !heads, !freqs, !freqs
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "text + image", "16"]} : !heads
    %to = ckpt.slice %o {dim = 1, offset = "0", extent = "text"} : !joint
    %io = ckpt.slice %o {dim = 1, offset = "text", extent = "image"} : !joint
    %ip = ckpt.linear %io, %oi : !img, !wo
    %ig = ckpt.mul %ip, %gate : !img, !row
    %ir = ckpt.add %img, %ig : !img, !img
    %tp = ckpt.linear %to, %ot : !txt, !wo
    %tg = ckpt.mul %tp, %gate : !txt, !row
    %tr = ckpt.add %txt, %tg : !txt, !txt
    ckpt.yield %ir, %tr : !img, !txt
  } : !img, !txt
  %img2, %txt2 = ckpt.ffn {
    %in = ckpt.layer_norm %img1 {eps = 1.0e-6} : !img
    %ih = ckpt.linear %in, %i1 : !img, !w1
    %ia = ckpt.gelu %ih {approximate = tanh} : !hidden_img
    %ip = ckpt.linear %ia, %i2, %bi : !hidden_img, !w2, !b
    %ir = ckpt.add %img1, %ip : !img, !img
    %tn = ckpt.layer_norm %txt1 {eps = 1.0e-6} : !txt
    %th = ckpt.linear %tn, %t1 : !txt, !w1
    %ta = ckpt.gelu %th {approximate = tanh} : !hidden_txt
    %tp = ckpt.linear %ta, %t2 : !hidden_txt, !w2
    %tr = ckpt.add %txt1, %tp : !txt, !txt
    ckpt.yield %ir, %tr : !img, !txt
  } : !img, !txt
  ckpt.return %img2, %txt2 : !img, !txt
}
)";

constexpr const char *fluxSingle = R"(
ckpt.block @single
    states(%img : !img differentiable, %txt : !txt differentiable)
    inputs(%vec : !vec differentiable, %cos : !freqs, %sin : !freqs)
    params(%wqkv "single.{i}.qkv.weight" frozen : !wqkv,
           %w1 "single.{i}.mlp.weight" trainable : !w1,
           %w2 "single.{i}.linear2.weight" frozen : !ckpt.tensor<16 x 48 x DTYPE>) {
  %gate = ckpt.slice %vec {dim = 1, offset = "5", extent = "1"} : !vec
  %x0 = ckpt.concat %txt, %img {dim = 1} : !txt, !img
  %n = ckpt.layer_norm %x0 {eps = 1.0e-6} : !joint
  %a = ckpt.attention {
    %qkv = ckpt.linear %n, %wqkv : !joint, !wqkv
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "16"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "16", extent = "16"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "32", extent = "16"} : !qkv
    %q1 = ckpt.reshape %q0 {shape = ["batch", "text + image", "2", "8"]} : !joint
    %k1 = ckpt.reshape %k0 {shape = ["batch", "text + image", "2", "8"]} : !joint
    %v = ckpt.reshape %v0 {shape = ["batch", "text + image", "2", "8"]} : !joint
    %q = ckpt.rope %q1, %cos, %sin : !heads, !freqs, !freqs
    %k = ckpt.rope %k1, %cos, %sin : !heads, !freqs, !freqs
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "text + image", "16"]} : !heads
    ckpt.yield %o : !joint
  } : !joint
  %h = ckpt.ffn {
    %h0 = ckpt.linear %n, %w1 : !joint, !w1
    %h1 = ckpt.gelu %h0 {approximate = tanh} : !hidden
    ckpt.yield %h1 : !hidden
  } : !hidden
  %both = ckpt.concat %a, %h {dim = 2} : !joint, !hidden
  %p = ckpt.linear %both, %w2 : !both, !ckpt.tensor<16 x 48 x DTYPE>
  %g = ckpt.mul %p, %gate : !joint, !row
  %x = ckpt.add %x0, %g : !joint, !joint
  %txt1 = ckpt.slice %x {dim = 1, offset = "0", extent = "text"} : !joint
  %img1 = ckpt.slice %x {dim = 1, offset = "text", extent = "image"} : !joint
  ckpt.return %img1, %txt1 : !img, !txt
}
)";

Model flux(const std::string &dtype, int doubles, int singles) {
  std::string text = std::string(fluxSizesAndTypes) + fluxDouble;
  std::string stack = "\nckpt.stack @model {\n  ckpt.repeat @double, " +
                      std::to_string(doubles) + "\n";
  if (singles) {
    text += fluxSingle;
    stack += "  ckpt.repeat @single, " + std::to_string(singles) + "\n";
  }
  return compileModel(text + stack + "}\n", dtype,
                      {{"batch", 2}, {"image", 9}, {"text", 5}});
}

// 1: what is checkpointed and offloaded gives the values of plain, with two
// results too.
TEST(Controls, Case1CheckpointAndOffloadAgainstPlain) {
  for (std::string dtype : {"f32", "bf16"})
    for (bool twoResults : {false, true}) {
      Model model = twoResults ? flux(dtype, 2, 0)
                               : compileModel(smallTransformer(2), dtype,
                                              {{"tokens", 9}});
      PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
      expectOracle(model, none);
      EXPECT_EQ(find(none, "out.txt") != nullptr, twoResults);
      for (rt::Controls controls :
           {controlsOf(rt::Backend::Unsloth),
            controlsOf(rt::Backend::UnslothFfn),
            withAttentionOffload(controlsOf(rt::Backend::Unsloth)),
            withAttentionOffload(controlsOf(rt::Backend::UnslothFfn))}) {
        SCOPED_TRACE(dtype + " " + describe(controls));
        PolicyRun run = runModel(model, controls);
        expectSameBits(run, none);
        EXPECT_GT(run.statistics.copiedToHost, 0);
        EXPECT_GT(run.statistics.replayedOps, 0);
      }
    }
}

// 3: attention offload alone runs nothing twice.
TEST(Controls, Case3AttentionOffloadAloneReplaysNothing) {
  constexpr int blocks = 3;
  Model model = compileModel(smallTransformer(blocks), "f32", {{"tokens", 9}});
  PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
  PolicyRun run =
      runModel(model, withAttentionOffload(controlsOf(rt::Backend::None)));
  expectSameBits(run, none);
  EXPECT_EQ(run.statistics.replayedOps, 0);
  EXPECT_EQ(countLaunches(*run.schedule, Phase::Replay), 0);
  EXPECT_EQ(
      countLaunches(model, *run.schedule, rt::KernelClass::AttentionForward),
      blocks);
  EXPECT_EQ(run.statistics.launches, none.statistics.launches);
  EXPECT_GT(run.statistics.copiedToHost, 0);
  // Under a whole-block checkpoint attention runs twice, unless it is
  // offloaded.
  PolicyRun torch = runModel(model, controlsOf(rt::Backend::Torch));
  EXPECT_EQ(
      countLaunches(model, *torch.schedule, rt::KernelClass::AttentionForward),
      2 * blocks);
  PolicyRun offloaded =
      runModel(model, withAttentionOffload(controlsOf(rt::Backend::Torch)));
  EXPECT_EQ(countLaunches(model, *offloaded.schedule,
                          rt::KernelClass::AttentionForward),
            blocks);
}

/// `F0 F1 R0 R1 B1 B0`: phases and blocks in the order of their launches.
std::string orderOf(const rt::Schedule &schedule) {
  std::string text;
  for (const rt::Command &command : schedule.commands) {
    if (command.kind != rt::Command::Kind::Launch || command.block < 0)
      continue;
    std::string entry = std::string(1, "FRB"[int(command.phase)]) +
                        std::to_string(command.block) + " ";
    if (text.size() < entry.size() ||
        text.compare(text.size() - entry.size(), entry.size(), entry) != 0)
      text += entry;
  }
  return text;
}

// 4: 5 blocks by 2 go together as 0 1, 2 3, 4; 6 blocks by 2 of 4 as 0 1, then
// 2 and 3 plain, then 4 5; a stride below the interval is an error.
TEST(Controls, Case4WhichBlocksGoTogether) {
  Model model = compileModel(smallTransformer(6), "f32", {{"tokens", 4}});
  PolicyRun strided = runModel(model, controlsOf(rt::Backend::Torch, 2, 4));
  EXPECT_EQ(segmentsOf(*strided.schedule), "[0,1] 2 3 [4,5]");
  EXPECT_EQ(orderOf(*strided.schedule),
            "F0 F1 F2 F3 F4 F5 R4 R5 B5 B4 B3 B2 R0 R1 B1 B0 ");
  expectSameBits(strided, runModel(model, controlsOf(rt::Backend::None)));
  model.options.blocks = 5;
  PolicyRun run = runModel(model, controlsOf(rt::Backend::Torch, 2));
  EXPECT_EQ(segmentsOf(*run.schedule), "[0,1] [2,3] [4]");
  EXPECT_EQ(orderOf(*run.schedule),
            "F0 F1 F2 F3 F4 R4 B4 R2 R3 B3 B2 R0 R1 B1 B0 ");
  expectSameBits(run, runModel(model, controlsOf(rt::Backend::None)));
  rt::Result<PolicyRun> refused = runPolicy(
      model.loaded, model.options, controlsOf(rt::Backend::Torch, 2, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.message(),
            "--segment-stride: expected at least the interval 2, found 1");
}

// 5: segments of a state of two tensors, over two kinds of block.
TEST(Controls, Case5SegmentsOfATwoTensorState) {
  for (std::string dtype : {"f32", "bf16"}) {
    Model model = flux(dtype, 3, 2);
    PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
    expectOracle(model, none);
    for (rt::Controls controls :
         {controlsOf(rt::Backend::Torch, 2), controlsOf(rt::Backend::Torch, 4),
          controlsOf(rt::Backend::Torch, 9),
          controlsOf(rt::Backend::Torch, 2, 3),
          controlsOf(rt::Backend::Unsloth, 2)}) {
      SCOPED_TRACE(dtype + " " + describe(controls));
      PolicyRun run = runModel(model, controls);
      expectSameBits(run, none);
      EXPECT_GT(run.statistics.replayedOps, 0);
      EXPECT_FALSE(isAllZero(bytesOf(run, "grad.txt")));
    }
    PolicyRun whole = runModel(model, controlsOf(rt::Backend::Torch, 9));
    EXPECT_EQ(segmentsOf(*whole.schedule), "[0,1,2,3,4]");
    EXPECT_EQ(whole.simulation.heldBytes, 0);
  }
}

// 9: a Flux-like and the Wan block with an FFN checkpoint and attention
// offload. Each FFN runs again once and nothing else does.
void checkFfnAndAttentionOffload(const Model &model, int blocks) {
  PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
  expectOracle(model, none);
  for (rt::Backend backend : {rt::Backend::TorchFfn, rt::Backend::UnslothFfn}) {
    rt::Controls controls = withAttentionOffload(controlsOf(backend));
    SCOPED_TRACE(describe(controls));
    PolicyRun run = runModel(model, controls);
    expectSameBits(run, none);
    EXPECT_GT(run.statistics.copiedToHost, 0);
    EXPECT_EQ(
        countLaunches(model, *run.schedule, rt::KernelClass::AttentionForward),
        countLaunches(model, *none.schedule,
                      rt::KernelClass::AttentionForward));
    for (int block = 0; block < blocks; ++block) {
      int replayed = countLaunches(*run.schedule, Phase::Replay, block);
      EXPECT_GT(replayed, 0) << block;
      EXPECT_LT(replayed,
                countLaunches(*run.schedule, Phase::Forward, block) / 2)
          << block;
    }
  }
}

TEST(Controls, Case9FluxFfnCheckpointAndAttentionOffload) {
  for (std::string dtype : {"f32", "bf16"}) {
    SCOPED_TRACE(dtype);
    checkFfnAndAttentionOffload(flux(dtype, 2, 1), 3);
  }
}

TEST(Controls, Case9WanFfnCheckpointAndAttentionOffload) {
  Model model;
  model.options.file = CKPT_EXAMPLES "/twins/wan-1.3b.mlir";
  model.options.sizes = {{"image", 11}, {"text", 5}};
  model.options.blocks = 2;
  rt::Result<run::Loaded> loaded = run::load(model.options);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  model.loaded = *loaded;
  checkFfnAndAttentionOffload(model, 2);
}

//===----------------------------------------------------------------------===//
// 14: transposed, offset and holed views
//===----------------------------------------------------------------------===//

// `h` is text + image rows of 16. Each view of it has a reader that takes it by
// strides and a trained linear that wants it dense; the backward of both reads
// it again. What is offloaded is `h`, once, so all views come back by it:
//   %i   rows text .. end: an offset, and with a batch of 2 a hole
//   %c   columns 4 .. 12: a hole of 8 elements behind every 8
//   %t   each row as 4 x 4, transposed
constexpr const char *views = R"(
ckpt.size @batch default 1
ckpt.size @image
ckpt.size @text

!x = !ckpt.tensor<batch x text + image x 16 x DTYPE>
!img = !ckpt.tensor<batch x image x 16 x DTYPE>
!txt = !ckpt.tensor<batch x text x 16 x DTYPE>
!c = !ckpt.tensor<batch x text + image x 8 x DTYPE>
!heads = !ckpt.tensor<batch x text + image x 4 x 4 x DTYPE>
!w = !ckpt.tensor<16 x 16 x DTYPE>
!wc = !ckpt.tensor<8 x 8 x DTYPE>
!wt = !ckpt.tensor<4 x 4 x DTYPE>

ckpt.block @views
    states(%x : !x differentiable)
    params(%w "blocks.{i}.h.weight" trainable : !w,
           %wi "blocks.{i}.i.weight" trainable : !w,
           %wc "blocks.{i}.c.weight" trainable : !wc,
           %wt "blocks.{i}.t.weight" trainable : !wt) {
  %y = ckpt.attention {
    %h = ckpt.linear %x, %w : !x, !w
    %i = ckpt.slice %h {dim = 1, offset = "text", extent = "image"} : !x
    %li = ckpt.linear %i, %wi : !img, !w
    %pi = ckpt.mul %i, %li : !img, !img
    %rest = ckpt.slice %h {dim = 1, offset = "0", extent = "text"} : !x
    %joined = ckpt.concat %rest, %pi {dim = 1} : !txt, !img
    %c = ckpt.slice %h {dim = 2, offset = "4", extent = "8"} : !x
    %lc = ckpt.linear %c, %wc : !c, !wc
    %pc = ckpt.mul %c, %lc : !c, !c
    %cc = ckpt.concat %pc, %lc {dim = 2} : !c, !c
    %q = ckpt.reshape %h {shape = ["batch", "text + image", "4", "4"]} : !x
    %t = ckpt.transpose %q {permutation = array<i64: 0, 1, 3, 2>} : !heads
    %v = ckpt.linear %t, %wt : !heads, !wt
    %o0 = ckpt.sdpa %q, %t, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "text + image", "16"]} : !heads
    %s0 = ckpt.add %x, %joined : !x, !x
    %s1 = ckpt.add %cc, %o : !x, !x
    %r = ckpt.add %s0, %s1 : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model { ckpt.repeat @views, 2 }
)";

TEST(Controls, Case14ViewsComeBackRight) {
  for (std::string dtype : {"f32", "bf16"})
    for (int64_t batch : {1, 2}) {
      SCOPED_TRACE(dtype + " batch " + std::to_string(batch));
      Model model = compileModel(views, dtype,
                                 {{"batch", batch}, {"image", 6}, {"text", 3}});
      PolicyRun none = runModel(model, controlsOf(rt::Backend::None));
      expectOracle(model, none);
      for (rt::Backend backend :
           {rt::Backend::None, rt::Backend::Torch, rt::Backend::Unsloth}) {
        rt::Controls controls = withAttentionOffload(controlsOf(backend));
        SCOPED_TRACE(describe(controls));
        PolicyRun run = runModel(model, controls);
        expectSameBits(run, none);
        EXPECT_GT(run.statistics.copiedToHost, 0);
      }
      for (const char *name :
           {"grad.blocks.0.i.weight", "grad.blocks.0.c.weight",
            "grad.blocks.0.t.weight"})
        EXPECT_FALSE(isAllZero(bytesOf(none, name))) << name;
    }
}

} // namespace
