//===- OwnContext.h - modules compiled apart from each other ----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CODEGEN_OWNCONTEXT_H
#define CKPT_LIB_CONVERSION_CODEGEN_OWNCONTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace ckpt::codegen {

/// Parses `text` in a context of its own, so that threads share nothing, and
/// calls `compile`. The context knows what kernels are lowered to and what is
/// in `registry`. Returns the first error, `otherwise` where a failure said
/// none, or nothing when all went well.
std::string
inOwnContext(llvm::StringRef text, mlir::DialectRegistry &registry,
             llvm::StringRef otherwise,
             llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> compile);

/// LLVM's default pipeline.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level,
              const llvm::PipelineTuningOptions &tuning = {});

} // namespace ckpt::codegen

#endif // CKPT_LIB_CONVERSION_CODEGEN_OWNCONTEXT_H
