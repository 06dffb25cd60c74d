//===- KernelModule.h - a GPU function while it is written ------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_KERNELMODULE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_KERNELMODULE_H

#include "Generators.h"
#include "PtxBuilder.h"

namespace ckpt::nvptx {

/// How a kernel's function is launched.
struct KernelShape {
  StringRef name;
  int threads = 0;
  int cluster = 1;
  /// At least one block stays on a multiprocessor; `setMaxRegisters` needs it.
  bool oneBlock = true;
};

/// A module with one kernel function.
struct KernelModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp function;
  /// All but `sharedBytes`.
  rt::GpuFunction launch;
};

/// Makes the function and its entry block. Parameters follow the launch's
/// arguments.
KernelModule makeKernelModule(mlir::MLIRContext *context, mlir::Location loc,
                              const KernelShape &shape,
                              ArrayRef<rt::LaunchArgument::Kind> parameters);
/// Builds at the end of the entry block.
PtxBuilder bodyOf(KernelModule &kernel);
/// Builds the return behind what `ptx` has built.
Function finishKernel(KernelModule kernel, PtxBuilder &ptx,
                      int sharedBytes = 0);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_KERNELMODULE_H
