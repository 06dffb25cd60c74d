//===- Compile.h - block IR in, artifact out --------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_COMPILER_COMPILE_H
#define CKPT_COMPILER_COMPILE_H

#include "Program/Program.h"
#include "ckpt/Conversion/CkptToNVVM.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <functional>

namespace ckpt {

struct CompileOptions {
  /// The name of a backend, as on a command line.
  std::string backend = "none";
  /// The other controls; `backend` there is not looked at.
  rt::Controls controls;
  /// Compile no kernel: the artifact can be planned, not run.
  bool planOnly = false;
  /// `host` or `nvptx`.
  std::string target = "host";
  /// Target nvptx.
  NvptxOptions nvptx;
  /// Told of every error, warning, remark and note: its severity, and its text
  /// with the lines of source.
  std::function<void(mlir::DiagnosticSeverity, llvm::StringRef)> diagnostic;
  /// Told how many of the kernels are compiled.
  std::function<void(unsigned done, unsigned total)> progress;
};

enum class CompileStatus {
  Ok,
  /// The source or an option is wrong.
  Invalid,
  /// The compiler or the machine is at fault.
  Failed
};

/// Compiles block IR, text or bytecode, into the bytes of an artifact whose
/// menu holds the variants of every legal combination of controls.
CompileStatus compile(llvm::StringRef source, llvm::StringRef name,
                      const CompileOptions &options,
                      std::vector<uint8_t> &artifact);

} // namespace ckpt

#endif // CKPT_COMPILER_COMPILE_H
