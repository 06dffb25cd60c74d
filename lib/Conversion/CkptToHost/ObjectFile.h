//===- ObjectFile.h - from the llvm dialect to machine code -----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTOHOST_OBJECTFILE_H
#define CKPT_LIB_CONVERSION_CKPTTOHOST_OBJECTFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace ckpt::host {

/// Lowers what `convertKernelToHost` left in `module` and compiles it for
/// x86-64-v3, position-independent, O2 without the vectorizers: code is written
/// for vectors, and has the same bits everywhere.
llvm::LogicalResult emitObjectFile(mlir::ModuleOp module,
                                   llvm::SmallVectorImpl<char> &object);

/// Links object files into one shared object by LLVM's linker, `ld.lld`, which
/// is looked for beside LLVM and on PATH.
llvm::Error linkSharedObject(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                             llvm::SmallVectorImpl<uint8_t> &result);

} // namespace ckpt::host

#endif // CKPT_LIB_CONVERSION_CKPTTOHOST_OBJECTFILE_H
