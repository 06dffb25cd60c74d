//===- Alternatives.cpp - the way in which a kernel runs ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Alternatives.h"

using namespace ckpt::rt;

Result<const Alternative *>
ckpt::rt::chooseAlternative(const Kernel &kernel, const SizeValues &values) {
  const Alternative *best = nullptr;
  int64_t least = 0;
  for (const Alternative &alternative : kernel.alternatives) {
    std::optional<int64_t> cost = alternative.cost.evaluate(values);
    if (!cost)
      return Error{"kernel '" + kernel.symbol + "' (" + alternative.name +
                   "): expected a cost, found that " + alternative.cost.str() +
                   " has no value at these sizes; choose smaller ones"};
    if (best && *cost >= least)
      continue;
    best = &alternative;
    least = *cost;
  }
  if (!best)
    return Error{"kernel '" + kernel.symbol +
                 "': the program holds no code for it; compile it for target "
                 "nvptx"};
  return best;
}

std::string ckpt::rt::chosenAlternative(const Kernel &kernel,
                                        const SizeValues &sizes,
                                        int64_t count) {
  if (count == 0)
    return "";
  SizeValues values = sizes;
  values[multiprocessors] = count;
  Result<const Alternative *> chosen = chooseAlternative(kernel, values);
  return chosen.ok() ? (*chosen)->name : "";
}
