//===- Shapes.cpp - shape rules of the tensor ops -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace ckpt;

using Types = SmallVectorImpl<Type>;

//===----------------------------------------------------------------------===//
// Shared
//===----------------------------------------------------------------------===//

LogicalResult ckpt::addTensor(const ShapeReport &report,
                              ArrayRef<rt::Size> shape, Type elementType,
                              Types &types) {
  double elements = 1;
  for (const rt::Size &dim : shape)
    elements *= magnitudeOf(dim);
  if (elements > maxElements)
    return report("expected a result of at most 2^56 elements, got ",
                  shapeText(shape));
  types.push_back(
      ckpt::TensorType::get(elementType.getContext(), shape, elementType));
  return success();
}

std::string ckpt::shapeText(ArrayRef<rt::Size> shape) {
  std::string text;
  for (const rt::Size &dim : shape)
    text += (text.empty() ? "" : " x ") + dim.str();
  return text.empty() ? "a scalar" : text;
}

std::optional<Shape> ckpt::broadcast(ArrayRef<rt::Size> a,
                                     ArrayRef<rt::Size> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a);
  size_t missing = a.size() - b.size();
  for (auto [i, dim] : llvm::enumerate(b)) {
    rt::Size &into = result[missing + i];
    if (into == dim || dim.isConstant(1))
      continue;
    if (!into.isConstant(1))
      return std::nullopt;
    into = dim;
  }
  return result;
}

LogicalResult ckpt::checkSameElementType(const ShapeReport &report,
                                         ValueRange operands) {
  Type first = tensorOf(operands.front()).getElementType();
  for (auto [index, operand] : llvm::enumerate(operands)) {
    Type type = tensorOf(operand).getElementType();
    if (type != first)
      return report("expected operand #", index, " to have element type ",
                    first, " as operand #0 has, got ", type,
                    "; convert with ckpt.cast");
  }
  return success();
}

LogicalResult ckpt::checkDim(const ShapeReport &report, IntegerAttr dim,
                             unsigned rank) {
  if (!dim)
    return report("requires attribute 'dim'");
  if (dim.getInt() < 0 || dim.getInt() >= int64_t(rank))
    return report("expected 'dim' in [0, ", rank, "), got ", dim.getInt());
  return success();
}

FailureOr<rt::Size> ckpt::checkSize(const ShapeReport &report, StringRef name,
                                    StringAttr text, bool positive) {
  if (!text)
    return report("requires attribute '", name, "'");
  std::optional<rt::Size> size = sizeOf(text);
  if (!size)
    return report("expected '", name, "' to be a size, got ", text);
  bool isZero = size->isConstant(0);
  if (isZero ? positive : isPositive(*size) == false)
    return report("expected '", name, "' to be ",
                  positive ? "positive" : "not negative", ", got ", text);
  return *size;
}

LogicalResult ckpt::checkNormParameter(const ShapeReport &report,
                                       StringRef name, ckpt::TensorType x,
                                       ckpt::TensorType parameter) {
  rt::Size width = x.getDim(x.getRank() - 1);
  if (parameter.getRank() != 1 || parameter.getDim(0) != width)
    return report("expected the ", name, " to be ", width.str(),
                  " as the last extent of x is, got ",
                  shapeText(parameter.getShape()));
  if (parameter.getElementType() != x.getElementType() &&
      !parameter.getElementType().isF32())
    return report("expected the ", name, " to be f32 or ", x.getElementType(),
                  " as x is, got ", parameter.getElementType());
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                   Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  TensorType weight = tensorOf(adaptor.getWeight());
  // linear_c1
  if (x.getRank() < 1 || weight.getRank() != 2)
    return report("expected x with at least one dimension and a weight with "
                  "two, got ",
                  x, " and ", weight);
  // linear_c2
  Shape shape = x.getShape();
  if (shape.back() != weight.getDim(1))
    return report("expected the last extent of x to be ",
                  weight.getDim(1).str(), " as the weight says, got ",
                  shape.back().str());
  shape.back() = weight.getDim(0);
  // linear_c3
  if (Value bias = adaptor.getBias()) {
    TensorType type = tensorOf(bias);
    if (type.getRank() != 1 || type.getDim(0) != shape.back())
      return report("expected the bias to be ", shape.back().str(),
                    " as the weight says, got ", shapeText(type.getShape()));
  }
  // linear_c4
  if (failed(checkSameElementType(report, adaptor.getOperands())))
    return failure();
  return addTensor(report, shape, x.getElementType(), types);
}

