//===- Place.cpp - offsets for lifetimes ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Place.h"

#include <algorithm>
#include <numeric>

using namespace ckpt::rt;

namespace {

/// Steps that all attempts together may take, of about a nanosecond each.
constexpr double stepBudget = 150e6;

class Placer {
public:
  Placer(const std::vector<Extent> &extents, double effort)
      : extents(extents), budget(int64_t(effort * stepBudget)),
        pressure(extents.size()) {
    measure();
    best.offsets.assign(extents.size(), 0);
    best.bytes = INT64_MAX;
    best.live = live;
  }

  Placement run();

private:
  struct Placed {
    int64_t begin, end;
    int extent;
  };
  using Order = std::vector<int>;

  void measure();
  /// Places in this order; keeps the result when it is the best so far.
  void attempt(const Order &order, bool bestFit);
  template <typename Less>
  Order sorted(Less less) const {
    Order order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return less(a, b) || (!less(b, a) && a < b);
    });
    return order;
  }
  const std::vector<int> &neighboursOf(int extent);
  int64_t fit(int extent, const std::vector<bool> &isFree, bool bestFit);
  void improve();

  bool isTight() const { return best.bytes == live; }
  bool isGoodEnough() const {
    return best.bytes <= live || best.bytes - live <= live / 50;
  }
  bool isSpent() const { return steps > budget; }

  const std::vector<Extent> &extents;
  const int64_t budget;
  /// Per extent: the most bytes that are held at one time of its life.
  std::vector<int64_t> pressure;
  int64_t live = 0;
  int64_t steps = 0;
  Placement best;
  /// Offsets of the last attempt.
  std::vector<int64_t> offsets;
  /// Extents that share time with one; empty = not asked yet.
  std::vector<std::vector<int>> neighbours;
  std::vector<std::pair<int64_t, int64_t>> taken;
};

void Placer::measure() {
  int last = 0;
  for (const Extent &extent : extents)
    last = std::max(last, extent.end);
  std::vector<int64_t> held(last + 1, 0);
  for (const Extent &extent : extents) {
    held[extent.begin] += extent.bytes;
    held[extent.end] -= extent.bytes;
  }
  for (int t = 1; t <= last; ++t)
    held[t] += held[t - 1];
  live = *std::max_element(held.begin(), held.end());

  // Maximum over a range by a sparse table.
  std::vector<std::vector<int64_t>> table{held};
  for (int width = 1; 2 * width <= last + 1; width *= 2) {
    const std::vector<int64_t> &low = table.back();
    std::vector<int64_t> high(low.size() - width);
    for (size_t t = 0; t < high.size(); ++t)
      high[t] = std::max(low[t], low[t + width]);
    table.push_back(std::move(high));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    const Extent &extent = extents[i];
    int length = std::max(extent.end - extent.begin, 1), level = 0;
    while ((2 << level) <= length)
      ++level;
    pressure[i] = std::max(table[level][extent.begin],
                           table[level][extent.begin + length - (1 << level)]);
  }
}

void Placer::attempt(const Order &order, bool bestFit) {
  offsets.assign(extents.size(), 0);
  // By offset.
  std::vector<Placed> placed;
  placed.reserve(order.size());
  int64_t top = 0;
  for (int i : order) {
    const Extent &extent = extents[i];
    int64_t cursor = 0, chosen = -1, chosenGap = INT64_MAX;
    for (const Placed &other : placed) {
      ++steps;
      const Extent &held = extents[other.extent];
      if (held.begin >= extent.end || held.end <= extent.begin)
        continue;
      int64_t gap = other.begin - cursor;
      if (gap >= extent.bytes && gap < chosenGap) {
        chosen = cursor;
        chosenGap = gap;
        if (!bestFit || gap == extent.bytes)
          break;
      }
      cursor = std::max(cursor, other.end);
    }
    int64_t offset = chosen >= 0 ? chosen : cursor;
    offsets[i] = offset;
    Placed here{offset, offset + extent.bytes, i};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed &a, const Placed &b) {
                                     return a.begin < b.begin;
                                   }),
                  here);
    top = std::max(top, here.end);
  }
  if (top < best.bytes) {
    best.bytes = top;
    best.offsets = offsets;
  }
}

const std::vector<int> &Placer::neighboursOf(int extent) {
  std::vector<int> &list = neighbours[extent];
  if (!list.empty())
    return list;
  steps += int64_t(extents.size());
  const Extent &here = extents[extent];
  for (size_t i = 0; i < extents.size(); ++i)
    if (int(i) != extent && extents[i].begin < here.end &&
        extents[i].end > here.begin)
      list.push_back(int(i));
  return list;
}

// Offset of one extent among those of its neighbours that are placed.
int64_t Placer::fit(int extent, const std::vector<bool> &isFree, bool bestFit) {
  taken.clear();
  for (int other : neighboursOf(extent))
    if (!isFree[other])
      taken.push_back({offsets[other], offsets[other] + extents[other].bytes});
  steps += 32 * int64_t(taken.size()) + int64_t(neighbours[extent].size());
  std::sort(taken.begin(), taken.end());
  int64_t bytes = extents[extent].bytes;
  int64_t cursor = 0, chosen = -1, chosenGap = INT64_MAX;
  for (auto [begin, end] : taken) {
    int64_t gap = begin - cursor;
    if (gap >= bytes && gap < chosenGap) {
      chosen = cursor;
      chosenGap = gap;
      if (!bestFit)
        break;
    }
    cursor = std::max(cursor, end);
  }
  return chosen >= 0 ? chosen : cursor;
}

