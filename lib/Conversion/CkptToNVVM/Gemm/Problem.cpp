//===- Problem.cpp - what a GEMM kernel computes --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Problem.h"
#include "../../Codegen/CodeBuilder.h"

#include "ckpt/Dialect/Ckpt/IR/LowRank.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;
using codegen::tensorOf;

static rt::DType dtypeOf(Value value) {
  Type element = codegen::elementOf(value);
  if (element.isF32())
    return rt::DType::F32;
  return element.isBF16() ? rt::DType::BF16 : rt::DType::F16;
}

/// All dimensions but the last as one; nothing when they are not evenly spaced
/// or the last one is not dense.
static std::optional<Matrix> asMatrix(const StridedView &view, rt::DType type) {
  if (view.extents.empty())
    return std::nullopt;
  rt::Size rows = 1;
  for (const rt::Size &extent : ArrayRef(view.extents).drop_back())
    rows *= extent;
  std::optional<StridedView> flat = view.reshape({rows, view.extents.back()});
  if (!flat || (flat->strides[1] != 1 && flat->extents[1] != 1))
    return std::nullopt;
  return Matrix{view.argument,       view.offset,      rows,
                view.extents.back(), flat->strides[0], type};
}

static std::optional<Matrix> matrixOf(Value value) {
  std::optional<StridedView> view = viewOf(value);
  if (!view)
    return std::nullopt;
  return asMatrix(*view, dtypeOf(value));
}

/// TMA moves rows whose bytes and whose start are multiples of 16. Sizes that
/// are known only at run time are checked there.
static LogicalResult checkRows(Operation *op, StringRef name,
                               const Matrix &matrix) {
  int64_t bytes = rt::bytesOf(matrix.type);
  for (const rt::Size &elements : {matrix.rowStride, matrix.offset}) {
    std::optional<int64_t> constant = elements.asConstant();
    if (constant && *constant * bytes % 16)
      return op->emitOpError("expected the rows of ")
             << name << " to be a multiple of 16 bytes apart, found "
             << *constant * bytes << " (" << *constant << " "
             << rt::nameOf(matrix.type)
             << "); pad the last extent to a multiple of " << 16 / bytes;
  }
  return success();
}

/// Sorts the epilogue's operands, from `value` up to the product.
static LogicalResult collectOperands(Problem &problem, Value value,
                                     llvm::DenseSet<Value> &seen) {
  if (value == problem.product || value == problem.lowRank.product ||
      !seen.insert(value).second)
    return success();
  SmallVector<rt::Size> shape = tensorOf(value).getShape();
  if (!codegen::elementOf(value).isF32() && !shape.empty() &&
      shape.back() == problem.n &&
      tensorOf(value).getNumElements() == problem.m * problem.n)
    if (std::optional<Matrix> matrix = matrixOf(value)) {
      problem.auxiliaries.push_back({value, *matrix});
      return checkRows(problem.op, "an operand of the element-wise ops",
                       *matrix);
    }
  if (isa<BlockArgument>(value)) {
    problem.pointers.insert(value);
    // All but the last: which column it is at is known in any case.
    for (unsigned i = 0; i + 1 < shape.size(); ++i)
      problem.readsRows |= !shape[i].isConstant(1);
    return success();
  }
  // What moves elements asks where they are.
  problem.readsRows |= isa<SliceOp, ReshapeOp, TransposeOp, ConcatOp, PadOp>(
      value.getDefiningOp());
  for (Value operand : value.getDefiningOp()->getOperands())
    if (failed(collectOperands(problem, operand, seen)))
      return failure();
  return success();
}

/// The two operands of a product.
static LogicalResult readOperands(Operation *op, Matrix &a, Matrix &b) {
  Matrix *matrices[] = {&a, &b};
  for (unsigned i = 0; i < 2; ++i) {
    Value operand = op->getOperand(i);
    Type element = codegen::elementOf(operand);
    if (!element.isBF16() && !element.isF16()) {
      op->emitOpError("expected operands of bf16 or f16 on a GPU, found ")
          << element << "; convert the weights and inputs";
      return failure();
    }
    std::optional<Matrix> matrix = matrixOf(operand);
    if (!matrix) {
      op->emitOpError("expected operand #")
          << i << " to be a matrix with evenly spaced rows in memory";
      return failure();
    }
    if (failed(checkRows(op, i ? "the second operand" : "the first operand",
                         *matrix)))
      return failure();
    *matrices[i] = *matrix;
  }
  return success();
}

FailureOr<Problem> gemm::analyze(KernelOp kernel) {
  Problem problem;
  problem.kernel = kernel;
  Operation *low = nullptr;
  for (Operation &op : kernel.getBody().front())
    if (isa<LinearOp, LinearDxOp, LinearDwOp>(op))
      (productBeside(&op) ? low : problem.op) = &op;
  Operation *op = problem.op;
  if (!op) {
    kernel.emitOpError(
        "expected a linear, linear_dx or linear_dw in a gemm, found none");
    return failure();
  }
  problem.product = op->getResult(0);
  if (auto linear = dyn_cast<LinearOp>(op))
    problem.bias = linear.getBias();

  if (failed(readOperands(op, problem.a, problem.b)))
    return failure();
  if (low) {
    problem.lowRank.product = low->getResult(0);
    if (failed(readOperands(low, problem.lowRank.a, problem.lowRank.b)))
      return failure();
  }
  problem.type = halfOf(problem.a.type);
  problem.n = tensorOf(problem.product).getShape().back();
  if (isa<LinearDwOp>(op)) {
    problem.aMajor = problem.bMajor = Major::MN;
    problem.m = problem.a.columns;
    problem.k = problem.a.rows;
  } else {
    if (isa<LinearDxOp>(op))
      problem.bMajor = Major::MN;
    problem.m = problem.a.rows;
    problem.k = problem.a.columns;
  }

  llvm::DenseSet<Value> seen;
  Operation *yield = kernel.getBody().front().getTerminator();
  for (OpOperand &operand : yield->getOpOperands()) {
    Value root = operand.get();
    while (auto reshape = root.getDefiningOp<ReshapeOp>())
      root = reshape.getX();
    if (tensorOf(root).getNumElements() != problem.m * problem.n ||
        tensorOf(root).getShape().back() != problem.n) {
      kernel.emitOpError("expected result ")
          << operand.getOperandNumber() << " to have the shape of the product "
          << problem.product.getType() << ", found " << root.getType();
      return failure();
    }
    Output output;
    output.result = operand.getOperandNumber();
    output.root = root;
    output.matrix = {problem.reads() + int(output.result),
                     0,
                     problem.m,
                     problem.n,
                     problem.n,
                     dtypeOf(root)};
    if (failed(collectOperands(problem, root, seen)))
      return failure();
    problem.outputs.push_back(output);
  }
  if (problem.bias) {
    if (!isa<BlockArgument>(problem.bias)) {
      op->emitOpError("expected the bias to be an argument of the kernel");
      return failure();
    }
    problem.pointers.insert(problem.bias);
  }
  return problem;
}