LogicalResult SdpaOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                 Types &types) {
  TensorType q = tensorOf(adaptor.getQ()), k = tensorOf(adaptor.getK()),
             v = tensorOf(adaptor.getV());
  // sdpa_c1
  if (q.getRank() != 4 || k.getRank() != 4)
    return report("expected q and k of batch x tokens x heads x d, got ", q,
                  " and ", k);
  // sdpa_c2
  if (k.getShape() != v.getShape())
    return report("expected k and v of one shape, got ", k, " and ", v);
  // sdpa_c3
  for (auto [dim, name] : {std::pair(0, "batch"), {2, "heads"}, {3, "d"}})
    if (q.getDim(dim) != k.getDim(dim))
      return report("expected q and k with the same ", name, ", got ",
                    q.getDim(dim).str(), " and ", k.getDim(dim).str());
  // sdpa_c4
  if (failed(checkSameElementType(report, adaptor.getOperands())))
    return failure();
  types.push_back(q);
  if (!adaptor.getWithLse())
    return success();
  return addTensor(report, {q.getDim(0), q.getDim(2), q.getDim(1)},
                   Float32Type::get(q.getContext()), types);
}

//===----------------------------------------------------------------------===//
// Row-wise
//===----------------------------------------------------------------------===//

/// What the norms share; `columns` is the number of statistics a row.
static LogicalResult inferNorm(const ShapeReport &report, Value xValue,
                               Value weight, Value bias, bool withStats,
                               int64_t columns, Types &types) {
  ckpt::TensorType x = tensorOf(xValue);
  // layer_norm_c1, rms_norm_c1
  if (x.getRank() < 1)
    return report("expected x with at least one dimension, got ", x);
  // layer_norm_c2, rms_norm_c2
  for (auto [name, value] :
       {std::pair("weight", weight), std::pair("bias", bias)})
    if (value && failed(checkNormParameter(report, name, x, tensorOf(value))))
      return failure();
  types.push_back(x);
  if (!withStats)
    return success();
  Shape shape = x.getShape();
  shape.back() = columns;
  return addTensor(report, shape, Float32Type::get(x.getContext()), types);
}

LogicalResult LayerNormOp::inferShape(const ShapeReport &report,
                                      Adaptor adaptor, Types &types) {
  return inferNorm(report, adaptor.getX(), adaptor.getWeight(),
                   adaptor.getBias(), adaptor.getWithStats(), 2, types);
}

LogicalResult RmsNormOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                    Types &types) {
  return inferNorm(report, adaptor.getX(), adaptor.getWeight(), Value(),
                   adaptor.getWithStats(), 1, types);
}

LogicalResult RopeOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                 Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  TensorType cos = tensorOf(adaptor.getCos()), sin = tensorOf(adaptor.getSin());
  // rope_c1
  if (x.getRank() != 4)
    return report("expected x of batch x tokens x heads x d, got ", x);
  std::optional<rt::Size> half = x.getDim(3).divideExactly(2);
  if (!half)
    return report("expected an even d, got ", x.getDim(3).str());
  // rope_c2
  if (cos != sin || !cos.getElementType().isF32())
    return report("expected cos and sin of one type in f32, got ", cos, " and ",
                  sin);
  // rope_c3
  Shape table = cos.getShape();
  if (table != Shape{x.getDim(1), *half} &&
      table != Shape{x.getDim(0), x.getDim(1), *half})
    return report("expected tables of ", shapeText({x.getDim(1), *half}),
                  " or ", shapeText({x.getDim(0), x.getDim(1), *half}),
                  ", got ", shapeText(table));
  types.push_back(x);
  return success();
}

LogicalResult CastOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                 Types &types) {
  TypeAttr to = adaptor.getProperties().to;
  if (!to)
    return report("requires attribute 'to'");
  // cast_c1
  if (!isElementType(to.getValue()))
    return report("expected 'to' to be f32, bf16 or f16, got ", to.getValue());
  types.push_back(tensorOf(adaptor.getX()).withElementType(to.getValue()));
  return success();
}

LogicalResult ScaleOp::inferShape(const ShapeReport &, Adaptor adaptor,
                                  Types &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}

LogicalResult SiluOp::inferShape(const ShapeReport &, Adaptor adaptor,
                                 Types &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}

LogicalResult GeluOp::inferShape(const ShapeReport &, Adaptor adaptor,
                                 Types &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}

