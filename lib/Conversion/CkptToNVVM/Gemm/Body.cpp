//===- Body.cpp - the element-wise ops behind a product -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Body.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;
using codegen::Index;

Body::Body(const PtxBuilder &ptx, const Problem &problem,
           const Parameters &parameters)
    : problem(problem), parameters(parameters), cb(ptx), values(cb) {
  for (const auto &size : parameters.sizes)
    cb.sizes[size.getKey()] = size.getValue();
  for (auto [value, pointer] : parameters.pointers)
    values.bindArgument(value, pointer);
}

SmallVector<Value> Body::leadingOf(ArrayRef<rt::Size> shape, Value row) {
  for (const Leading &leading : known)
    if (leading.row == row && ArrayRef(leading.shape) == shape)
      return leading.at;
  Leading leading;
  leading.shape.assign(shape.begin(), shape.end());
  leading.row = row;
  if (!parameters.sizes.empty() ||
      llvm::all_of(shape, [](const rt::Size &dim) { return dim.asConstant(); }))
    leading.at = values.delinearize(shape, row);
  else
    // Nobody asks where it is, only whether it is the same.
    leading.at.assign(shape.size(), row);
  known.push_back(leading);
  return leading.at;
}

void Body::prepare(PtxBuilder &ptx, Value row) {
  cb.b.restoreInsertionPoint(ptx.b.saveInsertionPoint());
  for (const Output &output : problem.outputs) {
    SmallVector<rt::Size> shape = codegen::tensorOf(output.root).getShape();
    leadingOf(ArrayRef(shape).drop_back(), row);
  }
  ptx.b.restoreInsertionPoint(cb.b.saveInsertionPoint());
}

Values Body::evaluate(PtxBuilder &ptx, const Place &place,
                      const Operands &operands) {
  cb.b.restoreInsertionPoint(ptx.b.saveInsertionPoint());
  // A source is a function of the place; each is asked for this place alone.
  Value product = operands.product;
  if (problem.bias) {
    Value bias = operands.bias;
    if (!bias) {
      Index index;
      index.at = {place.column};
      index.width = place.width;
      bias = values.emit(problem.bias, index);
    }
    product = cb.fadd(product, bias);
  }
  values.bind(problem.product, [=](const Index &) { return product; });
  // It is in the sum already; -0 changes nothing that it is added to.
  if (problem.lowRank.product) {
    Value nothing = cb.f32(-0.0, place.width);
    values.bind(problem.lowRank.product,
                [=](const Index &) { return nothing; });
  }
  for (unsigned i = 0; i < operands.auxiliaries.size(); ++i) {
    Value value = operands.auxiliaries[i];
    values.bind(problem.auxiliaries[i].value,
                [=](const Index &) { return value; });
  }
  Values results;
  for (const Output &output : problem.outputs) {
    SmallVector<rt::Size> shape = codegen::tensorOf(output.root).getShape();
    Index index;
    index.at = leadingOf(ArrayRef(shape).drop_back(), place.row);
    index.at.push_back(place.column);
    index.width = place.width;
    results.push_back(values.emit(output.root, index));
  }
  ptx.b.restoreInsertionPoint(cb.b.saveInsertionPoint());
  return results;
}

void Body::store(PtxBuilder &ptx, unsigned output, const Place &place,
                 Value value) {
  cb.b.restoreInsertionPoint(ptx.b.saveInsertionPoint());
  Value row = cb.mul(cb.offset(place.row), cb.offset(parameters.n));
  cb.store(value, parameters.outputs[output],
           cb.add(row, cb.offset(place.column)),
           codegen::elementOf(problem.outputs[output].root),
           /*aligned=*/true);
  ptx.b.restoreInsertionPoint(cb.b.saveInsertionPoint());
}
