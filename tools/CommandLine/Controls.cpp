//===- Controls.cpp - the flags of what is saved --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CommandLine/Controls.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <tuple>

using namespace ckpt;
using namespace ckpt::tools;

void tools::addControlFlags(CLI::App &app, const std::string &group,
                            ControlTexts &texts) {
  app.add_option("--backend", texts.backend,
                 "none: keep what the backward reads. torch: recompute whole "
                 "blocks. torch-ffn: recompute inside ckpt.ffn. unsloth, "
                 "unsloth-ffn: the same, and what is saved goes to the host")
      ->group(group);
  app.add_option("--interval", texts.interval,
                 "So many blocks are one segment; with *-ffn, every so many "
                 "blocks one is checkpointed")
      ->group(group);
  app.add_option("--segment-stride", texts.segmentStride,
                 "From each multiple of this, --interval blocks are "
                 "checkpointed and the others are not")
      ->group(group);
  app.add_flag("--attention-once", texts.attentionOnce,
               "With torch and unsloth: save what attention made, so that it "
               "runs once")
      ->group(group);
  app.add_flag("--offload-attention", texts.offloadAttention,
               "Move to the host what was made inside ckpt.attention and would "
               "be kept")
      ->group(group);
  app.add_option("--pin-memory-max-buckets", texts.pinMemoryMaxBuckets,
                 "Distinct sizes of pinned host buffers, 12 when not given; 0 "
                 "pins nothing")
      ->group(group);
}

rt::Result<int64_t> tools::parseInteger(const std::string &flag,
                                        const std::string &text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return rt::Error{flag + ": expected an integer, found '" + text + "'"};
  return value;
}

rt::Result<std::optional<int64_t>>
tools::parseOptionalInteger(const std::string &flag, const std::string &text) {
  if (text.empty())
    return std::optional<int64_t>();
  rt::Result<int64_t> value = parseInteger(flag, text);
  if (!value.ok())
    return value.takeError();
  return std::optional<int64_t>(*value);
}

rt::Result<ControlCounts> tools::parseCounts(const ControlTexts &texts) {
  ControlCounts counts;
  for (auto [flag, text, count] :
       {std::tuple{"--interval", &texts.interval, &counts.interval},
        std::tuple{"--segment-stride", &texts.segmentStride,
                   &counts.segmentStride},
        std::tuple{"--pin-memory-max-buckets", &texts.pinMemoryMaxBuckets,
                   &counts.pinMemoryMaxBuckets}}) {
    rt::Result<std::optional<int64_t>> value =
        parseOptionalInteger(flag, *text);
    if (!value.ok())
      return value.takeError();
    *count = *value;
  }
  return counts;
}

rt::Status tools::checkValuesGiven(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() && option->get_expected_max() > 0 &&
        option->results().back().empty())
      return rt::Error{option->get_name() +
                       ": expected a value, found nothing"};
  return {};
}
