//===- GemmTest.cpp - the ways to run a product ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Conversion/CkptToNVVM/Generators.h"
#include "Program/Alternatives.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace ckpt;
using namespace ckpt::nvptx;

namespace {

class Gemm : public testing::Test {
protected:
  Gemm() { context.loadDialect<CkptDialect>(); }

  /// The code of the one kernel of a module: `arguments` and `body` of it.
  bool generate(const std::string &arguments, const std::string &body) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "ckpt.size @rows\nckpt.kernel @k gemm(" + arguments +
            ") workspace \"0\" flops \"0\" traffic \"0\" {\n" + body + "\n}",
        mlir::ParserConfig(&context));
    if (!module)
      return false;
    mlir::ScopedDiagnosticHandler handler(
        &context,
        [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
    code = Code();
    kernel = *module->getOps<KernelOp>().begin();
    return succeeded(generateGemm(kernel, {}, code));
  }

  /// y = x w^T + b of `out` by `in` features.
  bool generateLinear(int out, int in, const std::string &type = "bf16") {
    std::string x = "!ckpt.tensor<rows x " + std::to_string(in) + " x " + type +
                    ">",
                w = "!ckpt.tensor<" + std::to_string(out) + " x " +
                    std::to_string(in) + " x " + type + ">",
                b = "!ckpt.tensor<" + std::to_string(out) + " x " + type + ">",
                y = "!ckpt.tensor<rows x " + std::to_string(out) + " x " +
                    type + ">";
    return generate("%x: " + x + ", %w: " + w + ", %b: " + b,
                    "%y = ckpt.linear %x, %w, %b : " + x + ", " + w + ", " + b +
                        "\nckpt.yield %y : " + y);
  }

  /// Which way is taken for so many rows.
  std::string chosen(int64_t rows) {
    rt::Kernel kernel;
    kernel.alternatives = code.alternatives;
    rt::Result<const rt::Alternative *> best = rt::chooseAlternative(
        kernel, {{"rows", rows}, {rt::multiprocessors, 132}});
    EXPECT_TRUE(best.ok());
    return best.ok() ? (*best)->name : "";
  }

  std::string textOf(unsigned function) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    code.functions[function].module->print(stream);
    return text;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelOp kernel;
  Code code;
  std::string message;
};

} // namespace

TEST_F(Gemm, Recipe) {
  ASSERT_TRUE(generateLinear(3072, 12288));
  const rt::Alternative &first = code.alternatives.front();
  EXPECT_EQ(first.name, "128x256 cluster 2");
  ASSERT_EQ(first.launches.size(), 1u);
  const rt::GpuLaunch &launch = first.launches.front();
  const rt::GpuFunction &function = code.functions[launch.function].launch;
  EXPECT_EQ(function.symbol, "gemm_128x256_c2_nt_bias");
  EXPECT_EQ(function.threads, 384);
  EXPECT_EQ(function.cluster, 2);
  // Four stages of 48 KiB, 32 KiB for results, eight barriers.
  EXPECT_EQ(function.sharedBytes, 4 * 49152 + 32768 + 64);

  // x, w (half of a tile's rows for each block of a cluster), y.
  const rt::LaunchArgument &x = launch.arguments[0];
  EXPECT_EQ(x.argument, 0);
  EXPECT_EQ(x.extents[0].str(), "12288");
  EXPECT_EQ(x.extents[1].str(), "rows");
  EXPECT_EQ(x.strides[0].str(), "24576");
  EXPECT_EQ(x.box, (std::vector<int>{64, 128}));
  EXPECT_EQ(launch.arguments[1].box, (std::vector<int>{64, 128}));
  EXPECT_EQ(launch.arguments[2].argument, 3);
  EXPECT_EQ(launch.arguments[2].box, (std::vector<int>{64, 16}));
  EXPECT_EQ(launch.gridX.evaluate({{"rows", 256}, {"$sms", 132}}), 24);
  EXPECT_EQ(launch.gridX.evaluate({{"rows", 16384}, {"$sms", 132}}), 132);
}

