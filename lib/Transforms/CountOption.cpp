//===- CountOption.cpp - pass options that are counts ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CountOption.h"

using namespace mlir;
using namespace ckpt;

FailureOr<std::optional<int64_t>> ckpt::parseCountOption(ModuleOp module,
                                                         StringRef flag,
                                                         StringRef text,
                                                         int64_t least) {
  if (text.empty())
    return std::optional<int64_t>();
  int64_t value;
  if (text.getAsInteger(10, value) || value < least)
    return emitError(module.getLoc())
           << "--" << flag << ": expected "
           << (least ? "a positive integer" : "a non-negative integer")
           << ", found '" << text << "'";
  return std::optional<int64_t>(value);
}
