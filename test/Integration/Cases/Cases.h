//===- Cases.h - what the cases of the field share --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Faults that people met elsewhere, as small models held against `none` and
/// the oracle. Which test stands for which case:
///
///   from public reports
///   V1   FieldBlocks   nothing skipped where the state needs no gradient
///   V3   FieldBlocks   a segment's blocks read one another's states
///   O1   FieldBlocks   a tensor and its transposed view, both offloaded
///   S1   FieldSchedules   the last segment is clamped
///   S3   FieldSchedules   an interval means runs of blocks, the same each step
///   S5   Refusals   values out of range
///   C3   test/Transforms/replay-survives-cse.mlir
///   L1   FieldLife   two steps on one pool
///   L3   FieldLife   a second backward
///
///   from the controls' own tests elsewhere, by their numbers in ours
///   1    Controls   checkpoint and offload against plain, two results
///   3    Controls   attention offload alone replays nothing
///   4    Controls   5 by 2, 6 by 2 of 4, stride below interval; the function
///        alone: runtime/test/PolicyTest.cpp, Segments.OfTheFieldCases
///   5    Controls   segments of a state of two tensors
///   9    Controls   a Flux-like and the Wan block, FFN checkpoint and
///        attention offload
///   14   Controls   transposed, offset and holed views
///   16   runtime/test/PolicyTest.cpp, Controls.BackendsByName; the tool's
///        refusal: Refusals
///
/// Bits are compared, not values: every policy runs the kernels of `none`.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_TEST_CASES_H
#define CKPT_TEST_CASES_H

#include "Policies.h"

#include <gtest/gtest.h>

namespace ckpt::test {

/// A model made for a case, compiled.
struct Model {
  run::Options options;
  run::Loaded loaded;
};

/// Compiles `text`; the test fails when that does (here and below by an
/// exception, which GTest reports). "DTYPE" in the text becomes `dtype`.
Model compileModel(std::string text, const std::string &dtype,
                   const rt::SizeValues &sizes);

/// One stack of `blocks` blocks of width 16 with 2 heads, both boundary
/// regions, a conditioning row that wants a gradient, a trained norm weight and
/// a frozen base. Sizes: batch (1), tokens.
std::string smallTransformer(int blocks);

rt::Controls controlsOf(rt::Backend backend,
                        std::optional<int64_t> interval = {},
                        std::optional<int64_t> stride = {});
rt::Controls withAttentionOffload(rt::Controls controls);

/// Runs `model`; the test fails when that does.
PolicyRun runModel(const Model &model, const rt::Controls &controls);

/// Every result of `run` is within the oracle's bound; in bf16 within 4 times
/// PyTorch's own error plus 2^-10. These models are so small that a tensor is
/// a few draws of rounding noise, PyTorch's too, and its 1.5 times is for
/// tensors that average it out (the examples' tests hold them to that).
void expectOracle(const Model &model, const PolicyRun &run);
/// The same results, bit for bit, named one by one when they differ.
void expectSameBits(const PolicyRun &run, const PolicyRun &expected);

/// The tensor of that name, or null.
const run::Tensor *find(const PolicyRun &run, const std::string &name);
/// Its bytes; the test fails when there is none.
std::string bytesOf(const PolicyRun &run, const std::string &name);
bool isAllZero(const std::string &bytes);

using Phase = rt::TableEntry::Phase;
/// Launches of that phase, of one block when it is given.
int countLaunches(const rt::Schedule &schedule, Phase phase,
                  std::optional<int> block = {});
/// Launches of that class in the whole step.
int countLaunches(const Model &model, const rt::Schedule &schedule,
                  rt::KernelClass cls);

/// `[0,1] 2 3 [4,5]`: checkpointed segments in brackets.
std::string segmentsOf(const rt::Schedule &schedule);

/// A file that is gone at the end of the test.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &name, const std::string &text = "");
  ~TemporaryFile();
  const std::string path;
};

/// What a program left behind.
struct ProgramRun {
  int code = -1;
  std::string out, err;
  /// Of it and what it started.
  double userSeconds = 0, wallSeconds = 0;
};
/// Runs a shell command; the test fails when it dies of a signal.
ProgramRun runProgram(const std::string &command);

} // namespace ckpt::test

#endif // CKPT_TEST_CASES_H
