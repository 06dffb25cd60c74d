//===- BackwardShapes.cpp - shape rules of the backward ops ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace ckpt;

using Types = SmallVectorImpl<Type>;

/// `small` broadcasts to `large`, and `large` is the result.
static bool broadcastsTo(ckpt::TensorType small, ckpt::TensorType large) {
  std::optional<Shape> shape = broadcast(small.getShape(), large.getShape());
  return shape && *shape == large.getShape();
}

/// The operands have one type.
static LogicalResult inferSame(const ShapeReport &report, Value a, Value b,
                               Types &types) {
  if (a.getType() != b.getType())
    return report("expected operands of one type, got ", a.getType(), " and ",
                  b.getType());
  types.push_back(a.getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

LogicalResult LinearDxOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                     Types &types) {
  TensorType dy = tensorOf(adaptor.getDy());
  TensorType weight = tensorOf(adaptor.getWeight());
  // linear_dx_c1
  if (dy.getRank() < 1 || weight.getRank() != 2)
    return report("expected dy with at least one dimension and a weight with "
                  "two, got ",
                  dy, " and ", weight);
  // linear_dx_c2
  Shape shape = dy.getShape();
  if (shape.back() != weight.getDim(0))
    return report("expected the last extent of dy to be ",
                  weight.getDim(0).str(), " as the weight says, got ",
                  shape.back().str());
  shape.back() = weight.getDim(1);
  // linear_dx_c3
  if (failed(checkSameElementType(report, adaptor.getOperands())))
    return failure();
  return addTensor(report, shape, dy.getElementType(), types);
}

LogicalResult LinearDwOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                     Types &types) {
  TensorType dy = tensorOf(adaptor.getDy()), x = tensorOf(adaptor.getX());
  // linear_dw_c1
  Shape dyShape = dy.getShape(), xShape = x.getShape();
  if (dyShape.empty() || dyShape.size() != xShape.size() ||
      !std::equal(dyShape.begin(), dyShape.end() - 1, xShape.begin()))
    return report("expected dy and x with the same rows, got ", dy, " and ", x);
  // linear_dw_c2
  if (failed(checkSameElementType(report, adaptor.getOperands())))
    return failure();
  // linear_dw_c3
  TypeAttr to = adaptor.getProperties().to;
  if (!to)
    return report("requires attribute 'to'");
  if (!isElementType(to.getValue()))
    return report("expected 'to' to be f32, bf16 or f16, got ", to.getValue());
  return addTensor(report, {dyShape.back(), xShape.back()}, to.getValue(),
                   types);
}

LogicalResult SdpaDxOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                   Types &types) {
  TensorType q = tensorOf(adaptor.getQ()), k = tensorOf(adaptor.getK());
  // sdpa_dx_c1
  if (q.getRank() != 4 || k.getRank() != 4)
    return report("expected q and k of batch x tokens x heads x d, got ", q,
                  " and ", k);
  // sdpa_dx_c2
  if (k != tensorOf(adaptor.getV()))
    return report("expected k and v of one type, got ", k, " and ",
                  adaptor.getV().getType());
  // sdpa_dx_c3
  for (auto [dim, name] : {std::pair(0, "batch"), {2, "heads"}, {3, "d"}})
    if (q.getDim(dim) != k.getDim(dim))
      return report("expected q and k with the same ", name, ", got ",
                    q.getDim(dim).str(), " and ", k.getDim(dim).str());
  if (q.getElementType() != k.getElementType())
    return report("expected q and k of one element type, got ", q, " and ", k);
  // sdpa_dx_c4
  if (tensorOf(adaptor.getO()) != q || tensorOf(adaptor.getDout()) != q)
    return report("expected o and dout of q's type ", q, ", got ",
                  adaptor.getO().getType(), " and ",
                  adaptor.getDout().getType());
  // sdpa_dx_c5
  TensorType lse = tensorOf(adaptor.getLse());
  if (lse.getShape() != Shape{q.getDim(0), q.getDim(2), q.getDim(1)} ||
      !lse.getElementType().isF32())
    return report("expected lse of batch x heads x queries in f32, got ", lse);
  types.append({q, k, k});
  return success();
}

//===----------------------------------------------------------------------===//
// Row-wise
//===----------------------------------------------------------------------===//

