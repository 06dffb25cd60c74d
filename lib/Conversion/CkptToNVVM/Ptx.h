//===- Ptx.h - a function as PTX and as machine code ------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_PTX_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ckpt::nvptx {

/// Lowers a module of the llvm, nvvm, scf, arith, math and vector dialects and
/// prints it as PTX for `chip`. The module is changed.
llvm::LogicalResult emitPtx(mlir::ModuleOp module, llvm::StringRef chip,
                            std::string &ptx);

/// NVIDIA's assembler, a program of its own.
class Assembler {
public:
  /// Looks at `CKPT_PTXAS`, then PATH, then where CUDA is usually installed,
  /// then where the build found one. The error says all that.
  static llvm::Expected<Assembler> find();

  /// The version it prints.
  llvm::StringRef version() const { return versionText; }

  /// Machine code for `chip`. Fails on what makes code slow too: registers
  /// spilled to memory, wgmma that waits for itself (serialized), setmaxnreg
  /// ignored. `symbol` names the function in messages.
  llvm::Expected<std::vector<uint8_t>> assemble(llvm::StringRef ptx,
                                                llvm::StringRef chip,
                                                llvm::StringRef symbol) const;

private:
  std::string path, versionText;
};

/// The faults that `Assembler::assemble` finds in what ptxas said, one a line;
/// empty when there are none.
std::string findFaults(llvm::StringRef log);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_PTX_H
