//===- Formula.cpp - numbers of a launch ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Formula.h"

#include <algorithm>
#include <cctype>
#include <limits>

using namespace ckpt::rt;

/// A polynomial, or an operation on two formulas that is none. What can be one
/// polynomial is one, so that equal formulas mostly print alike.
struct Formula::Node {
  enum class Kind { Leaf, Add, Subtract, Multiply, CeilDiv, Min, Max };
  Kind kind = Kind::Leaf;
  Size size;
  Formula left, right;
  int depth = 0;

  explicit Node(Size size)
      : size(std::move(size)), left(nullptr), right(nullptr) {}
  Node(Kind kind, const Formula &left, const Formula &right)
      : kind(kind), left(left), right(right),
        depth(1 + std::max(left.node->depth, right.node->depth)) {}

  bool isConstant(int64_t value) const {
    return kind == Kind::Leaf && size.isConstant(value);
  }
};

namespace {
/// Operations above each other in a text: what comes from a file must not
/// exhaust the stack of a thread.
constexpr int maxDepth = 200;
} // namespace

Formula::Formula(Size size)
    : node(std::make_shared<const Node>(std::move(size))) {}

Formula Formula::make(int kind, const Formula &x, const Formula &y) {
  Formula made(std::make_shared<const Node>(Node::Kind(kind), x, y));
  // Constants need no values.
  if (x.node->kind == Node::Kind::Leaf && x.node->size.asConstant() &&
      y.node->kind == Node::Kind::Leaf && y.node->size.asConstant())
    if (std::optional<int64_t> value = made.evaluate({}))
      return *value;
  return made;
}

Formula Formula::ceilDiv(const Formula &x, const Formula &y) {
  if (y.node->isConstant(1))
    return x;
  return make(int(Node::Kind::CeilDiv), x, y);
}

Formula Formula::min(const Formula &x, const Formula &y) {
  return make(int(Node::Kind::Min), x, y);
}

Formula Formula::max(const Formula &x, const Formula &y) {
  return make(int(Node::Kind::Max), x, y);
}

Formula Formula::operator+(const Formula &other) const {
  if (node->kind == Node::Kind::Leaf && other.node->kind == Node::Kind::Leaf)
    return node->size + other.node->size;
  if (other.node->isConstant(0))
    return *this;
  if (node->isConstant(0))
    return other;
  return make(int(Node::Kind::Add), *this, other);
}

Formula Formula::operator-(const Formula &other) const {
  if (node->kind == Node::Kind::Leaf && other.node->kind == Node::Kind::Leaf)
    return node->size - other.node->size;
  if (other.node->isConstant(0))
    return *this;
  return make(int(Node::Kind::Subtract), *this, other);
}

