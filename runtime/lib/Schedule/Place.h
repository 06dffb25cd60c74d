//===- Place.h - offsets for lifetimes --------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_SCHEDULE_PLACE_H
#define CKPT_RT_SCHEDULE_PLACE_H

#include <cstdint>
#include <vector>

namespace ckpt::rt {

/// A run of bytes that is held during [begin, end), in any unit of time.
struct Extent {
  int64_t bytes = 0;
  int begin = 0, end = 0;
};

struct Placement {
  /// One per extent.
  std::vector<int64_t> offsets;
  /// End of the highest extent.
  int64_t bytes = 0;
  /// Largest sum of bytes held at one time: no placement is smaller.
  int64_t live = 0;
};

/// Offsets such that extents that are held at the same time do not overlap.
/// Tries several greedy orders; while the result is more than 1.02 times the
/// live bytes, a bounded search goes on. Offsets are sums of sizes, so sizes
/// that are multiples of an alignment give offsets that are. The same input
/// gives the same result. The sum of all bytes must fit 63 bits.
/// `effort` scales the bound on the search: 1 is about 0.2 s.
Placement placeExtents(const std::vector<Extent> &extents, double effort = 1.0);

} // namespace ckpt::rt

#endif // CKPT_RT_SCHEDULE_PLACE_H
