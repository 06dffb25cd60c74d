//===- Size.h - polynomials in named sizes ----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A `Size` is a polynomial with integer coefficients in named sizes, such as
/// `2*batch*image + 4`. Every extent, byte count and cost formula of a program
/// is one, so that a new token count needs an evaluation and no compile.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_SIZE_H
#define CKPT_RT_PROGRAM_SIZE_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::rt {

/// The values of the named sizes of one instance.
using SizeValues = std::map<std::string, int64_t>;

class Size {
public:
  Size() = default;
  /*implicit*/ Size(int64_t value);
  static Size symbol(std::string name);

  /// Reads `a*b + 3*c + 4`: terms joined by `+` or `-`, factors by `*`.
  /// Returns nothing when the text is not of that form.
  static std::optional<Size> parse(std::string_view text);
  /// Prints in the form that `parse` reads; equal sizes print alike.
  std::string str() const;

  Size operator+(const Size &other) const;
  Size operator-(const Size &other) const;
  Size operator*(const Size &other) const;
  Size &operator+=(const Size &other) { return *this = *this + other; }
  Size &operator*=(const Size &other) { return *this = *this * other; }
  bool operator==(const Size &other) const { return terms == other.terms; }
  bool operator!=(const Size &other) const { return terms != other.terms; }

  /// The quotient when `divisor` divides this polynomial exactly.
  std::optional<Size> divideExactly(const Size &divisor) const;
  std::optional<int64_t> asConstant() const;
  bool isConstant(int64_t value) const { return asConstant() == value; }

  /// The value under `values`; nothing when a name is missing or the result
  /// does not fit 63 bits.
  std::optional<int64_t> evaluate(const SizeValues &values) const;
  void collectNames(std::set<std::string> &names) const;

  /// Sorted factor names -> coefficient, never zero. The constant term has no
  /// factors.
  using Terms = std::map<std::vector<std::string>, int64_t>;
  const Terms &getTerms() const { return terms; }

private:
  Terms terms;
};

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_SIZE_H
