//===- Tensors.h - the memory of the caller's tensors -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_TENSORS_H
#define CKPT_TOOLS_CKPT_RUN_TENSORS_H

#include "Options.h"
#include "Schedule/Schedule.h"

#include <cstdlib>
#include <memory>

namespace ckpt::run {

/// One external with memory of its own. The host device reads it where it is.
struct Tensor {
  rt::External external;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::unique_ptr<void, void (*)(void *)> data{nullptr, std::free};

  /// The step writes it: a result or a gradient.
  bool isResult() const {
    return external.kind == rt::ExternalKind::Output ||
           external.kind == rt::ExternalKind::Gradient;
  }
};

/// Every external of the schedule, from the files of `options` or its seed.
/// Results are left as they are.
rt::Result<std::vector<Tensor>> makeTensors(const rt::Schedule &schedule,
                                            const Options &options);

/// A fingerprint of every result, names and bytes, in their fixed order.
std::string digestOf(const std::vector<Tensor> &tensors);

/// Fills the results from a file that saveResults wrote.
rt::Status readResults(std::vector<Tensor> &tensors, const std::string &path);

rt::Status saveResults(const std::vector<Tensor> &tensors,
                       const std::string &path);

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_TENSORS_H
