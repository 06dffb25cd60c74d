//===- Size.cpp - polynomials in named sizes ------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Size.h"

#include <algorithm>
#include <cctype>
#include <limits>

using namespace ckpt::rt;

namespace {

constexpr int64_t maxCoefficient = std::numeric_limits<int64_t>::max();

// A coefficient that leaves 64 bits sticks at the largest value, and a
// polynomial with such a coefficient has no value: `evaluate` says so.
int64_t saturate(__int128 value) {
  if (value >= maxCoefficient || value <= -__int128(maxCoefficient))
    return maxCoefficient;
  return int64_t(value);
}

int64_t addSaturated(int64_t a, int64_t b) {
  if (a == maxCoefficient || b == maxCoefficient)
    return maxCoefficient;
  return saturate(__int128(a) + b);
}

int64_t multiplySaturated(int64_t a, int64_t b) {
  if (a == maxCoefficient || b == maxCoefficient)
    return maxCoefficient;
  return saturate(__int128(a) * b);
}

void addTerm(Size::Terms &terms, const std::vector<std::string> &factors,
             int64_t coefficient) {
  int64_t &slot = terms[factors];
  slot = addSaturated(slot, coefficient);
  if (slot == 0)
    terms.erase(factors);
}

// Graded order: by degree, then by the exponents of the names in alphabetical
// order. Multiplying both sides keeps it, which polynomial division needs.
bool precedes(const std::vector<std::string> &a,
              const std::vector<std::string> &b) {
  if (a.size() != b.size())
    return a.size() < b.size();
  return b < a;
}

Size::Terms::const_iterator leadingTerm(const Size::Terms &terms) {
  return std::max_element(terms.begin(), terms.end(), [](auto &a, auto &b) {
    return precedes(a.first, b.first);
  });
}

/// Reads one polynomial from a text, by recursive descent over its letters.
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::optional<Size> parse() {
    Size sum;
    bool negative = accept('-');
    while (true) {
      std::optional<Size> term = parseTerm();
      if (!term)
        return std::nullopt;
      sum = negative ? sum - *term : sum + *term;
      skipSpace();
      if (position == text.size())
        return sum;
      negative = accept('-');
      if (!negative && !accept('+'))
        return std::nullopt;
    }
  }

private:
  std::optional<Size> parseTerm() {
    Size product = 1;
    do {
      std::optional<Size> factor = parseFactor();
      if (!factor)
        return std::nullopt;
      product *= *factor;
    } while (accept('*'));
    return product;
  }

  std::optional<Size> parseFactor() {
    skipSpace();
    size_t begin = position;
    while (
        position < text.size() &&
        (std::isalnum((unsigned char)text[position]) || text[position] == '_'))
      ++position;
    std::string word(text.substr(begin, position - begin));
    if (word.empty())
      return std::nullopt;
    if (!std::isdigit((unsigned char)word[0]))
      return Size::symbol(word);
    int64_t value = 0;
    for (char c : word) {
      if (!std::isdigit((unsigned char)c) ||
          __builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(c - '0'), &value))
        return std::nullopt;
    }
    return Size(value);
  }

  bool accept(char c) {
    skipSpace();
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }

  void skipSpace() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  std::string_view text;
  size_t position = 0;
};

} // namespace

Size::Size(int64_t value) {
  if (value != 0)
    terms[{}] = value;
}

Size Size::symbol(std::string name) {
  Size size;
  size.terms[{std::move(name)}] = 1;
  return size;
}

std::optional<Size> Size::parse(std::string_view text) {
  return Parser(text).parse();
}

std::string Size::str() const {
  std::string text;
  auto print = [&](const std::vector<std::string> &factors,
                   int64_t coefficient) {
    bool negative = coefficient < 0;
    if (text.empty())
      text += negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    // Saturation keeps the smallest int64_t out.
    int64_t magnitude = negative ? -coefficient : coefficient;
    bool needsStar = false;
    if (magnitude != 1 || factors.empty()) {
      text += std::to_string(magnitude);
      needsStar = true;
    }
    for (const std::string &factor : factors) {
      text += (needsStar ? "*" : "") + factor;
      needsStar = true;
    }
  };
  // The constant, first in the map, is printed last.
  for (auto &[factors, coefficient] : terms)
    if (!factors.empty())
      print(factors, coefficient);
  if (auto constant = terms.find({}); constant != terms.end())
    print({}, constant->second);
  return text.empty() ? "0" : text;
}

Size Size::operator+(const Size &other) const {
  Size sum = *this;
  for (auto &[factors, coefficient] : other.terms)
    addTerm(sum.terms, factors, coefficient);
  return sum;
}

Size Size::operator-(const Size &other) const { return *this + other * -1; }

Size Size::operator*(const Size &other) const {
  Size product;
  for (auto &[factors, coefficient] : terms) {
    for (auto &[otherFactors, otherCoefficient] : other.terms) {
      std::vector<std::string> all;
      std::merge(factors.begin(), factors.end(), otherFactors.begin(),
                 otherFactors.end(), std::back_inserter(all));
      addTerm(product.terms, all,
              multiplySaturated(coefficient, otherCoefficient));
    }
  }
  return product;
}

std::optional<Size> Size::divideExactly(const Size &divisor) const {
  if (divisor.terms.empty())
    return std::nullopt;
  auto lead = *leadingTerm(divisor.terms);
  Size quotient, rest = *this;
  while (!rest.terms.empty()) {
    auto top = *leadingTerm(rest.terms);
    if (top.second == maxCoefficient || top.second % lead.second != 0 ||
        !std::includes(top.first.begin(), top.first.end(), lead.first.begin(),
                       lead.first.end()))
      return std::nullopt;
    std::vector<std::string> factors;
    std::set_difference(top.first.begin(), top.first.end(), lead.first.begin(),
                        lead.first.end(), std::back_inserter(factors));
    Size term;
    term.terms[factors] = top.second / lead.second;
    quotient += term;
    rest = rest - term * divisor;
  }
  return quotient;
}

std::optional<int64_t> Size::asConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

std::optional<int64_t> Size::evaluate(const SizeValues &values) const {
  __int128 sum = 0;
  for (auto &[factors, coefficient] : terms) {
    if (coefficient == maxCoefficient)
      return std::nullopt;
    __int128 product = coefficient;
    for (const std::string &factor : factors) {
      auto found = values.find(factor);
      if (found == values.end() ||
          __builtin_mul_overflow(product, __int128(found->second), &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  if (sum >= maxCoefficient || sum <= -__int128(maxCoefficient))
    return std::nullopt;
  return int64_t(sum);
}

void Size::collectNames(std::set<std::string> &names) const {
  for (auto &[factors, coefficient] : terms)
    names.insert(factors.begin(), factors.end());
}