// Search in a neighbourhood: some extents around one that reaches too high are
// taken out and put back in another order, which stands when no more bytes
// reach too high than before.
void Placer::improve() {
  int64_t bound = live + live / 50;
  auto excess = [&](int i) {
    return std::max<int64_t>(offsets[i] + extents[i].bytes - bound, 0);
  };
  uint64_t state = 1;
  auto random = [&](uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return int((state >> 33) % limit);
  };
  offsets = best.offsets;
  neighbours.resize(extents.size());
  std::vector<bool> isFree(extents.size());
  std::vector<int> high;
  for (size_t i = 0; i < extents.size(); ++i)
    if (excess(int(i)) > 0)
      high.push_back(int(i));
  while (!high.empty() && !isSpent()) {
    int center = high[random(high.size())];
    const Extent &middle = extents[center];
    int longest = (middle.end - middle.begin) << random(8);
    std::vector<int> window{center};
    for (int i : neighboursOf(center))
      if (extents[i].end - extents[i].begin <= longest)
        window.push_back(i);
    // A second ring, and not more than are tried in good time.
    if (random(2) == 0 && window.size() > 1)
      for (int i : neighboursOf(window[1 + random(window.size() - 1)]))
        if (extents[i].end - extents[i].begin <= longest &&
            std::find(window.begin(), window.end(), i) == window.end())
          window.push_back(i);
    for (size_t i = window.size(); i-- > 1;)
      std::swap(window[i], window[random(i + 1)]);
    size_t most = 4 + random(60);
    if (window.size() > most)
      window.resize(most);
    steps += 50 * int64_t(window.size());
    int rule = random(4);
    if (rule != 0) {
      std::vector<std::pair<double, int>> keyed;
      for (int i : window) {
        double noise = 0.5 + random(1000) / 1000.0;
        double length = extents[i].end - extents[i].begin;
        double bytes = double(extents[i].bytes);
        keyed.push_back({-noise * (rule == 1   ? bytes
                                   : rule == 2 ? length
                                               : bytes * length),
                         i});
      }
      std::sort(keyed.begin(), keyed.end());
      for (size_t i = 0; i < window.size(); ++i)
        window[i] = keyed[i].second;
    }
    bool bestFit = random(2) == 0;

    int64_t before = 0, after = 0;
    std::vector<int64_t> kept;
    for (int i : window) {
      before += excess(i);
      kept.push_back(offsets[i]);
      isFree[i] = true;
    }
    for (int i : window) {
      offsets[i] = fit(i, isFree, bestFit);
      isFree[i] = false;
      after += excess(i);
    }
    if (after > before)
      for (size_t i = 0; i < window.size(); ++i)
        offsets[window[i]] = kept[i];
    else {
      steps += int64_t(extents.size());
      high.clear();
      for (size_t i = 0; i < extents.size(); ++i)
        if (excess(int(i)) > 0)
          high.push_back(int(i));
    }
  }
  int64_t top = 0;
  for (size_t i = 0; i < extents.size(); ++i)
    top = std::max(top, offsets[i] + extents[i].bytes);
  if (top < best.bytes) {
    best.bytes = top;
    best.offsets = offsets;
  }
}

Placement Placer::run() {
  if (extents.empty())
    return {};
  auto length = [&](int i) { return extents[i].end - extents[i].begin; };
  auto bytes = [&](int i) { return extents[i].bytes; };
  // A checkpoint stack nests: what is saved first is needed last. By length,
  // the saves pile up at the low end in time order and the short-lived values
  // find their places above. The other orders are for working sets.
  const Order orders[] = {
      sorted([&](int a, int b) { return length(a) > length(b); }),
      sorted([&](int a, int b) {
        return pressure[a] != pressure[b] ? pressure[a] > pressure[b]
                                          : length(a) > length(b);
      }),
      sorted([&](int a, int b) {
        return pressure[a] != pressure[b] ? pressure[a] > pressure[b]
                                          : bytes(a) > bytes(b);
      }),
      sorted([&](int a, int b) { return bytes(a) > bytes(b); }),
      sorted([&](int a, int b) {
        return double(bytes(a)) * length(a) > double(bytes(b)) * length(b);
      }),
      sorted([&](int a, int b) { return extents[a].begin < extents[b].begin; }),
  };
  for (const Order &order : orders)
    for (bool bestFit : {false, true}) {
      // What is good enough is made better only in good time.
      if (isTight() || (isSpent() && isGoodEnough()))
        return best;
      attempt(order, bestFit);
    }
  if (!isGoodEnough())
    improve();
  return best;
}

} // namespace

Placement ckpt::rt::placeExtents(const std::vector<Extent> &extents,
                                 double effort) {
  return Placer(extents, effort).run();
}
