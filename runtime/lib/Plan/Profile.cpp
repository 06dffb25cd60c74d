//===- Profile.cpp - how fast a machine is --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Plan/Profile.h"

#include <algorithm>

using namespace ckpt::rt;

namespace {

// In floating point, so that no formula overflows.
double evaluate(const Size &size, const SizeValues &values) {
  double sum = 0;
  for (auto &[factors, coefficient] : size.getTerms()) {
    double product = double(coefficient);
    for (const std::string &factor : factors) {
      auto found = values.find(factor);
      product *= found == values.end() ? 0.0 : double(found->second);
    }
    sum += product;
  }
  return sum;
}

} // namespace

Result<Profile> ckpt::rt::profileNamed(const std::string &name) {
  Profile profile;
  profile.name = name;
  if (name == "host") {
    // Of the host kernels on one core with AVX2, at few hundred rows.
    profile.gemm = 4e10;
    profile.attentionForward = profile.attentionBackward = 3e10;
    profile.memory = 6e9;
    profile.link = profile.linkBoth = 4e9;
    profile.launchSeconds = 2e-6;
    return profile;
  }
  if (name == "h200") {
    profile.gemm = 680e12;
    profile.attentionForward = 671e12;
    profile.attentionBackward = 615e12;
    profile.memory = 4.27e12;
    profile.link = 55e9;
    profile.linkBoth = 51e9;
    profile.launchSeconds = 3e-6;
    profile.multiprocessors = 132;
    return profile;
  }
  return Error{"--profile: expected host or h200, found " + name};
}

const char *ckpt::rt::defaultProfile(const std::string &target) {
  return target == "nvptx" ? "h200" : "host";
}

double ckpt::rt::secondsOf(const Kernel &kernel, const SizeValues &sizes,
                           const Profile &profile) {
  double seconds = evaluate(kernel.trafficBytes, sizes) / profile.memory;
  double flops = evaluate(kernel.flops, sizes);
  switch (kernel.cls) {
  case KernelClass::Gemm:
    seconds = std::max(seconds, flops / profile.gemm);
    break;
  case KernelClass::AttentionForward:
    seconds = std::max(seconds, flops / profile.attentionForward);
    break;
  case KernelClass::AttentionBackward:
    seconds = std::max(seconds, flops / profile.attentionBackward);
    break;
  case KernelClass::RowWise:
    // Bound by memory on every machine here.
    break;
  }
  return seconds + profile.launchSeconds;
}