Formula Formula::operator*(const Formula &other) const {
  if (node->kind == Node::Kind::Leaf && other.node->kind == Node::Kind::Leaf)
    return node->size * other.node->size;
  if (other.node->isConstant(1))
    return *this;
  if (node->isConstant(1))
    return other;
  return make(int(Node::Kind::Multiply), *this, other);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string Formula::str() const {
  const std::string left = node->left.node ? node->left.str() : "";
  const std::string right = node->right.node ? node->right.str() : "";
  auto isSum = [](const Formula &formula) {
    const Node &node = *formula.node;
    if (node.kind != Node::Kind::Leaf)
      return node.kind == Node::Kind::Add || node.kind == Node::Kind::Subtract;
    const Size::Terms &terms = node.size.getTerms();
    return terms.size() > 1 || (terms.size() == 1 && terms.begin()->second < 0);
  };
  auto closed = [&](const Formula &formula, const std::string &text) {
    return isSum(formula) ? "(" + text + ")" : text;
  };
  switch (node->kind) {
  case Node::Kind::Leaf:
    return node->size.str();
  case Node::Kind::Add:
    return left + " + " + closed(node->right, right);
  case Node::Kind::Subtract:
    return left + " - " + closed(node->right, right);
  case Node::Kind::Multiply:
    return closed(node->left, left) + "*" + closed(node->right, right);
  case Node::Kind::CeilDiv:
    return "ceildiv(" + left + ", " + right + ")";
  case Node::Kind::Min:
    return "min(" + left + ", " + right + ")";
  case Node::Kind::Max:
    return "max(" + left + ", " + right + ")";
  }
  return "";
}

/// Reads one formula from a text, by recursive descent over its letters.
class Formula::Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::optional<Formula> parse() {
    std::optional<Formula> formula = parseSum();
    skipSpace();
    if (position != text.size())
      return std::nullopt;
    return formula;
  }

private:
  std::optional<Formula> parseSum() {
    bool negative = accept('-');
    std::optional<Formula> sum = parseProduct();
    if (sum && negative)
      sum = Formula(0) - *sum;
    while (sum) {
      negative = accept('-');
      if (!negative && !accept('+'))
        return sum;
      std::optional<Formula> term = parseProduct();
      if (!term)
        return std::nullopt;
      sum = bounded(negative ? *sum - *term : *sum + *term);
    }
    return sum;
  }

  std::optional<Formula> parseProduct() {
    std::optional<Formula> product = parseFactor();
    while (product && accept('*')) {
      std::optional<Formula> factor = parseFactor();
      if (!factor)
        return std::nullopt;
      product = bounded(*product * *factor);
    }
    return product;
  }

  std::optional<Formula> parseFactor() {
    if (accept('(')) {
      std::optional<Formula> inner = parseNested();
      return accept(')') ? inner : std::nullopt;
    }
    size_t begin = position;
    while (position < text.size() &&
           (std::isalnum((unsigned char)text[position]) ||
            text[position] == '_' ||
            (text[position] == '$' && position == begin)))
      ++position;
    std::string word(text.substr(begin, position - begin));
    if (accept('('))
      return parseCall(word);
    if (word.empty() || word == "$")
      return std::nullopt;
    if (word[0] == '$')
      return Formula(Size::symbol(word));
    // A number or a name: a factor of a polynomial.
    std::optional<Size> size = Size::parse(word);
    if (!size)
      return std::nullopt;
    return Formula(*size);
  }

  std::optional<Formula> parseCall(const std::string &function) {
    std::optional<Formula> x = parseNested();
    if (!x || !accept(','))
      return std::nullopt;
    std::optional<Formula> y = parseNested();
    if (!y || !accept(')'))
      return std::nullopt;
    if (function == "ceildiv")
      return bounded(ceilDiv(*x, *y));
    if (function == "min")
      return bounded(Formula::min(*x, *y));
    if (function == "max")
      return bounded(Formula::max(*x, *y));
    return std::nullopt;
  }

  std::optional<Formula> parseNested() {
    if (++nesting > maxDepth)
      return std::nullopt;
    std::optional<Formula> formula = parseSum();
    --nesting;
    return formula;
  }

  static std::optional<Formula> bounded(const Formula &formula) {
    if (formula.node->depth > maxDepth)
      return std::nullopt;
    return formula;
  }

  bool accept(char c) {
    skipSpace();
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    skipSpace();
    return true;
  }

  void skipSpace() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  std::string_view text;
  size_t position = 0;
  int nesting = 0;
};

std::optional<Formula> Formula::parse(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return Parser(text.substr(begin)).parse();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<int64_t> Formula::evaluate(const SizeValues &values) const {
  if (node->kind == Node::Kind::Leaf)
    return node->size.evaluate(values);
  std::optional<int64_t> x = node->left.evaluate(values);
  std::optional<int64_t> y = node->right.evaluate(values);
  if (!x || !y)
    return std::nullopt;
  __int128 value = 0;
  switch (node->kind) {
  case Node::Kind::Leaf:
    break;
  case Node::Kind::Add:
    value = __int128(*x) + *y;
    break;
  case Node::Kind::Subtract:
    value = __int128(*x) - *y;
    break;
  case Node::Kind::Multiply:
    value = __int128(*x) * *y;
    break;
  case Node::Kind::CeilDiv:
    if (*y <= 0)
      return std::nullopt;
    // Division goes towards zero, which is up below it.
    value = *x / *y + (*x > 0 && *x % *y != 0);
    break;
  case Node::Kind::Min:
    value = std::min(*x, *y);
    break;
  case Node::Kind::Max:
    value = std::max(*x, *y);
    break;
  }
  constexpr int64_t limit = std::numeric_limits<int64_t>::max();
  if (value >= limit || value <= -__int128(limit))
    return std::nullopt;
  return int64_t(value);
}

void Formula::collectNames(std::set<std::string> &names) const {
  if (node->kind == Node::Kind::Leaf)
    return node->size.collectNames(names);
  node->left.collectNames(names);
  node->right.collectNames(names);
}
