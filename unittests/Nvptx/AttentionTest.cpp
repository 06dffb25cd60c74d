//===- AttentionTest.cpp - how attention is launched ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Conversion/CkptToNVVM/Generators.h"
#include "../../lib/Conversion/CkptToNVVM/StridedView.h"

#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

namespace {

class Attention : public testing::Test {
protected:
  Attention()
      : handler(&context, [this](Diagnostic &diagnostic) {
          message += diagnostic.str() + "\n";
        }) {
    context.loadDialect<CkptDialect>();
  }

  /// The kernel of a text in which $E stands for the element type, $D for the
  /// head size.
  KernelOp parse(std::string text, const char *element = "bf16",
                 const char *head = "128") {
    for (auto [mark, value] : {std::pair{"$E", element}, {"$D", head}})
      for (size_t at; (at = text.find(mark)) != std::string::npos;)
        text.replace(at, 2, value);
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {};
    return *module->getOps<KernelOp>().begin();
  }

  Code generate(KernelOp kernel, bool deterministic = false) {
    Options options;
    options.deterministic = deterministic;
    Code code;
    bool isForward =
        kernel.getKernelClass() == ckpt::KernelClass::AttentionForward;
    LogicalResult done = isForward
                             ? generateAttentionForward(kernel, options, code)
                             : generateAttentionBackward(kernel, options, code);
    if (failed(done))
      code = {};
    return code;
  }

  static int64_t valueOf(const rt::Formula &formula, rt::SizeValues values) {
    values.try_emplace(rt::multiprocessors, 132);
    return formula.evaluate(values).value_or(-1);
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::string message;
  OwningOpRef<ModuleOp> module;
};

} // namespace

static const char *forward = R"(
ckpt.size @batch
ckpt.size @queries
ckpt.size @keys
ckpt.kernel @sdpa attention_forward(%q: !ckpt.tensor<batch x queries x 24 x $D x $E>,
    %kv: !ckpt.tensor<batch x keys x 2 x 24 x $D x $E>)
    workspace "0" flops "0" traffic "0" {
  %k0 = ckpt.slice %kv {dim = 2, offset = "0", extent = "1"} : !ckpt.tensor<batch x keys x 2 x 24 x $D x $E>
  %v0 = ckpt.slice %kv {dim = 2, offset = "1", extent = "1"} : !ckpt.tensor<batch x keys x 2 x 24 x $D x $E>
  %k = ckpt.reshape %k0 {shape = ["batch", "keys", "24", "$D"]} : !ckpt.tensor<batch x keys x 1 x 24 x $D x $E>
  %v = ckpt.reshape %v0 {shape = ["batch", "keys", "24", "$D"]} : !ckpt.tensor<batch x keys x 1 x 24 x $D x $E>
  %o, %lse = ckpt.sdpa %q, %k, %v {with_lse} : !ckpt.tensor<batch x queries x 24 x $D x $E>, !ckpt.tensor<batch x keys x 24 x $D x $E>
  ckpt.yield %o, %lse : !ckpt.tensor<batch x queries x 24 x $D x $E>, !ckpt.tensor<batch x 24 x queries x f32>
})";

TEST_F(Attention, ReadsOperandsWhereTheyLie) {
  Code code = generate(parse(forward));
  ASSERT_EQ(code.alternatives.size(), 2u) << message;
  const rt::GpuLaunch &launch = code.alternatives[0].launches[0];
  rt::SizeValues sizes{{"batch", 2}, {"queries", 1400}, {"keys", 77}};
  // v: the second half of each token of the second argument.
  const rt::LaunchArgument &v = launch.arguments[2];
  EXPECT_EQ(v.kind, rt::LaunchArgument::Kind::Map);
  EXPECT_EQ(v.argument, 1);
  EXPECT_EQ(valueOf(v.offset, sizes), 24 * 128 * 2);
  std::vector<int64_t> extents, strides;
  for (const rt::Formula &extent : v.extents)
    extents.push_back(valueOf(extent, sizes));
  for (const rt::Formula &stride : v.strides)
    strides.push_back(valueOf(stride, sizes));
  EXPECT_EQ(extents, (std::vector<int64_t>{128, 77, 24, 2}));
  EXPECT_EQ(strides, (std::vector<int64_t>{2 * 24 * 128 * 2, 128 * 2,
                                           77 * 2 * 24 * 128 * 2}));
  // o and lse: the results, behind two arguments.
  EXPECT_EQ(launch.arguments[3].argument, 2);
  EXPECT_EQ(launch.arguments[5].argument, 3);
  EXPECT_EQ(valueOf(launch.gridX, sizes), 12);
  EXPECT_EQ(valueOf(launch.gridY, sizes), 24);
  EXPECT_EQ(valueOf(launch.gridZ, sizes), 2);
}

