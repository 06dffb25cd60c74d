//===- Signature.cpp - what a GEMM function is given ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Signature.h"
#include "../LaunchArguments.h"

#include <set>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

int Signature::add(rt::LaunchArgument argument) {
  arguments.push_back(std::move(argument));
  return arguments.size() - 1;
}

int Signature::addMap(const Matrix &matrix, int columns, int rows) {
  int64_t bytes = rt::bytesOf(matrix.type);
  rt::LaunchArgument map;
  map.kind = rt::LaunchArgument::Kind::Map;
  map.argument = matrix.argument;
  map.offset = matrix.offset * bytes;
  map.extents = {matrix.columns, matrix.rows};
  map.strides = {matrix.rowStride * bytes};
  map.box = {columns, rows};
  map.dtype = matrix.type;
  return add(std::move(map));
}

int Signature::addPointer(int argument) {
  return add(pointerArgument(argument));
}

int Signature::addNumber(const rt::Formula &value) {
  return add(int32Argument(value));
}

/// What the element-wise ops need, wherever they run.
void Signature::addEpilogue(const Problem &problem, bool auxiliariesInPlace) {
  for (const Output &output : problem.outputs)
    outputs.push_back(addPointer(output.matrix.argument));
  std::set<std::string> names;
  auto addRead = [&](BlockArgument value) {
    if (!pointers.contains(value))
      pointers[value] = addPointer(value.getArgNumber());
    for (const rt::Size &dim :
         cast<ckpt::TensorType>(value.getType()).getShape())
      dim.collectNames(names);
  };
  for (Value value : problem.pointers)
    addRead(cast<BlockArgument>(value));
  if (auxiliariesInPlace)
    for (const Auxiliary &auxiliary : problem.auxiliaries)
      addRead(problem.body().getArgument(auxiliary.matrix.argument));
  m = addNumber(problem.m);
  n = addNumber(problem.n);
  if (!problem.readsRows &&
      (!auxiliariesInPlace || problem.auxiliaries.empty()))
    return;
  for (const Output &output : problem.outputs)
    for (const rt::Size &dim :
         cast<ckpt::TensorType>(output.root.getType()).getShape())
      dim.collectNames(names);
  for (const rt::Size &dim :
       cast<ckpt::TensorType>(problem.product.getType()).getShape())
    dim.collectNames(names);
  for (const std::string &name : names)
    sizes[name] = addNumber(rt::Size::symbol(name));
}

Signature::Signature(const Problem &problem, const TileShape &shape,
                     const Split &split) {
  // K-major: rows of K; else 64 of M or N by rows of k. Multicast halves B.
  auto box = [&](const Matrix &matrix, Major major, int tileRows, int sharers) {
    return major == Major::K ? addMap(matrix, blockK, tileRows / sharers)
                             : addMap(matrix, 64, blockK / sharers);
  };
  a = box(problem.a, shape.aMajor, shape.bm(), 1);
  b = box(problem.b, shape.bMajor, shape.bn, shape.cluster);
  if (problem.lowRank.product) {
    lowA = box(problem.lowRank.a, shape.aMajor, shape.bm(), 1);
    lowB = box(problem.lowRank.b, shape.bMajor, shape.bn, shape.cluster);
  }
  if (shape.splitK) {
    m = addNumber(problem.m);
    n = addNumber(problem.n);
    workspace = add(workspaceArgument());
  } else {
    if (shape.staged)
      for (const Output &output : problem.outputs)
        outputMaps.push_back(addMap(output.matrix, 64, 16));
    if (shape.auxiliaries)
      for (const Auxiliary &auxiliary : problem.auxiliaries)
        auxiliaryMaps.push_back(addMap(auxiliary.matrix, 64, shape.bm()));
    addEpilogue(problem, shape.auxiliaries == 0);
  }
  k = addNumber(problem.k);
  if (shape.splitK) {
    parts = addNumber(split.parts);
    blocksPerPart = addNumber(split.blocksPerPart);
  }
}

Signature Signature::ofReduction(const Problem &problem, const Split &split) {
  Signature signature;
  signature.workspace = signature.add(workspaceArgument());
  signature.addEpilogue(problem, /*auxiliariesInPlace=*/true);
  signature.parts = signature.addNumber(split.parts);
  return signature;
}

SmallVector<rt::LaunchArgument::Kind> Signature::kinds() const {
  SmallVector<rt::LaunchArgument::Kind> kinds;
  for (const rt::LaunchArgument &argument : arguments)
    kinds.push_back(argument.kind);
  return kinds;
}

Parameters Signature::parametersOf(LLVM::LLVMFuncOp function) const {
  auto at = [&](int position) -> Value {
    return position < 0 ? Value() : function.getArgument(position);
  };
  Parameters parameters;
  parameters.a = at(a);
  parameters.b = at(b);
  parameters.lowA = at(lowA);
  parameters.lowB = at(lowB);
  parameters.m = at(m);
  parameters.n = at(n);
  parameters.k = at(k);
  parameters.parts = at(parts);
  parameters.blocksPerPart = at(blocksPerPart);
  parameters.workspace = at(workspace);
  for (int position : outputMaps)
    parameters.outputMaps.push_back(at(position));
  for (int position : auxiliaryMaps)
    parameters.auxiliaryMaps.push_back(at(position));
  for (int position : outputs)
    parameters.outputs.push_back(at(position));
  for (auto [value, position] : pointers)
    parameters.pointers[value] = at(position);
  for (auto [name, position] : sizes)
    parameters.sizes[name] = at(position);
  return parameters;
}
