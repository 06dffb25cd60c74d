//===- Generators.h - GPU code and launches of a kernel ---------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One generator per kernel class. Each makes functions (llvm, nvvm, scf and
/// arith ops, sm_90a) and says how they are launched. Functions take their
/// sizes at run time where that costs nothing, so that kernels which differ in
/// sizes alone print alike and are compiled once.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GENERATORS_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GENERATORS_H

#include "Program/Program.h"
#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ckpt::nvptx {

/// What the user may choose about the code.
struct Options {
  /// The same bits from run to run. Off, only the order of additions in the
  /// attention backward is free.
  bool deterministic = false;
};

/// One function in a module of its own.
struct Function {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// `symbol`, `threads`, `cluster` and `sharedBytes`; no code yet.
  rt::GpuFunction launch;
};

/// All there is to a kernel. `GpuLaunch::function` counts `functions`.
struct Code {
  llvm::SmallVector<Function> functions;
  std::vector<rt::Alternative> alternatives;
};

/// The code of a kernel of any class.
llvm::LogicalResult generate(KernelOp kernel, const Options &options,
                             Code &code);

/// Each emits a diagnostic at the op that it has no code for.
llvm::LogicalResult generateGemm(KernelOp kernel, const Options &options,
                                 Code &code);
llvm::LogicalResult
generateAttentionForward(KernelOp kernel, const Options &options, Code &code);
llvm::LogicalResult
generateAttentionBackward(KernelOp kernel, const Options &options, Code &code);
llvm::LogicalResult generateRowWise(KernelOp kernel, const Options &options,
                                    Code &code);

/// Bytes of scratch memory that the launches use at most.
rt::Size gemmWorkspace(KernelOp kernel);
rt::Size attentionForwardWorkspace(KernelOp kernel);
rt::Size attentionBackwardWorkspace(KernelOp kernel);
rt::Size rowWiseWorkspace(KernelOp kernel);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GENERATORS_H
