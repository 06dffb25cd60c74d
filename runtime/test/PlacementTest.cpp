//===- PlacementTest.cpp - offsets for lifetimes --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Place.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <random>

using namespace ckpt::rt;

namespace {

/// Checks a placement by all pairs and all times.
void check(const std::vector<Extent> &extents, const Placement &placement) {
  ASSERT_EQ(placement.offsets.size(), extents.size());
  int64_t top = 0, live = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    ASSERT_GE(placement.offsets[i], 0);
    top = std::max(top, placement.offsets[i] + extents[i].bytes);
    int64_t here = 0;
    for (size_t j = 0; j < extents.size(); ++j) {
      if (extents[j].begin <= extents[i].begin &&
          extents[j].end > extents[i].begin)
        here += extents[j].bytes;
      if (i == j || extents[i].begin >= extents[j].end ||
          extents[j].begin >= extents[i].end)
        continue;
      EXPECT_TRUE(
          placement.offsets[i] >= placement.offsets[j] + extents[j].bytes ||
          placement.offsets[j] >= placement.offsets[i] + extents[i].bytes)
          << i << " and " << j;
    }
    // The most is held where something begins.
    live = std::max(live, here);
  }
  EXPECT_EQ(placement.bytes, top);
  EXPECT_EQ(placement.live, live);
  EXPECT_GE(placement.bytes, placement.live);
}

Placement placed(const std::vector<Extent> &extents) {
  Placement placement = placeExtents(extents);
  check(extents, placement);
  return placement;
}

} // namespace

TEST(PlacementTest, Nothing) {
  Placement placement = placed({});
  EXPECT_EQ(placement.bytes, 0);
  EXPECT_EQ(placement.live, 0);
}

TEST(PlacementTest, OneAfterTheOtherShareAPlace) {
  // [0,2) [2,4) [4,6): never two at once.
  EXPECT_EQ(placed({{8, 0, 2}, {16, 2, 4}, {4, 4, 6}}).bytes, 16);
}

TEST(PlacementTest, TogetherLieApart) {
  EXPECT_EQ(placed({{8, 0, 3}, {16, 1, 4}, {4, 2, 6}}).bytes, 28);
}

// First fit in time order leaves a hole here: a [0,2) 1, b [0,4) 1, c [2,6) 2.
// With b at 1, c does not fit below it; with b at 0 or at 2 all is 3.
TEST(PlacementTest, NoHole) {
  EXPECT_EQ(placed({{1, 0, 2}, {1, 0, 4}, {2, 2, 6}}).bytes, 3);
}

// A checkpoint stack: block i saves 1 at time 4i+1 until the mirror image of
// that, while 3 more come and go in every block, in both directions. Live is
// the saves and the 3.
TEST(PlacementTest, CheckpointStackIsExact) {
  constexpr int blocks = 80;
  std::vector<Extent> extents;
  for (int i = 0; i < blocks; ++i) {
    int forward = 4 * i, backward = 8 * blocks - 4 * (i + 1);
    extents.push_back({1, forward + 1, backward + 3});
    extents.push_back({2, forward, forward + 3});
    extents.push_back({1, forward + 2, forward + 4});
    extents.push_back({2, backward, backward + 2});
    extents.push_back({1, backward + 1, backward + 4});
  }
  Placement placement = placed(extents);
  EXPECT_EQ(placement.live, blocks + 3);
  EXPECT_EQ(placement.bytes, placement.live);
}

// Sizes that are multiples of an alignment give offsets that are.
TEST(PlacementTest, OffsetsAreSumsOfSizes) {
  std::mt19937 random(1);
  std::vector<Extent> extents;
  for (int i = 0; i < 200; ++i) {
    int begin = int(random() % 100);
    extents.push_back({256 * int64_t(1 + random() % 50), begin,
                       begin + 1 + int(random() % 9)});
  }
  Placement placement = placed(extents);
  for (int64_t offset : placement.offsets)
    EXPECT_EQ(offset % 256, 0);
}

TEST(PlacementTest, SameInputSameResult) {
  std::mt19937 random(2);
  std::vector<Extent> extents;
  for (int i = 0; i < 150; ++i) {
    int begin = int(random() % 60);
    extents.push_back(
        {int64_t(1 + random() % 9), begin, begin + 1 + int(random() % 20)});
  }
  EXPECT_EQ(placed(extents).offsets, placed(extents).offsets);
}

TEST(PlacementTest, HugeSizes) {
  int64_t huge = int64_t(1) << 60;
  EXPECT_EQ(placed({{huge, 0, 2}, {huge, 1, 3}, {huge, 2, 4}}).bytes, 2 * huge);
}

// Random blocks, repeated: in every block the same values with random sizes
// and lifetimes, of which some are kept for the backward and some made again.
TEST(PlacementTest, RandomStacks) {
  constexpr int count = 60;
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](int limit) { return int(random() % limit); };
    int blocks = 6, forwardOps = 6 + below(14);
    int backwardOps = forwardOps + below(10);
    bool isIrregular = below(2), isReplayed = below(2);
    auto size = [&] {
      const int64_t units[] = {1, 1, 1, 3, 4};
      return 256 * (isIrregular ? 1 + below(4000) : 1024 * units[below(5)]);
    };
    std::vector<Extent> extents;
    struct Made {
      int64_t bytes;
      int begin, end, lastRead;
    };
    std::vector<Made> forward, backward;
    for (int op = 0; op < forwardOps; ++op)
      forward.push_back({size(), op, std::min(forwardOps, op + 1 + below(4)),
                         below(2) ? below(backwardOps) : -1});
    for (int op = 0; op < backwardOps; ++op)
      backward.push_back({size(), op, op + 2 + below(4), -1});
    for (int b = 0; b < blocks; ++b) {
      int at = b * forwardOps;
      int replay =
          blocks * forwardOps + (blocks - 1 - b) * (forwardOps + backwardOps);
      int back = replay + forwardOps;
      for (const Made &made : forward) {
        bool isKept =
            made.lastRead >= 0 && (!isReplayed || made.begin == forwardOps - 1);
        extents.push_back({made.bytes, at + made.begin,
                           isKept ? back + made.lastRead + 1 : at + made.end});
        if (isReplayed && !isKept)
          extents.push_back({made.bytes, replay + made.begin,
                             made.lastRead >= 0 ? back + made.lastRead + 1
                                                : replay + made.end});
      }
      for (const Made &made : backward)
        extents.push_back({made.bytes, back + made.begin, back + made.end});
    }
    Placement placement = placed(extents);
    EXPECT_LE(double(placement.bytes), 1.02 * double(placement.live)) << seed;
  }
}
