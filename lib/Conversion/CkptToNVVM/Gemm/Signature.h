//===- Signature.h - what a GEMM function is given --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The arguments of a launch and the parameters of its function, in one order.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_SIGNATURE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_SIGNATURE_H

#include "Problem.h"
#include "TileShape.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace ckpt::nvptx::gemm {

/// How the k blocks are shared out.
struct Split {
  rt::Formula parts = 1, blocksPerPart;
};

/// What a function sees.
struct Parameters {
  Value a, b, lowA, lowB;
  SmallVector<Value> outputMaps, auxiliaryMaps;
  /// Per output; null at run time when nobody wants it.
  SmallVector<Value> outputs;
  llvm::MapVector<Value, Value> pointers;
  Value workspace;
  Value m, n, k;
  Value parts, blocksPerPart;
  llvm::StringMap<Value> sizes;
};

class Signature {
public:
  /// The product as tiles of `shape`.
  Signature(const Problem &problem, const TileShape &shape, const Split &split);
  /// The sum of the parts, then the epilogue.
  static Signature ofReduction(const Problem &problem, const Split &split);

  std::vector<rt::LaunchArgument> arguments;

  SmallVector<rt::LaunchArgument::Kind> kinds() const;
  Parameters parametersOf(mlir::LLVM::LLVMFuncOp function) const;

private:
  Signature() = default;
  int add(rt::LaunchArgument argument);
  int addMap(const Matrix &matrix, int columns, int rows);
  int addPointer(int argument);
  int addNumber(const rt::Formula &value);
  void addEpilogue(const Problem &problem, bool auxiliariesInPlace);

  // Positions in `arguments`.
  int a = -1, b = -1, lowA = -1, lowB = -1, m = -1, n = -1, k = -1, parts = -1,
      blocksPerPart = -1, workspace = -1;
  SmallVector<int> outputMaps, auxiliaryMaps, outputs;
  llvm::MapVector<Value, int> pointers;
  std::map<std::string, int> sizes;
};

} // namespace ckpt::nvptx::gemm

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GEMM_SIGNATURE_H
