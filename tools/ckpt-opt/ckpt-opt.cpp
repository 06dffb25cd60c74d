//===- ckpt-opt.cpp - passes on IR files ----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifdef CKPT_HAS_CONVERSION
#include "ckpt/Conversion/Passes.h"
#endif
#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#ifdef CKPT_HAS_TRANSFORMS
#include "ckpt/Transforms/Pipelines.h"
#endif
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
#ifdef CKPT_HAS_TRANSFORMS
  ckpt::registerCkptPasses();
  ckpt::registerPipelines();
#endif
#ifdef CKPT_HAS_CONVERSION
  ckpt::registerCkptConversionPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "runs the passes of ckpt on IR files\n", registry));
}
