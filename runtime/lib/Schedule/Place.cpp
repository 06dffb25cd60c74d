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

/// Steps of the inner loop that all attempts together may take: about 0.1 s.
constexpr int64_t stepBudget = 100'000'000;

class Placer {
public:
  explicit Placer(const std::vector<Extent> &extents)
      : extents(extents), pressure(extents.size()) {
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
  int64_t attempt(const Order &order, bool bestFit);
  template <typename Less>
  Order sorted(Less less) const {
    Order order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), less);
    return order;
  }
  void improve(Order order, bool bestFit);

  bool isTight() const { return best.bytes == live; }
  bool isGoodEnough() const {
    return best.bytes <= live || best.bytes - live <= live / 50;
  }
  bool isSpent() const { return steps > stepBudget; }

  const std::vector<Extent> &extents;
  /// Per extent: the most bytes that are held at one time of its life.
  std::vector<int64_t> pressure;
  int64_t live = 0;
  int64_t steps = 0;
  Placement best;
  /// Offsets of the last attempt.
  std::vector<int64_t> offsets;
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

int64_t Placer::attempt(const Order &order, bool bestFit) {
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
  return top;
}

// Hill climbing on the order: an extent that reaches above the live bytes is
// placed earlier, in front of one that it shares time with.
void Placer::improve(Order order, bool bestFit) {
  uint64_t state = 1;
  auto random = [&](uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  int64_t current = attempt(order, bestFit);
  std::vector<int> rank(order.size());
  while (!isGoodEnough() && !isSpent()) {
    for (size_t r = 0; r < order.size(); ++r)
      rank[order[r]] = int(r);
    std::vector<int> high;
    for (size_t i = 0; i < extents.size(); ++i)
      if (offsets[i] + extents[i].bytes > live)
        high.push_back(int(i));
    int moved = high[random(high.size())];
    std::vector<int> earlier;
    for (size_t i = 0; i < extents.size(); ++i)
      if (rank[i] < rank[moved] && extents[i].begin < extents[moved].end &&
          extents[i].end > extents[moved].begin)
        earlier.push_back(rank[i]);
    if (earlier.empty())
      return;
    int to = earlier[random(earlier.size())];
    Order next = order;
    std::vector<int64_t> kept = offsets;
    std::rotate(next.begin() + to, next.begin() + rank[moved],
                next.begin() + rank[moved] + 1);
    int64_t bytes = attempt(next, bestFit);
    // Equal results are taken too, so that plateaus are crossed.
    if (bytes <= current) {
      current = bytes;
      order = std::move(next);
    } else {
      offsets = std::move(kept);
    }
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
  int64_t lowest = INT64_MAX;
  int lowestOrder = 0;
  bool lowestFit = false;
  for (int o = 0; o < 6; ++o)
    for (bool bestFit : {false, true}) {
      // The first attempts are free, later ones only look for the last bytes.
      if (isTight() || (isSpent() && isGoodEnough()))
        return best;
      int64_t top = attempt(orders[o], bestFit);
      if (top < lowest) {
        lowest = top;
        lowestOrder = o;
        lowestFit = bestFit;
      }
    }
  improve(orders[lowestOrder], lowestFit);
  return best;
}

} // namespace

Placement ckpt::rt::placeExtents(const std::vector<Extent> &extents) {
  return Placer(extents).run();
}
