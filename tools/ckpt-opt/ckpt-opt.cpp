//===- ckpt-opt.cpp - passes on IR files ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Conversion/Passes.h"
#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "ckpt/Transforms/Pipelines.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "ckpt-opt " CKPT_VERSION "\n"; });
  mlir::DialectRegistry registry;
  registry.insert<ckpt::CkptDialect>();
  mlir::registerTransformsPasses();
  ckpt::registerCkptPasses();
  ckpt::registerPipelines();
  ckpt::registerCkptConversionPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "runs the passes of ckpt on IR files\n", registry));
}
