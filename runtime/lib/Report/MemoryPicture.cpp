//===- MemoryPicture.cpp - memory over time, drawn ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Report/MemoryPicture.h"

#include "Report/MemoryUse.h"
#include "Report/TextTable.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ostream>

using namespace ckpt::rt;

namespace {

// Pixels.
constexpr int width = 960, height = 500;
constexpr int left = 84, right = 940, top = 78, bottom = 390;
constexpr int bandTop = 54, bandBottom = 70;

// Told apart by colour-blind readers too, from the bottom of the stack up.
constexpr const char *holdingColours[numHoldings] = {
    "#3b6fb6", "#7fb0e0", "#a9b8c6", "#8f63b8",
    "#e0912f", "#4f9e5f", "#d0564f"};
constexpr const char *phaseColours[] = {"#dbe7f5", "#fbe6cc", "#dcefdc"};
constexpr const char *phaseNames[] = {"forward", "replay", "backward"};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

int64_t sumOf(const HeldBytes &held) {
  int64_t sum = 0;
  for (int64_t bytes : held)
    sum += bytes;
  return sum;
}

/// The largest of 1, 2, 5 times a power of ten that gives at most six steps.
double tickStep(double range) {
  double step = std::pow(10, std::floor(std::log10(range / 6)));
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (range / (step * factor) <= 6)
      return step * factor;
  return step * 10;
}

/// A power of 1024 and its name, so that labels stay small.
std::pair<double, const char *> byteUnit(double bytes) {
  const char *names[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  double scale = 1;
  for (; bytes / scale >= 1024 && unit < 3; ++unit)
    scale *= 1024;
  return {scale, names[unit]};
}

std::pair<double, const char *> timeUnit(double seconds) {
  if (seconds >= 1)
    return {1, "s"};
  if (seconds >= 1e-3)
    return {1e-3, "ms"};
  return {1e-6, "us"};
}

class Picture {
public:
  Picture(const Schedule &schedule,
          const std::vector<std::pair<double, double>> &times, std::ostream &os)
      : schedule(schedule), os(os), use(memoryUse(schedule)) {
    // Streams overlap; the picture follows the list, whose order allocation
    // follows, so a command begins no earlier than those before it.
    double latest = 0;
    for (size_t i = 0; i < use.size(); ++i) {
      if (i < times.size()) {
        latest = std::max(latest, times[i].first);
        endTime = std::max(endTime, times[i].second);
      }
      starts.push_back(latest);
      if (sumOf(use[i]) > sumOf(use[peak]))
        peak = i;
    }
    endTime = std::max({endTime, latest, 1e-9});
    most = std::max<double>(
        1, std::max<double>(schedule.arenaBytes,
                            use.empty() ? 0.0 : sumOf(use[peak])));
  }

  void draw(const std::string &title) {
    os << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width
       << " " << height << "\" font-family=\"sans-serif\" font-size=\"12\">\n";
    rectangle(0, 0, width, height, "white");
    label(left, 24, title, "start", 16);
    drawPhases();
    drawAxes();
    drawStack();
    drawPeak();
    drawLegend();
    os << "</svg>\n";
  }

private:
  double x(double seconds) const {
    return left + (right - left) * seconds / endTime;
  }
  // Some air above the highest point.
  double y(double bytes) const {
    return bottom - (bottom - top) * bytes / (most * 1.08);
  }

  void rectangle(double x0, double y0, double w, double h, const char *colour) {
    os << "<rect x=\"" << number(x0) << "\" y=\"" << number(y0) << "\" width=\""
       << number(w) << "\" height=\"" << number(h) << "\" fill=\"" << colour
       << "\"/>\n";
  }
  void line(double x0, double y0, double x1, double y1, const char *style) {
    os << "<line x1=\"" << number(x0) << "\" y1=\"" << number(y0) << "\" x2=\""
       << number(x1) << "\" y2=\"" << number(y1) << "\" " << style << "/>\n";
  }
  void label(double x0, double y0, const std::string &text, const char *anchor,
             int size = 12) {
    os << "<text x=\"" << number(x0) << "\" y=\"" << number(y0)
       << "\" text-anchor=\"" << anchor << "\" font-size=\"" << size
       << "\" fill=\"#222\">" << escape(text) << "</text>\n";
  }

  void drawPhases();
  void drawAxes();
  void drawStack();
  void drawPeak();
  void drawLegend();

  const Schedule &schedule;
  std::ostream &os;
  std::vector<HeldBytes> use;
  /// Per command, seconds.
  std::vector<double> starts;
  double endTime = 0;
  /// Top of the vertical axis, bytes.
  double most = 1;
  /// Command with the most live bytes.
  size_t peak = 0;
};

void Picture::drawPhases() {
  auto draw = [&](TableEntry::Phase phase, double from, double to) {
    double x0 = x(from), w = x(to) - x0;
    rectangle(x0, bandTop, w, bandBottom - bandTop, phaseColours[int(phase)]);
    os << "<g opacity=\"0.35\">\n";
    rectangle(x0, top, w, bottom - top, phaseColours[int(phase)]);
    os << "</g>\n";
    // About seven pixels a letter.
    if (w > 7 * double(std::strlen(phaseNames[int(phase)])))
      label(x0 + w / 2, bandBottom - 4, phaseNames[int(phase)], "middle");
  };
  // The kernels say which phase it is: copies run ahead.
  std::optional<TableEntry::Phase> current;
  double from = 0;
  for (size_t i = 0; i < use.size(); ++i) {
    const Command &command = schedule.commands[i];
    if (command.kind != Command::Kind::Launch || current == command.phase)
      continue;
    if (current)
      draw(*current, from, starts[i]);
    from = current ? starts[i] : 0;
    current = command.phase;
  }
  if (current)
    draw(*current, from, endTime);
}

void Picture::drawAxes() {
  auto [byteScale, byteName] = byteUnit(most);
  double step = tickStep(most / byteScale);
  for (double tick = 0; tick * byteScale <= most * 1.08; tick += step) {
    double at = y(tick * byteScale);
    line(left, at, right, at, "stroke=\"#ddd\"");
    char text[32];
    std::snprintf(text, sizeof text, "%g", tick);
    label(left - 8, at + 4, text, "end");
  }
  os << "<g transform=\"rotate(-90 22 " << (top + bottom) / 2 << ")\">\n";
  label(22, (top + bottom) / 2.0 + 4, std::string("arena in use, ") + byteName,
        "middle");
  os << "</g>\n";

  auto [timeScale, timeName] = timeUnit(endTime);
  step = tickStep(endTime / timeScale);
  for (double tick = 0; tick * timeScale <= endTime; tick += step) {
    double at = x(tick * timeScale);
    line(at, bottom, at, bottom + 5, "stroke=\"#444\"");
    char text[32];
    std::snprintf(text, sizeof text, "%g", tick);
    label(at, bottom + 18, text, "middle");
  }
  label((left + right) / 2.0, bottom + 36, std::string("time, ") + timeName,
        "middle");
  line(left, bottom, right, bottom, "stroke=\"#444\"");
  line(left, top, left, bottom, "stroke=\"#444\"");
}

void Picture::drawStack() {
  // One point a pixel column, the fullest command in it, so that a long
  // schedule stays a small file and keeps its peaks.
  std::vector<std::pair<double, size_t>> columns;
  for (size_t i = 0; i < use.size(); ++i) {
    double column = std::floor(x(starts[i]) * 2) / 2;
    if (columns.empty() || columns.back().first != column)
      columns.push_back({column, i});
    else if (sumOf(use[i]) > sumOf(use[columns.back().second]))
      columns.back().second = i;
  }
  if (columns.empty())
    return;
  std::vector<double> below(columns.size());
  for (int h = 0; h < numHoldings; ++h) {
    std::string upper, lower;
    bool any = false;
    for (size_t c = 0; c < columns.size(); ++c) {
      double from = columns[c].first;
      double to = c + 1 < columns.size() ? columns[c + 1].first : right;
      double above = below[c] + double(use[columns[c].second][h]);
      any |= above > below[c];
      std::string low = number(y(below[c])), high = number(y(above));
      upper += number(from) + "," + high + " " + number(to) + "," + high + " ";
      lower =
          number(to) + "," + low + " " + number(from) + "," + low + " " + lower;
      below[c] = above;
    }
    if (any)
      os << "<polygon fill=\"" << holdingColours[h] << "\" points=\"" << upper
         << lower << "\"><title>" << nameOf(Holding(h))
         << "</title></polygon>\n";
  }
}

void Picture::drawPeak() {
  if (use.empty())
    return;
  double arena = y(double(schedule.arenaBytes));
  line(left, arena, right, arena, "stroke=\"#222\" stroke-dasharray=\"6 4\"");
  const Command &command = schedule.commands[peak];
  std::string text = "arena " + formatBytes(schedule.arenaBytes) +
                     ", fullest at " + command.label;
  if (command.block >= 0)
    text += " of block " + std::to_string(command.block);
  double at = x(starts[peak]);
  label(right, 44, text, "end");
  os << "<circle cx=\"" << number(at) << "\" cy=\""
     << number(y(double(sumOf(use[peak])))) << "\" r=\"4\" fill=\"#222\"/>\n";
}

void Picture::drawLegend() {
  std::array<bool, numHoldings> occurs{};
  for (const HeldBytes &held : use)
    for (int h = 0; h < numHoldings; ++h)
      occurs[h] |= held[h] > 0;
  int count = 0;
  for (int h = 0; h < numHoldings; ++h) {
    if (!occurs[h])
      continue;
    // Four a line.
    int x0 = left + count % 4 * 214, y0 = bottom + 56 + count / 4 * 22;
    rectangle(x0, y0, 12, 12, holdingColours[h]);
    label(x0 + 18, y0 + 10, nameOf(Holding(h)), "start");
    ++count;
  }
}

} // namespace

void ckpt::rt::drawMemory(const Schedule &schedule,
                          const std::vector<std::pair<double, double>> &times,
                          const std::string &title, std::ostream &os) {
  Picture(schedule, times, os).draw(title);
}
