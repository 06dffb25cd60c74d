//===- Profile.h - how fast a machine is ------------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PLAN_PROFILE_H
#define CKPT_RT_PLAN_PROFILE_H

#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::rt {

/// Rates of a machine, for the time model. FLOP/s and bytes/s.
struct Profile {
  std::string name;
  double gemm = 0, attentionForward = 0, attentionBackward = 0;
  /// Device memory, read plus written.
  double memory = 0;
  /// Link, each way: alone, and while the other way is busy too.
  double link = 0, linkBoth = 0;
  double launchSeconds = 0;
  /// Of a GPU; 0 of other machines.
  int64_t multiprocessors = 0;
};

/// `host` (one core of this kind of machine) or `h200` (design section 9).
Result<Profile> profileNamed(const std::string &name);

/// The profile of the machines that a target's programs run on.
const char *defaultProfile(const std::string &target);

/// Seconds that one launch takes: the slower of its arithmetic and its memory
/// traffic, plus the launch itself.
double secondsOf(const Kernel &kernel, const SizeValues &sizes,
                 const Profile &profile);

} // namespace ckpt::rt

#endif // CKPT_RT_PLAN_PROFILE_H
