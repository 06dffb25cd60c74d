//===- SizeTest.cpp - polynomials in named sizes --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Size.h"
#include "Program/Externals.h"
#include "TestProgram.h"

#include <gtest/gtest.h>
#include <random>

using namespace ckpt::rt;

namespace {

Size parsed(const char *text) {
  std::optional<Size> size = Size::parse(text);
  EXPECT_TRUE(size) << text;
  return size.value_or(Size());
}

TEST(Size, PrintsOneFormForEqualSizes) {
  EXPECT_EQ(parsed("image*batch*2 + 4").str(), "2*batch*image + 4");
  EXPECT_EQ(parsed("4+batch*image+ image*batch").str(), "2*batch*image + 4");
  EXPECT_EQ(parsed("text + image").str(), "image + text");
  EXPECT_EQ(parsed("-a + 3 - 5").str(), "-a - 2");
  EXPECT_EQ(parsed("a - a").str(), "0");
  EXPECT_EQ(parsed("2*3*a*0").str(), "0");
  EXPECT_EQ(parsed("3072").str(), "3072");
  EXPECT_EQ(Size().str(), "0");
}

TEST(Size, RefusesOtherText) {
  for (const char *text :
       {"", " ", "a b", "a+", "*a", "a**b", "a+-b", "(a)", "3a", "a/2",
        "9223372036854775808", "a.b", "a\t", "--a"})
    EXPECT_FALSE(Size::parse(text)) << text;
}

TEST(Size, ReadsWhatItPrints) {
  // Random polynomials of up to four terms in up to three names.
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Size size;
    for (int term = random() % 5; term-- > 0;) {
      Size product = int64_t(random() % 19) - 9;
      for (int factor = random() % 4; factor-- > 0;)
        product *= Size::symbol(std::string(1, char('a' + random() % 3)));
      size += product;
    }
    EXPECT_EQ(parsed(size.str().c_str()), size) << size.str();
  }
}

TEST(Size, DividesExactlyOrNotAtAll) {
  EXPECT_EQ(parsed("6*a*b + 4*a").divideExactly(parsed("2*a")),
            parsed("3*b + 2"));
  EXPECT_EQ(parsed("a*a - b*b").divideExactly(parsed("a + b")),
            parsed("a - b"));
  EXPECT_EQ(Size().divideExactly(parsed("a")), Size());
  EXPECT_FALSE(parsed("3*a").divideExactly(2));
  EXPECT_FALSE(parsed("a + 1").divideExactly(parsed("a")));
  EXPECT_FALSE(parsed("a").divideExactly(0));
  // (p * q) / q = p for random p and q.
  std::mt19937 random(11);
  auto polynomial = [&] {
    Size size = int64_t(random() % 5) + 1;
    for (int term = 0; term < 3; ++term)
      size += Size(int64_t(random() % 9) - 4) *
              Size::symbol(std::string(1, char('a' + random() % 3))) *
              Size::symbol(std::string(1, char('a' + random() % 3)));
    return size;
  };
  for (int round = 0; round < 300; ++round) {
    Size p = polynomial(), q = polynomial();
    EXPECT_EQ((p * q).divideExactly(q), p) << p.str() << " / " << q.str();
  }
}

TEST(Size, EvaluatesOrSaysThatItCannot) {
  SizeValues values = {{"batch", 2}, {"image", 16384}};
  EXPECT_EQ(parsed("batch*image*3072*2 + 4").evaluate(values), 201326596);
  EXPECT_FALSE(parsed("batch*text").evaluate(values));
  // 2^62 fits, 2^63 does not; a cancelled overflow does.
  SizeValues big = {{"a", int64_t(1) << 31}};
  EXPECT_EQ(parsed("a*a").evaluate(big), int64_t(1) << 62);
  EXPECT_FALSE(parsed("2*a*a").evaluate(big));
  EXPECT_EQ(parsed("4*a*a - 4*a*a + 1").evaluate(big), 1);
  EXPECT_FALSE(parsed("a*a*a*a*a*a*a*a*a").evaluate(big));
}

