//===- VariantsTest.cpp - variants in the IR and as plain data ------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// The passes write what `ckpt::rt::makeVariant` decides into regions, and
// `readVariants` reads it back from launches, copies and uses. Over the menus
// of the examples the way there and back changes nothing, with and without the
// usual cleanups between.
//
//===----------------------------------------------------------------------===//

#include "Plan/Policy.h"
#include "Plan/Rematerialize.h"
#include "ckpt/Transforms/Pipelines.h"
#include "ckpt/Transforms/Problem.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

using namespace ckpt;

namespace {

std::string textOf(const rt::BlockKind &kind,
                   const std::vector<rt::VariantStep> &steps) {
  std::string text;
  for (const rt::VariantStep &step : steps) {
    switch (step.kind) {
    case rt::VariantStep::Kind::Launch:
      text += kind.ops[step.index].id + "(";
      for (bool write : step.writes)
        text += write ? "1" : "0";
      text += ") ";
      break;
    case rt::VariantStep::Kind::CopyOut:
      text += "out:" + kind.saved[step.index].name + " ";
      break;
    case rt::VariantStep::Kind::CopyIn:
      text += "in:" + kind.saved[step.index].name + " ";
      break;
    }
  }
  return text;
}

class Planned : public testing::Test {
protected:
  void load(const char *twin) {
    context.loadDialect<CkptDialect>();
    module = mlir::parseSourceFile<mlir::ModuleOp>(
        std::string(CKPT_EXAMPLES) + "/twins/" + twin, &context);
    ASSERT_TRUE(module);
  }

  /// Runs the passes and reads the program back.
  rt::Program plan(bool cleanUp) {
    mlir::PassManager pm(&context);
    buildSelectPipeline(pm);
    PlanPassOptions options;
    options.menu = true;
    buildPlanPipeline(pm, options);
    if (cleanUp) {
      pm.addPass(mlir::createCSEPass());
      pm.addPass(mlir::createCanonicalizerPass());
      pm.addPass(mlir::createLoopInvariantCodeMotionPass());
    }
    EXPECT_TRUE(succeeded(pm.run(*module)));
    mlir::FailureOr<rt::Program> program = buildProblem(*module);
    EXPECT_TRUE(succeeded(program));
    if (failed(program) || failed(readVariants(*module, *program)))
      return {};
    return *program;
  }

  void expectDecisions(const rt::Program &program) {
    ASSERT_EQ(program.kinds.size(), 1u);
    const rt::BlockKind &kind = program.kinds[0];
    std::vector<rt::Demand> menu = rt::menuOf(program, 0);
    // `none`, four backends at the first block and at others, intervals.
    EXPECT_GE(menu.size(), 8u);
    ASSERT_EQ(kind.variants.size(), menu.size());
    for (size_t i = 0; i < menu.size(); ++i) {
      const rt::Variant &read = kind.variants[i];
      EXPECT_TRUE(read.demand == menu[i]) << i;
      rt::Result<rt::Variant> decided = rt::makeVariant(kind, menu[i]);
      ASSERT_TRUE(decided.ok()) << decided.message();
      EXPECT_EQ(textOf(kind, read.forward), textOf(kind, decided->forward));
      EXPECT_EQ(textOf(kind, read.replay), textOf(kind, decided->replay));
      EXPECT_EQ(textOf(kind, read.backward), textOf(kind, decided->backward));
    }
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

class Variants : public Planned,
                 public testing::WithParamInterface<const char *> {
  void SetUp() override { load(GetParam()); }
};

TEST_P(Variants, ComeBackAsDecided) { expectDecisions(plan(false)); }

TEST_P(Variants, SurviveCleanups) { expectDecisions(plan(true)); }

INSTANTIATE_TEST_SUITE_P(Twins, Variants,
                         testing::Values("dit-3072.mlir", "dit-lora.mlir",
                                         "wan-1.3b.mlir", "minilm.mlir"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return name;
                         });

/// What the backward reads of the sweep's block, by bytes: x, qkv, o, x1 and
/// the hidden of four widths make 10 units of batch x image x width x 2 bytes;
/// LSE and the statistics of two norms come on top.
TEST_F(Planned, SavedBytesOfTheSweep) {
  load("dit-3072.mlir");
  rt::Program program = plan(false);
  rt::Size units, rest;
  for (const rt::SavedValue &saved : program.kinds.at(0).saved) {
    const rt::TensorType &type = program.kinds[0].values[saved.value].type;
    (type.dtype == rt::DType::BF16 ? units : rest) += type.bytes();
  }
  rt::Size tokens = rt::Size::symbol("batch") * rt::Size::symbol("image");
  EXPECT_EQ(units.str(), (tokens * rt::Size(10 * 384 * 2)).str());
  EXPECT_EQ(rest.str(), (tokens * rt::Size((24 + 2 * 2) * 4)).str());
}

} // namespace
