//===- ckpt-lsp-server.cpp - IR files in an editor ------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "ckpt-lsp-server " CKPT_VERSION "\n";
  });
  mlir::DialectRegistry registry;
  registry.insert<ckpt::CkptDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