static LogicalResult inferBinary(const ShapeReport &report, ValueRange operands,
                                 Types &types) {
  ckpt::TensorType lhs = tensorOf(operands[0]), rhs = tensorOf(operands[1]);
  // add_c1, sub_c1, mul_c1
  std::optional<Shape> shape = broadcast(lhs.getShape(), rhs.getShape());
  if (!shape)
    return report("expected extents that are equal or 1, aligned at the last "
                  "dimension, got ",
                  shapeText(lhs.getShape()), " and ",
                  shapeText(rhs.getShape()));
  // add_c2, sub_c2, mul_c2
  if (failed(checkSameElementType(report, operands)))
    return failure();
  return addTensor(report, *shape, lhs.getElementType(), types);
}

LogicalResult AddOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                Types &types) {
  return inferBinary(report, adaptor.getOperands(), types);
}

LogicalResult SubOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                Types &types) {
  return inferBinary(report, adaptor.getOperands(), types);
}

LogicalResult MulOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                Types &types) {
  return inferBinary(report, adaptor.getOperands(), types);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                   Types &types) {
  ValueRange inputs = adaptor.getInputs();
  // concat_c1
  if (inputs.empty())
    return report("expected at least one operand");
  TensorType first = tensorOf(inputs.front());
  IntegerAttr dimAttr = adaptor.getProperties().dim;
  // concat_c2
  if (failed(checkDim(report, dimAttr, first.getRank())))
    return failure();
  unsigned dim = dimAttr.getInt();
  Shape shape = first.getShape();
  for (auto [index, input] : llvm::drop_begin(llvm::enumerate(inputs))) {
    Shape other = tensorOf(input).getShape();
    // concat_c3
    bool fits = other.size() == shape.size();
    for (unsigned i = 0; fits && i < shape.size(); ++i)
      fits = i == dim || other[i] == shape[i];
    if (!fits)
      return report("expected operand #", index,
                    " to have the extents of operand #0 except in dimension ",
                    dim, ", got ", shapeText(other), " and ",
                    shapeText(first.getShape()));
    shape[dim] += other[dim];
  }
  // concat_c4
  if (failed(checkSameElementType(report, inputs)))
    return failure();
  return addTensor(report, shape, first.getElementType(), types);
}

LogicalResult SliceOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                  Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  const Properties &properties = adaptor.getProperties();
  // slice_c1
  if (failed(checkDim(report, properties.dim, x.getRank())))
    return failure();
  unsigned dim = properties.dim.getInt();
  // slice_c2
  FailureOr<rt::Size> offset =
      checkSize(report, "offset", properties.offset, /*positive=*/false);
  if (failed(offset))
    return failure();
  FailureOr<rt::Size> extent =
      checkSize(report, "extent", properties.extent, /*positive=*/true);
  if (failed(extent))
    return failure();
  // slice_c3
  Shape shape = x.getShape();
  if (isPositive(*offset + *extent - shape[dim]) == true)
    return report("expected offset + extent of at most ", shape[dim].str(),
                  " as dimension ", dim, " of x is, got ",
                  (*offset + *extent).str());
  shape[dim] = *extent;
  return addTensor(report, shape, x.getElementType(), types);
}

LogicalResult ReshapeOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                    Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  ArrayAttr shapeAttr = adaptor.getProperties().shape;
  if (!shapeAttr)
    return report("requires attribute 'shape'");
  // reshape_c1
  Shape shape;
  rt::Size elements = 1;
  double magnitude = 1;
  for (Attribute dim : shapeAttr) {
    FailureOr<rt::Size> size = checkSize(
        report, "shape", dyn_cast<StringAttr>(dim), /*positive=*/true);
    if (failed(size))
      return failure();
    shape.push_back(*size);
    magnitude *= magnitudeOf(*size);
    if (magnitude > maxElements)
      return report("expected a result of at most 2^56 elements, got ",
                    shapeAttr);
    elements *= *size;
  }
  // reshape_c2
  if (elements != x.getNumElements())
    return report("expected a shape of ", x.getNumElements().str(),
                  " elements as x has, got ", shapeText(shape), " with ",
                  elements.str());
  return addTensor(report, shape, x.getElementType(), types);
}

LogicalResult TransposeOp::inferShape(const ShapeReport &report,
                                      Adaptor adaptor, Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  DenseI64ArrayAttr permutation = adaptor.getProperties().permutation;
  if (!permutation)
    return report("requires attribute 'permutation'");
  // transpose_c1
  SmallVector<int64_t> sorted(permutation.asArrayRef());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, x.getRank())))
    return report("expected a permutation of the ", x.getRank(),
                  " dimensions of x, got ", permutation);
  Shape shape;
  for (int64_t dim : permutation.asArrayRef())
    shape.push_back(x.getDim(dim));
  return addTensor(report, shape, x.getElementType(), types);
}
