//===- Main.cpp - run a training step and say what it costs ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Print.h"

#include <iostream>

using namespace ckpt::run;

int main(int argc, char **argv) {
  Options options;
  if (std::optional<int> code = parseOptions(argc, argv, options))
    return *code;
  Outcome outcome;
  if (std::optional<Failure> failure = run(options, outcome)) {
    std::cerr << "ckpt-run: error: " << failure->message << "\n";
    return failure->exitCode;
  }
  if (ckpt::rt::Status status = writeFiles(options, outcome); !status.ok()) {
    std::cerr << "ckpt-run: error: " << status.message() << "\n";
    return exitFailed;
  }
  if (!printOutcome(options, outcome)) {
    std::cerr << "ckpt-run: error: standard output: cannot be written\n";
    return exitFailed;
  }
  if (outcome.report.check)
    for (const ckpt::rt::CheckedTensor &tensor : *outcome.report.check)
      if (!tensor.passed)
        return exitFailed;
  return exitDone;
}
