//===- CountOption.h - pass options that are counts -------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_COUNTOPTION_H
#define CKPT_LIB_TRANSFORMS_COUNTOPTION_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace ckpt {

/// The value of a count option that is at least `least`, 0 or 1; nothing when
/// it is not given.
mlir::FailureOr<std::optional<int64_t>> parseCountOption(mlir::ModuleOp module,
                                                         llvm::StringRef flag,
                                                         llvm::StringRef text,
                                                         int64_t least);

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_COUNTOPTION_H
