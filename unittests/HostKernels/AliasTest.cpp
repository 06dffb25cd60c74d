//===- AliasTest.cpp - results in the place of arguments ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "ckpt/Conversion/TargetInfo.h"

#include <gtest/gtest.h>

using namespace ckpt;
using namespace ckpt::test;

namespace {

const char *x = "!ckpt.tensor<2 x 21 x 40 x bf16>";
const char *w = "!ckpt.tensor<40 x 40 x bf16>";
const char *stats = "!ckpt.tensor<2 x 21 x 2 x f32>";

std::string module() {
  std::string text =
      kernelText("gemm", "gemm", "%x : $X, %w : $W, %r : $X",
                 "%h = ckpt.linear %x, %w : $X, $W\n"
                 "%y = ckpt.add %r, %h : $X, $X\n"
                 "ckpt.yield %y, %h : $X, $X\n") +
      kernelText(
          "norm", "row_wise", "%x : $X, %r : $X",
          "%s = ckpt.add %x, %r : $X, $X\n"
          "%y, %st = ckpt.layer_norm %s {eps = 1.0e-6, with_stats} : $X\n"
          "ckpt.yield %y, %st : $X, $S\n") +
      kernelText("dx", "row_wise", "%dy : $X, %x : $X, %st : $S, %r : $X",
                 "%d = ckpt.layer_norm_dx %dy, %x, %st : $X, $X, $S\n"
                 "%y = ckpt.add %d, %r : $X, $X\n"
                 "ckpt.yield %y : $X\n") +
      kernelText("flat", "row_wise", "%x : $X, %g : !ckpt.tensor<1680 x bf16>",
                 "%f = ckpt.reshape %x {shape = [\"1680\"]} : $X\n"
                 "%p = ckpt.mul %f, %g : !ckpt.tensor<1680 x bf16>, "
                 "!ckpt.tensor<1680 x bf16>\n"
                 "%y = ckpt.reshape %p {shape = [\"2\", \"21\", \"40\"]} : "
                 "!ckpt.tensor<1680 x bf16>\n"
                 "ckpt.yield %y : $X\n") +
      kernelText("sum", "row_wise", "%s : !ckpt.tensor<40 x f32>, %x : $X",
                 "%y = ckpt.accumulate %s, %x : !ckpt.tensor<40 x f32>, $X\n"
                 "ckpt.yield %y : !ckpt.tensor<40 x f32>\n") +
      kernelText(
          "turn", "row_wise", "%w : $W",
          "%t = ckpt.transpose %w {permutation = array<i64: 1, 0>} : $W\n"
          "%y = ckpt.add %w, %t : $W, $W\n"
          "ckpt.yield %y : $W\n") +
      kernelText("halves", "row_wise",
                 "%a : !ckpt.tensor<2 x f32>, %b : !ckpt.tensor<4 x f32>",
                 "%s = ckpt.slice %b {dim = 0, offset = \"2\", extent = \"2\"}"
                 " : !ckpt.tensor<4 x f32>\n"
                 "%y = ckpt.concat %s, %a {dim = 0} : !ckpt.tensor<2 x f32>\n"
                 "ckpt.yield %y : !ckpt.tensor<4 x f32>\n");
  return fill(text, {{"X", x}, {"W", w}, {"S", stats}});
}

} // namespace

// What may be given away, kernel by kernel: the gemm's residual and not what it
// multiplies; a norm's rows; a sum's start; nothing that is read elsewhere.
TEST(Alias, answers) {
  Kernels kernels(module());
  HostTargetInfo info;
  auto may = [&](const char *name, unsigned operand, unsigned result) {
    return info.mayAlias(kernels.kernel(name), operand, result);
  };
  EXPECT_TRUE(may("gemm", 2, 0));
  EXPECT_TRUE(may("gemm", 2, 1));
  EXPECT_FALSE(may("gemm", 0, 0));
  EXPECT_FALSE(may("gemm", 1, 0));
  EXPECT_TRUE(may("norm", 0, 0));
  EXPECT_TRUE(may("norm", 1, 0));
  EXPECT_FALSE(may("norm", 0, 1));
  for (unsigned operand : {0, 1, 3})
    EXPECT_TRUE(may("dx", operand, 0)) << operand;
  EXPECT_FALSE(may("dx", 2, 0));
  EXPECT_TRUE(may("flat", 0, 0));
  EXPECT_FALSE(may("flat", 1, 0)); // another type
  EXPECT_TRUE(may("sum", 0, 0));
  EXPECT_FALSE(may("sum", 1, 0));
  EXPECT_FALSE(may("turn", 0, 0));
  EXPECT_FALSE(may("halves", 1, 0));
}

// Every pair that `mayAlias` allows gives the bits of the run apart.
TEST(Alias, bits) {
  Kernels kernels(module());
  HostTargetInfo info;
  unsigned pairs = 0;
  for (const char *name :
       {"gemm", "norm", "dx", "flat", "sum", "turn", "halves"}) {
    mlir::Block &body = kernels.kernel(name).getBody().front();
    std::vector<Tensor> reads;
    for (mlir::Type type : body.getArgumentTypes()) {
      auto tensor = llvm::cast<TensorType>(type);
      std::vector<int64_t> dims;
      for (const rt::Size &dim : tensor.getShape())
        dims.push_back(*dim.asConstant());
      reads.push_back(Tensor::random(dims, tensor.getElementType().isBF16(),
                                     7 + reads.size()));
    }
    auto pointers = [](std::vector<Tensor> &tensors) {
      std::vector<const Tensor *> result;
      for (Tensor &tensor : tensors)
        result.push_back(&tensor);
      return result;
    };
    std::vector<Tensor> apart = kernels.run(name, pointers(reads));
    for (unsigned operand = 0; operand < reads.size(); ++operand)
      for (unsigned result = 0; result < apart.size(); ++result) {
        if (!info.mayAlias(kernels.kernel(name), operand, result))
          continue;
        ++pairs;
        std::vector<Tensor> inputs = reads, outputs = kernels.outputs(name);
        std::vector<Tensor *> writes;
        for (Tensor &tensor : outputs)
          writes.push_back(&tensor);
        writes[result] = &inputs[operand];
        kernels.run(name, pointers(inputs), writes);
        for (unsigned i = 0; i < apart.size(); ++i)
          EXPECT_TRUE(*writes[i] == apart[i])
              << name << ": result " << i << " differs with result " << result
              << " over argument " << operand;
      }
  }
  EXPECT_EQ(pairs, 9u);
}
