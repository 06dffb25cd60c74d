//===- Check.h - a run against the oracle -----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_CHECK_H
#define CKPT_TOOLS_CKPT_RUN_CHECK_H

#include "Load.h"
#include "Report/JsonReport.h"
#include "Tensors.h"

namespace ckpt::run {

/// Opens the oracle, gives it what the step was given and compares every
/// result.
rt::Result<std::vector<rt::CheckedTensor>>
checkResults(const Loaded &loaded, const Options &options,
             const rt::Schedule &schedule, const std::vector<Tensor> &tensors);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_CHECK_H
