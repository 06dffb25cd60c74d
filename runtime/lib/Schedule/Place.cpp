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

/// Lists of neighbours take eight bytes a pair.
constexpr int64_t maxPairs = 10'000'000;

/// Finds the place of one extent among others, given by offset: the first gap
/// that is large enough, or the smallest one.
class Gap {
public:
  Gap(int64_t bytes, bool bestFit) : bytes(bytes), bestFit(bestFit) {}
  /// True when the rest need not be given.
  bool add(int64_t begin, int64_t end) {
    int64_t gap = begin - cursor;
    if (gap >= bytes && gap < chosenGap) {
      chosen = cursor;
      chosenGap = gap;
      if (!bestFit || gap == bytes)
        return true;
    }
    cursor = std::max(cursor, end);
    return false;
  }
  int64_t offset() const { return chosen >= 0 ? chosen : cursor; }

private:
  const int64_t bytes;
  const bool bestFit;
  int64_t cursor = 0, chosen = -1, chosenGap = INT64_MAX;
};

class Placer {
public:
  Placer(const std::vector<Extent> &extents, double effort)
      : extents(extents), budget(int64_t(effort * stepBudget)),
        pressure(extents.size()), offsets(extents.size()),
        rank(extents.size()) {
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
  void findNeighbours();
  int64_t fit(int extent, bool bestFit);
  void keepBest(int64_t top);
  /// Moves extents that end above `bound` ahead in `order`, each by a random
  /// number of places up to `reach`, and places again what that concerns.
  void promote(Order &order, int64_t bound, size_t reach);
  void improve(const Order &start, const std::vector<int64_t> &at);
  size_t random(uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return size_t((state >> 33) % limit);
  }

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
  /// Per extent: its place in the order that `offsets` follow.
  std::vector<size_t> rank;
  /// About how many pairs of extents share time; per extent those that do so,
  /// once they are found.
  int64_t pairs = 0;
  std::vector<std::vector<int>> neighbours;
  std::vector<std::pair<int64_t, int64_t>> taken;
  uint64_t state = 1;
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

  // An extent meets those that are held when it begins; they begin earlier.
  std::vector<int64_t> begun(last + 2), ended(last + 2);
  for (const Extent &extent : extents) {
    ++begun[extent.begin + 1];
    ++ended[extent.end];
  }
  std::partial_sum(begun.begin(), begun.end(), begun.begin());
  std::partial_sum(ended.begin(), ended.end(), ended.begin());
  for (const Extent &extent : extents)
    pairs += begun[extent.begin + 1] - ended[extent.begin];

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

void Placer::keepBest(int64_t top) {
  if (top >= best.bytes)
    return;
  best.bytes = top;
  best.offsets = offsets;
}

void Placer::attempt(const Order &order, bool bestFit) {
  int64_t top = 0;
  auto put = [&](int i, int64_t offset) {
    offsets[i] = offset;
    top = std::max(top, offset + extents[i].bytes);
  };
  for (size_t p = 0; p < order.size(); ++p)
    rank[order[p]] = p;
  if (!neighbours.empty()) {
    for (int i : order)
      put(i, fit(i, bestFit));
    return keepBest(top);
  }
  // By offset.
  std::vector<Placed> placed;
  placed.reserve(order.size());
  for (int i : order) {
    const Extent &extent = extents[i];
    Gap gap(extent.bytes, bestFit);
    for (const Placed &other : placed) {
      ++steps;
      const Extent &held = extents[other.extent];
      if (held.begin < extent.end && held.end > extent.begin &&
          gap.add(other.begin, other.end))
        break;
    }
    put(i, gap.offset());
    Placed here{gap.offset(), gap.offset() + extent.bytes, i};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed &a, const Placed &b) {
                                     return a.begin < b.begin;
                                   }),
                  here);
  }
  keepBest(top);
}