TEST_F(Gemm, CardIsFullAtFewRows) {
  // 96 tiles of 128x256 would leave a third of 132 multiprocessors idle.
  ASSERT_TRUE(generateLinear(3072, 3072));
  EXPECT_EQ(chosen(1024), "128x192 cluster 2");
  EXPECT_EQ(chosen(16384), "128x256 cluster 2");
  EXPECT_EQ(chosen(64), "64x128 cluster 2");
}

TEST_F(Gemm, FunctionsDoNotDependOnSizes) {
  ASSERT_TRUE(generateLinear(3072, 12288));
  std::string one = textOf(0);
  ASSERT_TRUE(generateLinear(9216, 3072));
  EXPECT_EQ(one, textOf(0));
  ASSERT_TRUE(generateLinear(9216, 3072, "f16"));
  EXPECT_NE(one, textOf(0));
}

TEST_F(Gemm, NarrowProductsAreSplit) {
  ASSERT_TRUE(generateLinear(16, 3072));
  EXPECT_EQ(chosen(1024), "128x16 split");
  EXPECT_EQ(chosen(16384), "128x16");
  const rt::Alternative &split = code.alternatives.back();
  ASSERT_EQ(split.launches.size(), 2u);
  // 8 tiles by 16 parts of 3 of the 48 k blocks; then 1024 x 16 sums, 4 a
  // thread.
  rt::SizeValues sizes = {{"rows", 1024}, {"$sms", 132}};
  EXPECT_EQ(split.launches[0].gridX.evaluate(sizes), 128);
  EXPECT_EQ(split.launches[1].gridX.evaluate(sizes), 16);
  // f32 parts, 32 at most.
  EXPECT_EQ(gemmWorkspace(kernel).str(), "2048*rows");
  for (const Function &function : code.functions)
    EXPECT_TRUE(succeeded(mlir::verify(*function.module)));
}

TEST_F(Gemm, OperandsOfTheEpilogueAndSeveralResults) {
  std::string h = "!ckpt.tensor<rows x 512 x bf16>";
  ASSERT_TRUE(
      generate("%dy: " + h + ", %w: !ckpt.tensor<512 x 512 x bf16>, %h: " + h,
               "%0 = ckpt.linear_dx %dy, %w : " + h +
                   ", !ckpt.tensor<512 x 512 x bf16>\n"
                   "%1 = ckpt.gelu_dx %0, %h {approximate = tanh} : " +
                   h + "\nckpt.yield %1, %0 : " + h + ", " + h));
  const rt::GpuFunction &function = code.functions.front().launch;
  EXPECT_EQ(function.symbol, "gemm_128x256_c2_nn_gelu_dx_x2");
  // Three stages: two results take 64 KiB.
  EXPECT_EQ(function.sharedBytes, 3 * 49152 + 65536 + 48);
  // dy, w (N-major: 64 columns by half of the k block), two results, h.
  const auto &arguments = code.alternatives.front().launches[0].arguments;
  EXPECT_EQ(arguments[1].box, (std::vector<int>{64, 32}));
  EXPECT_EQ(arguments[4].argument, 2);
  EXPECT_EQ(arguments[4].box, (std::vector<int>{64, 128}));
}

TEST_F(Gemm, Refusals) {
  // Rows of 4092 bytes.
  EXPECT_FALSE(generateLinear(512, 2046));
  EXPECT_NE(message.find("expected the rows of the first operand to be a "
                         "multiple of 16 bytes apart, found 4092 (2046 bf16); "
                         "pad the last extent to a multiple of 8"),
            std::string::npos)
      << message;
  EXPECT_FALSE(generateLinear(512, 2048, "f32"));
  EXPECT_NE(message.find("expected operands of bf16 or f16 on a GPU, found "
                         "'f32'"),
            std::string::npos)
      << message;
}
