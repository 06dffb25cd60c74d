//===- ckpt-opt.cpp - passes on IR files -*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#ifdef CKPT_HAS_TRANSFORMS
#include "ckpt/Transforms/Pipelines.h"
#endif
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<ckpt::CkptDialect>();
  mlir::registerTransformsPasses();
#ifdef CKPT_HAS_TRANSFORMS
  ckpt::registerCkptPasses();
  ckpt::registerPipelines();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "runs the passes of ckpt on IR files\n", registry));
}