/// Statistics of x: its rows by `columns`, f32.
static bool areStatsOf(ckpt::TensorType stats, ckpt::TensorType x,
                       int64_t columns) {
  Shape shape = x.getShape();
  if (shape.empty())
    return false;
  shape.back() = columns;
  return stats.getShape() == shape && stats.getElementType().isF32();
}

static LogicalResult inferNormDx(const ShapeReport &report, Value dy,
                                 Value xValue, Value stats, Value weight,
                                 int64_t columns, Types &types) {
  ckpt::TensorType x = tensorOf(xValue);
  // layer_norm_dx_c1, rms_norm_dx_c1
  if (dy.getType() != x)
    return report("expected dy of x's type ", x, ", got ", dy.getType());
  // layer_norm_dx_c2, rms_norm_dx_c2
  if (!areStatsOf(tensorOf(stats), x, columns))
    return report("expected stats of x's rows by ", columns, " in f32, got ",
                  stats.getType());
  // layer_norm_dx_c3, rms_norm_dx_c3
  if (weight &&
      failed(checkNormParameter(report, "weight", x, tensorOf(weight))))
    return failure();
  types.push_back(x);
  return success();
}

LogicalResult LayerNormDxOp::inferShape(const ShapeReport &report,
                                        Adaptor adaptor, Types &types) {
  return inferNormDx(report, adaptor.getDy(), adaptor.getX(),
                     adaptor.getStats(), adaptor.getWeight(), 2, types);
}

LogicalResult RmsNormDxOp::inferShape(const ShapeReport &report,
                                      Adaptor adaptor, Types &types) {
  return inferNormDx(report, adaptor.getDy(), adaptor.getX(),
                     adaptor.getStats(), adaptor.getWeight(), 1, types);
}

LogicalResult NormalizeOp::inferShape(const ShapeReport &report,
                                      Adaptor adaptor, Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  TensorType stats = tensorOf(adaptor.getStats());
  // normalize_c1
  if (!areStatsOf(stats, x, 1) && !areStatsOf(stats, x, 2))
    return report("expected stats of x's rows by 1 or 2 in f32, got ", stats);
  types.push_back(x.withElementType(Float32Type::get(x.getContext())));
  return success();
}

LogicalResult SiluDxOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                   Types &types) {
  // silu_dx_c1
  return inferSame(report, adaptor.getDy(), adaptor.getX(), types);
}

LogicalResult GeluDxOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                   Types &types) {
  // gelu_dx_c1
  return inferSame(report, adaptor.getDy(), adaptor.getX(), types);
}

//===----------------------------------------------------------------------===//
// Shape and sums
//===----------------------------------------------------------------------===//

LogicalResult PadOp::inferShape(const ShapeReport &report, Adaptor adaptor,
                                Types &types) {
  TensorType x = tensorOf(adaptor.getX());
  const Properties &properties = adaptor.getProperties();
  // pad_c1
  if (failed(checkDim(report, properties.dim, x.getRank())))
    return failure();
  unsigned dim = properties.dim.getInt();
  // pad_c2
  FailureOr<rt::Size> offset =
      checkSize(report, "offset", properties.offset, /*positive=*/false);
  if (failed(offset))
    return failure();
  FailureOr<rt::Size> extent =
      checkSize(report, "extent", properties.extent, /*positive=*/true);
  if (failed(extent))
    return failure();
  // pad_c3
  Shape shape = x.getShape();
  if (isPositive(*offset + shape[dim] - *extent) == true)
    return report("expected an extent of at least offset + ", shape[dim].str(),
                  ", got ", extent->str());
  shape[dim] = *extent;
  return addTensor(report, shape, x.getElementType(), types);
}

LogicalResult ReduceSumOp::verify() {
  // reduce_sum_c1
  if (!broadcastsTo(getY().getType(), getX().getType()))
    return emitOpError("expected a result that broadcasts to ")
           << getX().getType() << ", got " << getY().getType();
  return success();
}

LogicalResult AccumulateOp::inferShape(const ShapeReport &report,
                                       Adaptor adaptor, Types &types) {
  TensorType sum = tensorOf(adaptor.getSum()), x = tensorOf(adaptor.getX());
  // accumulate_c1
  if (!sum.getElementType().isF32())
    return report("expected sum in f32, got ", sum);
  // accumulate_c2
  if (!broadcastsTo(sum, x))
    return report("expected a sum that broadcasts to ", x, ", got ", sum);
  types.push_back(sum);
  return success();
}
