//===- TextTable.cpp - aligned columns and readable numbers ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/TextTable.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ostream>

using namespace ckpt::rt;

namespace {

std::string threeDigits(double value, const char *unit) {
  int decimals = value >= 99.95 || value == std::floor(value) ? 0
                 : value >= 9.995                             ? 1
                                                              : 2;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

bool isNumber(const std::string &cell) {
  return cell.empty() || cell == "-" || std::isdigit((unsigned char)cell[0]);
}

} // namespace

std::string ckpt::rt::formatBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return threeDigits(value, units[unit]);
}

std::string ckpt::rt::formatSeconds(double seconds) {
  if (seconds >= 1)
    return threeDigits(seconds, "s");
  if (seconds >= 1e-3)
    return threeDigits(seconds * 1e3, "ms");
  return threeDigits(seconds * 1e6, "us");
}

void TextTable::print(std::ostream &os, const std::string &indent) const {
  size_t columns = rows.front().size();
  std::vector<size_t> widths(columns);
  std::vector<bool> right(columns, rows.size() > 1);
  for (const auto &row : rows)
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], row[c].size());
      if (&row != &rows.front() && !isNumber(row[c]))
        right[c] = false;
    }
  for (const auto &row : rows) {
    std::string line = indent;
    for (size_t c = 0; c < columns; ++c) {
      std::string space(widths[c] - row[c].size(), ' ');
      line += (c ? "  " : "") + (right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    os << line << "\n";
  }
}
