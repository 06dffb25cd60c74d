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
  /// Places in this order; keeps the result when it is the best so far. The
  /// first `from` of the order lie where the last attempt put them.
  void attempt(const Order &order, bool bestFit, size_t from = 0);
  template <typename Less> Order sorted(Less less) const {
    Order order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return less(a, b) || (!less(b, a) && a < b);
    });
    return order;
  }
  void improve(const Order &start);

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
  /// The last attempt: offsets, and all extents by offset.
  std::vector<int64_t> offsets;
  std::vector<Placed> placed;
  /// Per extent: its place in the order.
  std::vector<size_t> rank;
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

void Placer::attempt(const Order &order, bool bestFit, size_t from) {
  for (size_t p = 0; p < order.size(); ++p)
    rank[order[p]] = p;
  placed.erase(std::remove_if(placed.begin(), placed.end(),
                              [&](const Placed &other) {
                                return rank[other.extent] >= from;
                              }),
               placed.end());
  int64_t top = 0;
  for (const Placed &other : placed)
    top = std::max(top, other.end);
  steps += 2 * int64_t(order.size());
  for (size_t p = from; p < order.size(); ++p) {
    int i = order[p];
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

// What reaches too high comes a little earlier in the next attempt, as far as
// is drawn up to a reach. What competes at the peak so finds an order among
// itself, while the rest, and with it most places, stays as it is. No reach is
// best for all inputs, so each is tried for a while, from the start again.
void Placer::improve(const Order &start) {
  int64_t bound = live + live / 50;
  uint64_t state = 1;
  auto random = [&](uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return size_t((state >> 33) % limit);
  };
  constexpr int turns = 400;
  constexpr size_t reaches[] = {12, 24, 6, 48, 12, 96};
  for (size_t reach : reaches) {
    Order order = start;
    attempt(order, false);
    for (int turn = 0; turn < turns && !isGoodEnough() && !isSpent(); ++turn) {
      size_t from = order.size();
      for (size_t p = 1; p < order.size(); ++p) {
        if (offsets[order[p]] + extents[order[p]].bytes <= bound)
          continue;
        size_t to = p - std::min(1 + random(reach), p);
        std::rotate(order.begin() + to, order.begin() + p,
                    order.begin() + p + 1);
        from = std::min(from, to);
      }
      attempt(order, false, from);
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
  for (const Order &order : orders)
    for (bool bestFit : {false, true}) {
      // What is good enough is made better only in good time.
      if (isTight() || (isSpent() && isGoodEnough()))
        return best;
      attempt(order, bestFit);
    }
  if (!isGoodEnough())
    improve(orders[0]);
  return best;
}

} // namespace

Placement ckpt::rt::placeExtents(const std::vector<Extent> &extents,
                                 double effort) {
  return Placer(extents, effort).run();
}