TEST_F(Attention, PairsBlocksOfQueriesWhereThatPays) {
  Code code = generate(parse(forward));
  ASSERT_EQ(code.alternatives.size(), 2u) << message;
  EXPECT_EQ(code.functions[0].launch.cluster, 2);
  EXPECT_EQ(code.functions[1].launch.cluster, 1);
  auto prefersPairs = [&](int64_t queries) {
    rt::SizeValues sizes{{"batch", 1}, {"queries", queries}, {"keys", 4096}};
    return valueOf(code.alternatives[0].cost, sizes) <=
           valueOf(code.alternatives[1].cost, sizes);
  };
  EXPECT_TRUE(prefersPairs(16384));
  EXPECT_TRUE(prefersPairs(1024));
  // Ten waves and no half-empty pair.
  EXPECT_FALSE(prefersPairs(128 * 11));
}

TEST_F(Attention, SharesFunctionsBetweenSizes) {
  Code code = generate(parse(forward, "f16", "64"));
  ASSERT_EQ(code.functions.size(), 1u) << message;
  EXPECT_EQ(code.functions[0].launch.symbol, "attention_forward_d64_f16");
  EXPECT_EQ(code.functions[0].launch.threads, 512);
  std::string text;
  llvm::raw_string_ostream stream(text);
  code.functions[0].module->print(stream);
  for (const char *size : {"batch", "queries", "keys"})
    EXPECT_EQ(text.find(size), std::string::npos);
}

