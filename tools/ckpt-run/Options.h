//===- Options.h - what the command line asks for ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_OPTIONS_H
#define CKPT_TOOLS_CKPT_RUN_OPTIONS_H

#include "CommandLine/Controls.h"
#include "Program/Program.h"
#include "Program/Result.h"

namespace ckpt::run {

constexpr int exitDone = 0;
/// A check is out, or the machine failed.
constexpr int exitFailed = 1;
constexpr int exitBadInput = 2;

/// The controls that were given; the rest is the artifact's default.
struct ControlFlags {
  std::optional<rt::Backend> backend;
  tools::ControlCounts counts;
  bool attentionOnce = false, offloadAttention = false;
};

struct Options {
  std::string file;
  ControlFlags controls;
  rt::SizeValues sizes;
  /// The first so many blocks of each stack.
  std::optional<int64_t> blocks;

  /// `host` or `nvptx`, what block IR is compiled for; empty: as an artifact
  /// says, block IR for the host.
  std::string target;
  bool deterministic = false;

  int64_t steps = 1;
  /// Steps that are timed after those.
  int64_t repeat = 0;
  bool graph = true;
  uint64_t seed = 0;
  std::string weights, inputs, saveOutputs;
  /// Results of a run elsewhere, to be checked in place of one here.
  std::string results;
  bool check = false;

  bool planOnly = false, printSchedule = false, policies = false;
  /// Empty: the one of the target.
  std::string profile;
  bool json = false;
  std::string trace, picture;
};

/// Fills `options`, or returns the exit code when there is nothing to run:
/// help was printed, or a flag was wrong and the message is out.
std::optional<int> parseOptions(int argc, char **argv, Options &options);

/// With `--backend` a fresh start, without it the defaults with the given
/// flags over them.
rt::Controls controlsOf(const ControlFlags &flags,
                        const rt::Controls &defaults);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_OPTIONS_H
