//===- Formula.h - numbers of a launch --------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a launch needs to know and polynomials cannot say: tile counts, grids,
/// costs. A `Formula` is an expression over named sizes with +, -, *, ceildiv,
/// min, max; its text, `min($sms, ceildiv(batch*image, 128)*96)`, is what an
/// artifact holds.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_FORMULA_H
#define CKPT_RT_PROGRAM_FORMULA_H

#include "Program/Size.h"

#include <memory>

namespace ckpt::rt {

/// The number of multiprocessors, set by the device beside the named sizes.
constexpr const char *multiprocessors = "$sms";

class Formula {
public:
  Formula() : Formula(Size(0)) {}
  /*implicit*/ Formula(int64_t value) : Formula(Size(value)) {}
  /*implicit*/ Formula(Size size);

  static Formula ceilDiv(const Formula &x, const Formula &y);
  static Formula min(const Formula &x, const Formula &y);
  static Formula max(const Formula &x, const Formula &y);
  Formula operator+(const Formula &other) const;
  Formula operator-(const Formula &other) const;
  Formula operator*(const Formula &other) const;

  /// Nothing when the text is not a formula.
  static std::optional<Formula> parse(std::string_view text);
  /// In the form that `parse` reads.
  std::string str() const;

  /// Nothing when a name is missing, a divisor is not positive or a value does
  /// not fit 63 bits.
  std::optional<int64_t> evaluate(const SizeValues &values) const;
  void collectNames(std::set<std::string> &names) const;
  bool operator==(const Formula &other) const { return str() == other.str(); }

private:
  struct Node;
  class Parser;
  explicit Formula(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  /// `kind` is a Node::Kind; a constant where both operands are.
  static Formula make(int kind, const Formula &x, const Formula &y);

  std::shared_ptr<const Node> node;
};

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_FORMULA_H