TEST_F(Attention, RefusesByName) {
  EXPECT_TRUE(generate(parse(forward, "bf16", "96")).functions.empty());
  EXPECT_EQ(message, "'ckpt.sdpa' op expected a head size of 64 or 128 for "
                     "nvptx, found 96\n");
  message.clear();
  EXPECT_TRUE(generate(parse(forward, "f32")).functions.empty());
  EXPECT_EQ(message, "'ckpt.sdpa' op expected bf16 or f16 operands for nvptx, "
                     "found 'f32'\n");
  message.clear();
  EXPECT_TRUE(generate(parse(R"(
ckpt.size @n
ckpt.kernel @odd attention_forward(%a: !ckpt.tensor<1 x n x 68 x bf16>)
    workspace "0" flops "0" traffic "0" {
  %s = ckpt.slice %a {dim = 2, offset = "4", extent = "64"} : !ckpt.tensor<1 x n x 68 x bf16>
  %q = ckpt.reshape %s {shape = ["1", "n", "1", "64"]} : !ckpt.tensor<1 x n x 64 x bf16>
  %o = ckpt.sdpa %q, %q, %q : !ckpt.tensor<1 x n x 1 x 64 x bf16>
  ckpt.yield %o : !ckpt.tensor<1 x n x 1 x 64 x bf16>
})"))
                  .functions.empty());
  EXPECT_EQ(message, "'ckpt.sdpa' op expected q with strides of whole 16 bytes "
                     "for nvptx, found 68 elements\n");
  message.clear();
  EXPECT_TRUE(generate(parse(R"(
ckpt.size @n
ckpt.kernel @computed attention_forward(%q: !ckpt.tensor<1 x n x 1 x 64 x bf16>)
    workspace "0" flops "0" traffic "0" {
  %k = ckpt.silu %q : !ckpt.tensor<1 x n x 1 x 64 x bf16>
  %o = ckpt.sdpa %q, %k, %q {scale = 0.5 : f64} : !ckpt.tensor<1 x n x 1 x 64 x bf16>
  ckpt.yield %o : !ckpt.tensor<1 x n x 1 x 64 x bf16>
})"))
                  .functions.empty());
  EXPECT_EQ(
      message,
      "'ckpt.sdpa' op expected k to be a part of one argument or result "
      "for nvptx: slices, reshapes and concats of it, nothing computed\n");
}

static const char *backward = R"(
ckpt.size @batch
ckpt.size @queries
ckpt.size @keys
!q = !ckpt.tensor<batch x queries x 12 x $D x $E>
!k = !ckpt.tensor<batch x keys x 12 x $D x $E>
!lse = !ckpt.tensor<batch x 12 x queries x f32>
ckpt.kernel @sdpa_dx attention_backward(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q)
    workspace "0" flops "0" traffic "0" {
  %dq, %dk, %dv = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !q, !k, !k, !q, !lse, !q
  $Y
})";

static std::string backwardThat(const char *yields) {
  std::string text = backward;
  return text.replace(text.find("$Y"), 2, yields);
}

TEST_F(Attention, WritesGradientsIntoOneTensor) {
  Code code = generate(parse(backwardThat(R"(
  %a = ckpt.reshape %dk {shape = ["batch", "keys", "1536"]} : !k
  %b = ckpt.reshape %dv {shape = ["batch", "keys", "1536"]} : !k
  %c = ckpt.concat %b, %a {dim = 2} : !ckpt.tensor<batch x keys x 1536 x bf16>, !ckpt.tensor<batch x keys x 1536 x bf16>
  ckpt.yield %c, %dq : !ckpt.tensor<batch x keys x 3072 x bf16>, !q)")));
  ASSERT_EQ(code.alternatives.size(), 1u) << message;
  const std::vector<rt::GpuLaunch> &launches = code.alternatives[0].launches;
  ASSERT_EQ(launches.size(), 3u);
  rt::SizeValues sizes{{"batch", 1}, {"queries", 200}, {"keys", 512}};
  const rt::LaunchArgument &dk = launches[1].arguments[4],
                           &dv = launches[1].arguments[5];
  EXPECT_EQ(dk.argument, 6);
  EXPECT_EQ(dv.argument, 6);
  EXPECT_EQ(valueOf(dk.offset, sizes), 1536 * 2);
  EXPECT_EQ(valueOf(dv.offset, sizes), 0);
  EXPECT_EQ(valueOf(dk.strides[0], sizes), 3072 * 2);
  EXPECT_EQ(launches[2].arguments[0].argument, 7);
  EXPECT_EQ(valueOf(launches[1].gridX, sizes), 4);
  EXPECT_EQ(valueOf(launches[2].gridX, sizes), 3);
}

TEST_F(Attention, SplitsQueriesForDqAlone) {
  KernelOp kernel = parse(backwardThat("ckpt.yield %dq : !q"));
  Code code = generate(kernel);
  ASSERT_EQ(code.alternatives.size(), 1u) << message;
  const rt::GpuLaunch &launch = code.alternatives[0].launches[1];
  // 48 blocks of keys: 22 parts are 8 for each multiprocessor.
  EXPECT_EQ(
      valueOf(launch.gridX, {{"batch", 1}, {"queries", 32760}, {"keys", 512}}),
      4 * 22);
  // Never parts of less than 16 steps.
  EXPECT_EQ(
      valueOf(launch.gridX, {{"batch", 1}, {"queries", 200}, {"keys", 512}}),
      4);
  EXPECT_EQ(valueOf(launch.gridX,
                    {{"batch", 1}, {"queries", 32760}, {"keys", 32760}}),
            256);
}

TEST_F(Attention, KeepsItsWorkspace) {
  for (const char *head : {"64", "128"}) {
    KernelOp kernel =
        parse(backwardThat("ckpt.yield %dq, %dk : !q, !k"), "bf16", head);
    Code code = generate(kernel, /*deterministic=*/true);
    ASSERT_EQ(code.alternatives.size(), 1u) << message;
    const rt::GpuLaunch &launch = code.alternatives[0].launches[1];
    int rows = launch.arguments[0].box[1];
    for (int64_t queries : {1, 79, 80, 81, 127, 128, 129, 1400})
      for (int64_t batch : {1, 3}) {
        rt::SizeValues sizes{
            {"batch", batch}, {"queries", queries}, {"keys", 200}};
        int64_t steps = (queries + rows - 1) / rows;
        // The last piece: tickets and two semaphores a step.
        int64_t end = valueOf(launch.arguments[11].offset, sizes) +
                      batch * 12 * (1 + 2 * steps) * 4;
        EXPECT_LE(end, *attentionBackwardWorkspace(kernel).evaluate(sizes))
            << head << ' ' << queries;
        for (int i : {8, 9, 10})
          EXPECT_EQ(valueOf(launch.arguments[i].offset, sizes) % 16, 0);
      }
  }
}

TEST_F(Attention, HasTwoFunctionsForTwoOrders) {
  KernelOp kernel = parse(backwardThat("ckpt.yield %dq, %dk : !q, !k"));
  Code free = generate(kernel), fixed = generate(kernel, true);
  ASSERT_EQ(free.functions.size(), 3u) << message;
  ASSERT_EQ(fixed.functions.size(), 3u) << message;
  EXPECT_NE(free.functions[1].launch.symbol, fixed.functions[1].launch.symbol);
  EXPECT_EQ(free.functions[2].launch.symbol, fixed.functions[2].launch.symbol);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

TEST(StridedViewTest, ReshapesWhatIsEvenlySpaced) {
  rt::Size n = rt::Size::symbol("n");
  StridedView whole = StridedView::dense(0, {n, 9216});
  StridedView part = whole.slice(1, 3072, 3072);
  std::optional<StridedView> heads = part.reshape({1, n, 24, 128});
  ASSERT_TRUE(heads);
  EXPECT_EQ(heads->offset, 3072);
  EXPECT_EQ(heads->strides[1], 9216);
  EXPECT_EQ(heads->strides[2], 128);
  EXPECT_EQ(heads->strides[3], 1);
  // Rows that are not next to each other do not merge.
  EXPECT_FALSE(part.reshape({n * 3072}));
  EXPECT_TRUE(whole.reshape({n * 9216}));
  EXPECT_FALSE(part.isDense());
}