void Placer::findNeighbours() {
  if (!neighbours.empty())
    return;
  neighbours.resize(extents.size());
  steps += 8 * pairs;
  std::vector<int> held;
  for (int i : sorted(
           [&](int a, int b) { return extents[a].begin < extents[b].begin; })) {
    held.erase(std::remove_if(held.begin(), held.end(),
                              [&](int other) {
                                return extents[other].end <= extents[i].begin;
                              }),
               held.end());
    for (int other : held) {
      neighbours[i].push_back(other);
      neighbours[other].push_back(i);
    }
    held.push_back(i);
  }
}

// Offset among the neighbours that come before it.
int64_t Placer::fit(int extent, bool bestFit) {
  taken.clear();
  for (int other : neighbours[extent])
    if (rank[other] < rank[extent])
      taken.push_back({offsets[other], offsets[other] + extents[other].bytes});
  steps += 12 * int64_t(taken.size()) + int64_t(neighbours[extent].size());
  std::sort(taken.begin(), taken.end());
  Gap gap(extents[extent].bytes, bestFit);
  for (auto [begin, end] : taken)
    if (gap.add(begin, end))
      break;
  return gap.offset();
}

// An extent lies where it lay unless it moved, or one moved ahead of it or a
// neighbour before it lies elsewhere now: most are not looked at, and the
// result is that of an attempt from the start.
void Placer::promote(Order &order, int64_t bound, size_t reach) {
  std::vector<bool> isMoved(order.size()), isStale(order.size());
  size_t from = order.size();
  for (size_t p = 1; p < order.size(); ++p) {
    int i = order[p];
    if (offsets[i] + extents[i].bytes <= bound)
      continue;
    size_t to = p - std::min(1 + random(reach), p);
    std::rotate(order.begin() + to, order.begin() + p, order.begin() + p + 1);
    isMoved[i] = isStale[i] = true;
    from = std::min(from, to);
  }
  for (size_t p = from; p < order.size(); ++p)
    rank[order[p]] = p;
  steps += 4 * int64_t(order.size());
  for (size_t p = from; p < order.size(); ++p) {
    int i = order[p];
    if (!isStale[i])
      continue;
    int64_t offset = fit(i, false);
    if (offset == offsets[i] && !isMoved[i])
      continue;
    offsets[i] = offset;
    for (int other : neighbours[i])
      if (rank[other] > p)
        isStale[other] = true;
  }
  int64_t top = 0;
  for (size_t i = 0; i < extents.size(); ++i)
    top = std::max(top, offsets[i] + extents[i].bytes);
  keepBest(top);
}

// What reaches too high comes a little earlier in the next attempt. What
// competes at the peak so finds an order among itself, while the rest, and
// with it most places, stays as it is. No reach is best for all inputs, so
// each is tried for a while, from the start again.
void Placer::improve(const Order &start, const std::vector<int64_t> &at) {
  constexpr int turns = 400;
  constexpr size_t reaches[] = {16, 64, 8, 128};
  for (size_t round = 0; !isGoodEnough() && !isSpent(); ++round) {
    Order order = start;
    offsets = at;
    for (size_t p = 0; p < order.size(); ++p)
      rank[order[p]] = p;
    for (int turn = 0; turn < turns && !isGoodEnough() && !isSpent(); ++turn)
      promote(order, live + live / 50, reaches[round % std::size(reaches)]);
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
  // Lists of neighbours pay when they are short.
  int64_t count = int64_t(extents.size());
  if (pairs < count * count / 32)
    findNeighbours();
  attempt(orders[0], false);
  const std::vector<int64_t> first = offsets;
  for (const Order &order : orders)
    for (bool bestFit : {false, true}) {
      // What is good enough is made better only in good time; for what is not,
      // most of the time goes to the search.
      if (isTight() || steps > (isGoodEnough() ? budget : budget / 4))
        break;
      if (&order != orders || bestFit)
        attempt(order, bestFit);
    }
  if (!isGoodEnough() && pairs < maxPairs) {
    findNeighbours();
    improve(orders[0], first);
  }
  return best;
}

} // namespace

Placement ckpt::rt::placeExtents(const std::vector<Extent> &extents,
                                 double effort) {
  return Placer(extents, effort).run();
}