TEST(Size, CoefficientsThatOverflowHaveNoValue) {
  Size huge = int64_t(1) << 62;
  EXPECT_FALSE((huge * 4).evaluate({}));
  EXPECT_FALSE((huge + huge).evaluate({}));
  EXPECT_FALSE((huge * -4).evaluate({}));
}

TEST(Size, CollectsItsNames) {
  std::set<std::string> names;
  parsed("batch*image + text*3 + 1").collectNames(names);
  EXPECT_EQ(names, (std::set<std::string>{"batch", "image", "text"}));
}

TEST(TensorType, BytesAreExtentsTimesElementSize) {
  TensorType type{{Size::symbol("batch"), Size::symbol("image"), 3072},
                  DType::BF16};
  EXPECT_EQ(type.bytes().str(), "6144*batch*image");
  EXPECT_EQ(type.str(), "batch x image x 3072 x bf16");
}

TEST(Externals, EachTensorOnceInTheFixedOrder) {
  Program program = makeAdapterProgram(2);
  Result<std::vector<BlockRef>> blocks = blocksOf(program, std::nullopt);
  ASSERT_TRUE(blocks.ok()) << blocks.message();
  std::vector<std::string> names;
  for (const External &external : externalsOf(program, *blocks))
    names.push_back(external.name);
  // x is not differentiable, so it has no gradient.
  EXPECT_EQ(names, (std::vector<std::string>{
                       "x", "cond", "blocks.0.w", "bias", "blocks.1.w", "out.x",
                       "grad.out.x", "grad.cond", "grad.blocks.0.w",
                       "grad.bias", "grad.blocks.1.w"}));
  for (const External &external :
       externalsOf(makeDitProgram(1), {BlockRef{0, 0, 0}}))
    EXPECT_TRUE(external.kind != ExternalKind::Gradient ||
                external.name == "grad.x");
}

TEST(Externals, LimitShortensEveryStackAndIsChecked) {
  Program program = makeDitProgram(3);
  program.stacks.push_back({"second", {0, 0}});
  // Frozen parameters of two stacks may be the same tensors.
  EXPECT_EQ(blocksOf(program, 2)->size(), 4u);
  EXPECT_EQ(blocksOf(program, 9)->size(), 5u);
  EXPECT_EQ((*blocksOf(program, 1))[1].stack, 1);
  EXPECT_EQ(blocksOf(program, 0).message(),
            "--blocks: expected at least 1, found 0");
}

TEST(Externals, StatesOfNeighboursMustFit) {
  Program program = makeDitProgram(2);
  program.kinds.push_back(program.kinds[0]);
  program.kinds[1].name = "wide";
  program.kinds[1].states[0].type.dims[2] = 4096;
  program.stacks[0].blocks = {0, 1};
  EXPECT_EQ(blocksOf(program, std::nullopt).message(),
            "block 1 of stack @model (@wide): expected state x to be batch x "
            "image x 4096 x bf16, found batch x image x 3072 x bf16 as result "
            "of block 0 of stack @model (@dit)");
  EXPECT_TRUE(blocksOf(program, 1).ok());
}

TEST(Externals, OneNameIsOneTensor) {
  Program program = makeAdapterProgram(1);
  program.stacks.push_back({"second", {0}});
  EXPECT_EQ(blocksOf(program, std::nullopt).message(),
            "block 0 of stack @second (@adapter): expected blocks.0.w to be "
            "trained by one block, found block 0 of stack @model (@adapter) "
            "too; give the stacks different parameter names");
}

TEST(Externals, SizesAreBoundOrRefused) {
  Program program = makeDitProgram(1);
  SizeValues bound = *bindSizes(program, {{"image", 64}});
  EXPECT_EQ(bound, (SizeValues{{"batch", 1}, {"image", 64}}));
  EXPECT_EQ(bindSizes(program, {}).message(),
            "size image: expected a value, found none; add --dim image=N");
  EXPECT_EQ(bindSizes(program, {{"image", 0}}).message(),
            "--dim image: expected at least 1, found 0");
  EXPECT_EQ(bindSizes(program, {{"image", 4}, {"imgae", 4}}).message(),
            "--dim imgae: expected one of batch, image, found imgae");
}

} // namespace
