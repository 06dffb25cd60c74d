//===- Controls.h - the flags of what is saved ------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_COMMANDLINE_CONTROLS_H
#define CKPT_TOOLS_COMMANDLINE_CONTROLS_H

#include "Program/Result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace ckpt::tools {

/// As text, so that what is no number is refused in our words. Empty: not
/// given.
struct ControlTexts {
  std::string backend, interval, segmentStride, pinMemoryMaxBuckets;
  bool attentionOnce = false, offloadAttention = false;
};

/// Adds the flags of all controls, which `texts` must outlive.
void addControlFlags(CLI::App &app, const std::string &group,
                     ControlTexts &texts);

/// The controls that are counts, where given.
struct ControlCounts {
  std::optional<int64_t> interval, segmentStride, pinMemoryMaxBuckets;
};
rt::Result<ControlCounts> parseCounts(const ControlTexts &texts);

/// The value of a flag that takes an integer.
rt::Result<int64_t> parseInteger(const std::string &flag,
                                 const std::string &text);
/// Nothing when it is not given.
rt::Result<std::optional<int64_t>>
parseOptionalInteger(const std::string &flag, const std::string &text);

/// A flag with nothing behind the `=` is no flag left out.
rt::Status checkValuesGiven(const CLI::App &app);

} // namespace ckpt::tools

#endif // CKPT_TOOLS_COMMANDLINE_CONTROLS_H
