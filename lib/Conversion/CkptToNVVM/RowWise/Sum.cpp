//===- Sum.cpp - sums over rows -------------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Sum.h"

#include <algorithm>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx::rowwise;

/// A part has as many rows as make the parts themselves cheap.
static constexpr int64_t rowsAtLeast = 32;

/// As many parts as keep a GPU busy: the fewer, the longer the rows.
static int64_t partsAtMost(const rt::Size &columns) {
  std::optional<int64_t> constant = columns.asConstant();
  constexpr int64_t elements = 1 << 19;
  return constant ? std::clamp<int64_t>(elements / *constant, 8, 128) : 128;
}

Sum::Sum(Operation *op) : op(op), x(op->getOperands().back()) {
  auto from = cast<ckpt::TensorType>(x.getType());
  auto to = cast<ckpt::TensorType>(result().getType());
  unsigned missing = from.getRank() - to.getRank();
  for (unsigned i = 0; i < from.getRank(); ++i) {
    bool isSummed = i < missing || (to.getDim(i - missing).isConstant(1) &&
                                    !from.getDim(i).isConstant(1));
    if (i + 1 == from.getRank()) {
      sumsColumns = isSummed;
    } else if (isSummed) {
      summed.push_back(i);
      summedRows *= from.getDim(i);
    } else {
      kept.push_back(i);
      keptRows *= from.getDim(i);
    }
  }
  if (isDirect())
    return;
  int64_t most =
      partsAtMost(sumsColumns ? rt::Size(1) : from.getShape().back());
  std::optional<int64_t> rows = summedRows.asConstant();
  mostParts =
      rows ? std::min((*rows + rowsAtLeast - 1) / rowsAtLeast, most) : most;
  rt::Formula wanted =
      rt::Formula::min(rt::Formula::ceilDiv(summedRows, rowsAtLeast), most);
  rowsPerPart = rt::Formula::ceilDiv(summedRows, wanted);
  parts = rt::Formula::ceilDiv(summedRows, rowsPerPart);
}

bool Sum::isDirect() const {
  return cast<ckpt::TensorType>(x.getType()).getDims() ==
         cast<ckpt::TensorType>(result().getType()).getDims();
}

rt::Size Sum::resultElements() const {
  return cast<ckpt::TensorType>(result().getType()).getNumElements();
}

rt::Size Sum::workspaceElements() const {
  return isDirect() ? rt::Size(0) : resultElements() * rt::Size(mostParts);
}

std::vector<Sum> ckpt::nvptx::rowwise::sumsOf(KernelOp kernel) {
  std::vector<Sum> sums;
  rt::Size used = 0;
  for (Operation &op : kernel.getBody().front()) {
    if (!isa<ReduceSumOp, AccumulateOp>(op))
      continue;
    Sum sum(&op);
    sum.offset = used;
    // The next one starts at a multiple of 16 bytes.
    used += sum.workspaceElements() + rt::Size(3);
    sums.push_back(std::move(sum));
  }
  return sums;
}
