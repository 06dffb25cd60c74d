//===- TextTable.h - aligned columns and readable numbers -------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_REPORT_TEXTTABLE_H
#define CKPT_RT_REPORT_TEXTTABLE_H

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace ckpt::rt {

/// `1.25 GiB`, `96 MiB`, `512 B`: three digits, powers of 1024.
std::string formatBytes(int64_t bytes);
/// `1.25 s`, `340 ms`, `12.5 us`: three digits.
std::string formatSeconds(double seconds);

/// Rows under headings, columns as wide as their widest cell. A column whose
/// cells begin with a digit (or are `-`) is set to the right.
class TextTable {
public:
  explicit TextTable(std::vector<std::string> headings) {
    rows.push_back(std::move(headings));
  }
  /// As many cells as there are headings.
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  void print(std::ostream &os, const std::string &indent = "") const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace ckpt::rt

#endif // CKPT_RT_REPORT_TEXTTABLE_H
