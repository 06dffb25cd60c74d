//===- FormulaTest.cpp - numbers of a launch ------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Formula.h"

#include <gtest/gtest.h>

#include <random>

using namespace ckpt::rt;

namespace {

Formula parsed(const std::string &text) {
  std::optional<Formula> formula = Formula::parse(text);
  EXPECT_TRUE(formula) << text;
  return formula.value_or(Formula());
}

TEST(Formula, PrintsWhatItReads) {
  for (const char *text :
       {"0", "128", "2*batch*image + 4", "-a - 2", "$sms",
        "min($sms, ceildiv(batch*image, 128)*96)", "a*ceildiv(b, 2) + 3",
        "(a + 1)*ceildiv(b, 2)", "a - (ceildiv(b, 2) + 1)", "0 - ceildiv(a, 3)",
        "max(a, 1) - min(b, -c)", "(max(a, b) - 1)*(min(a, b) + 1)",
        "ceildiv(a, b)*(-a)"})
    EXPECT_EQ(parsed(text).str(), text);
  EXPECT_EQ(parsed(" min( a,b ) *1+0").str(), "min(a, b)");
  EXPECT_EQ(parsed("ceildiv(300, 128)*(2 + 1)").str(), "9");
  EXPECT_EQ(parsed("ceildiv(a, 1)").str(), "a");
  EXPECT_EQ(parsed("(a + b)*(a - b)").str(), "a*a - b*b");
}

TEST(Formula, RefusesOtherText) {
  for (const char *text : {"",
                           " ",
                           "a b",
                           "a +",
                           "*a",
                           "min(a)",
                           "min(a, b",
                           "min(a, b, c)",
                           "ceildiv a, b",
                           "foo(a, b)",
                           "(a",
                           "a)",
                           "a/2",
                           "$",
                           "a$b",
                           "3a",
                           "--a",
                           "a..b",
                           "9223372036854775808",
                           "(a)(b)"})
    EXPECT_FALSE(Formula::parse(text)) << text;
  // Neither parentheses nor long sums exhaust the stack.
  std::string deep(100000, '(');
  EXPECT_FALSE(Formula::parse(deep));
  std::string sum = "min(a, b)";
  for (int i = 0; i < 50000; ++i)
    sum += " + min(a, b)";
  EXPECT_FALSE(Formula::parse(sum));
}

TEST(Formula, Evaluates) {
  SizeValues values = {{"a", 300}, {"b", 7}, {multiprocessors, 132}};
  auto value = [&](const char *text) { return parsed(text).evaluate(values); };
  EXPECT_EQ(value("ceildiv(a, 128)"), 3);
  EXPECT_EQ(value("ceildiv(a, a)"), 1);
  EXPECT_EQ(value("ceildiv(0*a, b)"), 0);
  EXPECT_EQ(value("ceildiv(-a, b)"), -42);
  EXPECT_EQ(value("min($sms, ceildiv(a, 2)*b) + max(a, b)"), 432);
  EXPECT_EQ(value("a*ceildiv(b, 2) - ceildiv(b, 3)*2"), 1194);
  EXPECT_FALSE(value("ceildiv(a, b - 7)"));
  EXPECT_FALSE(value("ceildiv(a, -b)"));
  EXPECT_FALSE(value("min(a, c)"));
}

TEST(Formula, WhatLeavesSixtyThreeBitsHasNoValue) {
  SizeValues values = {{"a", INT64_C(1) << 40}};
  auto value = [&](const char *text) { return parsed(text).evaluate(values); };
  EXPECT_FALSE(value("min(a, a)*min(a, a)"));
  EXPECT_FALSE(value("min(4611686018427387904 + 0*a, a*a)"));
  EXPECT_EQ(value("min(a, a)*4194304 - 0"), INT64_C(1) << 62);
  EXPECT_FALSE(value("min(a, a)*4194304 + max(a, a)*4194304"));
  EXPECT_FALSE(value("0 - min(a, a)*4194304 - max(a, a)*4194304"));
  EXPECT_FALSE(value("a*a"));
}

TEST(Formula, BuiltAndReadAreTheSame) {
  // Random trees; the value is kept beside each.
  std::mt19937 random(5);
  SizeValues values = {{"a", 5}, {"bb", 12}, {multiprocessors, 3}};
  std::vector<Formula> made = {1, 7, Size::symbol("a"), Size::symbol("bb"),
                               Size::symbol(multiprocessors)};
  for (int i = 0; i < 400; ++i) {
    const Formula &x = made[random() % made.size()];
    const Formula &y = made[random() % made.size()];
    Formula all[] = {x + y,
                     x - y,
                     x * y,
                     Formula::ceilDiv(x, y),
                     Formula::min(x, y),
                     Formula::max(x, y)};
    Formula next = all[random() % 6];
    std::string text = next.str();
    if (text.size() > 200)
      continue;
    Formula back = parsed(text);
    EXPECT_EQ(back.str(), text);
    EXPECT_EQ(back.evaluate(values), next.evaluate(values)) << text;
    made.push_back(next);
  }
  std::set<std::string> names;
  parsed("min($sms, ceildiv(a*bb, 2))").collectNames(names);
  EXPECT_EQ(names, (std::set<std::string>{"$sms", "a", "bb"}));
}

} // namespace
