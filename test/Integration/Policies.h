//===- Policies.h - run a program under any controls ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TEST_POLICIES_H
#define CKPT_TEST_POLICIES_H

#include "Executor/Step.h"
#include "Load.h"
#include "Tensors.h"

namespace ckpt::test {

/// The flags that ask for `controls`.
std::string describe(const rt::Controls &controls);

/// A step that ran once, arena poisoned and freed memory poisoned again.
struct PolicyRun {
  std::shared_ptr<const rt::Schedule> schedule;
  rt::Simulation simulation;
  rt::StepStatistics statistics;
  std::vector<run::Tensor> tensors;
  std::string digest;
};

/// Plans, verifies, executes on the host. Sizes, blocks, seed and files are
/// those of `options`.
rt::Result<PolicyRun> runPolicy(const run::Loaded &loaded,
                                const run::Options &options,
                                const rt::Controls &controls);

/// Compiles block IR that is text in memory. `name` is for messages.
rt::Result<run::Loaded> compileText(const std::string &text,
                                    const std::string &name,
                                    run::Options &options);

} // namespace ckpt::test

#endif // CKPT_TEST_POLICIES_H
