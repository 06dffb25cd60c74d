//===- Evaluator.cpp - values of a kernel's body, on demand ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Activations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::codegen;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

SmallVector<Value> Evaluator::extentsOf(Value value) {
  SmallVector<Value> extents;
  for (const rt::Size &dim : tensorOf(value).getShape())
    extents.push_back(cb.size(dim));
  return extents;
}

Value Evaluator::linearize(ArrayRef<rt::Size> shape, ArrayRef<Value> at) {
  unsigned next = 0;
  Value position;
  // The longest beginning that is known.
  for (Position &known : positions) {
    unsigned rank = known.shape.size();
    if (rank > next && rank <= shape.size() &&
        ArrayRef(known.shape) == shape.take_front(rank) &&
        ArrayRef(known.at) == at.take_front(rank)) {
      next = rank;
      position = cb.offset(known.position);
    }
  }
  for (; next < shape.size(); ++next) {
    if (shape[next].isConstant(1))
      continue;
    Value index = cb.offset(at[next]);
    position =
        position
            ? cb.add(cb.mul(position, cb.offset(cb.size(shape[next]))), index)
            : index;
  }
  return position ? position : cb.offset(cb.index(0));
}

SmallVector<Value> Evaluator::delinearize(ArrayRef<rt::Size> shape,
                                          Value position) {
  Value rest = position;
  SmallVector<Value> at(shape.size());
  // The outermost coordinate that counts needs no remainder.
  unsigned outermost = 0;
  while (outermost + 1 < shape.size() && shape[outermost].isConstant(1))
    at[outermost++] = cb.index(0);
  for (unsigned i = shape.size(); i-- > outermost;) {
    if (i == outermost) {
      at[i] = cb.coordinate(rest);
    } else if (shape[i].isConstant(1)) {
      at[i] = cb.index(0);
    } else {
      Value extent = cb.size(shape[i]);
      if (extent.getType() != rest.getType())
        extent = cb.offset(extent);
      at[i] = cb.coordinate(cb.rem(rest, extent));
      rest = cb.div(rest, extent);
    }
  }
  if (shape.size() > 1)
    positions.push_back({SmallVector<rt::Size>(shape), at, position});
  return at;
}

bool codegen::isMultiple(const rt::Size &size, unsigned unit) {
  std::optional<int64_t> constant = size.asConstant();
  return constant && *constant % unit == 0;
}

bool codegen::isAligned(ArrayRef<rt::Size> shape, const Index &index) {
  return index.aligned &&
         (shape.size() <= 1 || isMultiple(shape.back(), index.width));
}

std::optional<Index> Evaluator::reshape(ArrayRef<rt::Size> from,
                                        ArrayRef<rt::Size> to,
                                        const Index &index) {
  Index result;
  result.width = index.width;
  result.aligned = true;
  bool contiguous = true;
  unsigned i = 0, j = 0;
  // Runs of dimensions that hold equally many elements on both sides are
  // converted each by itself, so that common dimensions cost nothing.
  while (i < from.size() || j < to.size()) {
    unsigned firstFrom = i, firstTo = j;
    rt::Size left = 1, right = 1;
    do {
      std::optional<rt::Size> quotient;
      bool takeLeft =
          i < from.size() && (j == to.size() || left == right ||
                              (left != right && right.divideExactly(left)));
      if (takeLeft)
        left *= from[i++];
      else if (j < to.size())
        right *= to[j++];
      else
        break;
    } while (left != right);
    // A run that ended in the middle of units swallows the units.
    while (i < from.size() && from[i].isConstant(1))
      ++i;
    while (j < to.size() && to[j].isConstant(1))
      ++j;
    bool last = i == from.size() && j == to.size();
    ArrayRef<rt::Size> fromRun = from.slice(firstFrom, i - firstFrom);
    ArrayRef<rt::Size> toRun = to.slice(firstTo, j - firstTo);
    ArrayRef<Value> at =
        ArrayRef<Value>(index.at).slice(firstFrom, i - firstFrom);
    if (fromRun == toRun) {
      result.at.append(at.begin(), at.end());
      if (last)
        result.aligned = index.aligned;
      continue;
    }
    Value position = linearize(fromRun, at);
    SmallVector<Value> converted = delinearize(toRun, position);
    result.at.append(converted);
    if (!last || index.width == 1)
      continue;
    // The neighbours: their first position, and how far they may reach.
    bool aligned = index.aligned;
    unsigned counting = 0;
    for (const rt::Size &dim : fromRun)
      counting += !dim.isConstant(1);
    if (counting > 1)
      aligned &= isMultiple(fromRun.back(), index.width);
    counting = 0;
    for (const rt::Size &dim : toRun)
      counting += !dim.isConstant(1);
    if (counting > 1)
      contiguous = aligned && isMultiple(toRun.back(), index.width);
    else
      contiguous = !toRun.back().isConstant(1);
    result.aligned = aligned;
  }
  if (index.width > 1 && !contiguous)
    return std::nullopt;
  return result;
}

Index Evaluator::broadcast(TensorType operand, TensorType result,
                           const Index &index) {
  Index mapped;
  mapped.width = index.width;
  mapped.aligned = index.aligned;
  unsigned missing = result.getRank() - operand.getRank();
  for (unsigned i = 0; i < operand.getRank(); ++i) {
    bool repeats = operand.getDim(i).isConstant(1) &&
                   !result.getDim(i + missing).isConstant(1);
    mapped.at.push_back(repeats ? cb.index(0) : index.at[i + missing]);
    if (repeats && i + 1 == operand.getRank())
      mapped.width = 1;
  }
  if (operand.getRank() == 0)
    mapped.width = 1;
  return mapped;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Evaluator::emit(Value value, const Index &index) {
  Region *here = cb.b.getInsertionBlock()->getParent();
  for (Known &entry : llvm::reverse(known))
    if (entry.value == value && entry.index.width == index.width &&
        entry.index.at == index.at &&
        entry.result.getParentRegion()->isAncestor(here))
      return entry.result;
  Value result = compute(value, index);
  known.push_back({value, index, result});
  return result;
}

Value Evaluator::emitSplat(Value value, ArrayRef<Value> at, unsigned width) {
  Index index;
  index.at.assign(at.begin(), at.end());
  return cb.splat(emit(value, index), width);
}

Value Evaluator::emitBroadcast(Value operand, Value result,
                               const Index &index) {
  Index mapped = broadcast(tensorOf(operand), tensorOf(result), index);
  return cb.splat(emit(operand, mapped), index.width);
}

Value Evaluator::reject(Operation *op, unsigned width) {
  if (!hasFailed)
    op->emitOpError("has no code in this place of a kernel");
  hasFailed = true;
  return cb.f32(0, width);
}

Value Evaluator::compute(Value value, const Index &index) {
  if (auto source = sources.find(value); source != sources.end())
    return source->second(index);
  if (auto pointer = pointers.find(value); pointer != pointers.end()) {
    SmallVector<rt::Size> shape = tensorOf(value).getShape();
    return cb.load(pointer->second, linearize(shape, index.at), index.width,
                   elementOf(value), isAligned(shape, index));
  }
  Operation *op = value.getDefiningOp();
  return TypeSwitch<Operation *, Value>(op)
      .Case<AddOp, SubOp, MulOp, ScaleOp, CastOp, SiluOp, GeluOp, SiluDxOp,
            GeluDxOp>([&](auto op) { return emitElementwise(op, index); })
      .Case<SliceOp, ReshapeOp, TransposeOp>(
          [&](auto op) { return emitView(op, index); })
      .Case([&](ConcatOp op) { return emitConcat(op, index); })
      .Case([&](PadOp op) { return emitPad(op, index); })
      .Case([&](RopeOp op) { return emitRope(op, index); })
      .Case([&](NormalizeOp op) { return emitNormalize(op, index); })
      .Default([&](Operation *op) { return reject(op, index.width); });
}

Value Evaluator::emitLanes(Value value, const Index &index) {
  return cb.gather(index.width, [&](Value lane) {
    Index one;
    one.at = index.at;
    one.at.back() = cb.add(one.at.back(), lane);
    return emit(value, one);
  });
}

Value Evaluator::emitElementwise(Operation *op, const Index &index) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emitBroadcast(operand, op->getResult(0), index));
  auto constant = [&](const APFloat &value) {
    return cb.f32(value.convertToDouble(), index.width);
  };
  auto precision = elementOf(op->getResult(0)).isF32()
                       ? CodeBuilder::Precision::Full
                       : CodeBuilder::Precision::Half;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AddOp) { return cb.fadd(operands[0], operands[1]); })
      .Case([&](SubOp) { return cb.fsub(operands[0], operands[1]); })
      .Case([&](MulOp) { return cb.fmul(operands[0], operands[1]); })
      .Case([&](ScaleOp scale) {
        Value scaled = cb.fmul(operands[0], constant(scale.getFactor()));
        if (scale.getOffset().isZero())
          return scaled;
        return cb.fadd(scaled, constant(scale.getOffset()));
      })
      .Case([&](CastOp cast) { return cb.roundTo(operands[0], cast.getTo()); })
      .Case([&](SiluOp) { return emitSilu(cb, operands[0], precision); })
      .Case([&](GeluOp gelu) {
        return emitGelu(cb, operands[0], gelu.getApproximate(), precision);
      })
      .Case([&](SiluDxOp) {
        return emitSiluDx(cb, operands[0], operands[1], precision);
      })
      .Case([&](GeluDxOp gelu) {
        return emitGeluDx(cb, operands[0], operands[1], gelu.getApproximate(),
                          precision);
      });
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value Evaluator::emitView(Operation *op, const Index &index) {
  Value x = op->getOperand(0);
  Index mapped = index;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    rt::Size offset = *rt::Size::parse(slice.getOffset().str());
    unsigned dim = slice.getDim();
    mapped.at[dim] = cb.add(mapped.at[dim], cb.size(offset));
    if (dim + 1 == mapped.at.size())
      mapped.aligned &= isMultiple(offset, index.width);
    return emit(x, mapped);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    if (index.width > 1 && permutation.back() + 1 != int64_t(index.at.size()))
      return emitLanes(op->getResult(0), index);
    for (auto [i, dim] : llvm::enumerate(permutation))
      mapped.at[dim] = index.at[i];
    return emit(x, mapped);
  }
  SmallVector<rt::Size> shape = tensorOf(op->getResult(0)).getShape();
  // A dense tensor in memory has all shapes at once.
  if (auto pointer = pointers.find(x); pointer != pointers.end())
    return cb.load(pointer->second, linearize(shape, index.at), index.width,
                   elementOf(x), isAligned(shape, index));
  if (std::optional<Index> reshaped =
          reshape(shape, tensorOf(x).getShape(), index))
    return emit(x, *reshaped);
  return emitLanes(op->getResult(0), index);
}

/// All extents but the last are multiples of `width`, so that `width` aligned
/// neighbours lie in one part.
static bool bordersAligned(OperandRange parts, unsigned dim, unsigned width) {
  return llvm::all_of(parts.drop_back(), [&](Value part) {
    return isMultiple(tensorOf(part).getDim(dim), width);
  });
}

Value Evaluator::emitConcat(ConcatOp op, const Index &index) {
  unsigned dim = op.getDim();
  bool alongLast = dim + 1 == index.at.size();
  if (index.width > 1 && alongLast &&
      !(index.aligned && bordersAligned(op.getInputs(), dim, index.width)))
    return emitLanes(op.getY(), index);
  std::function<Value(unsigned, rt::Size)> pick = [&](unsigned part,
                                                      rt::Size begin) -> Value {
    Value input = op.getInputs()[part];
    auto inside = [&] {
      Index mapped = index;
      mapped.at[dim] = cb.sub(mapped.at[dim], cb.size(begin));
      return emit(input, mapped);
    };
    if (part + 1 == op.getInputs().size())
      return inside();
    rt::Size end = begin + tensorOf(input).getDim(dim);
    return cb.select(cb.less(index.at[dim], cb.size(end)), inside,
                     [&] { return pick(part + 1, end); });
  };
  return pick(0, 0);
}

Value Evaluator::emitPad(PadOp op, const Index &index) {
  unsigned dim = op.getDim();
  rt::Size offset = *rt::Size::parse(op.getOffset().str());
  rt::Size extent = tensorOf(op.getX()).getDim(dim);
  bool alongLast = dim + 1 == index.at.size();
  if (index.width > 1 && alongLast &&
      !(index.aligned && isMultiple(offset, index.width) &&
        isMultiple(extent, index.width)))
    return emitLanes(op.getY(), index);
  Value at = cb.sub(index.at[dim], cb.size(offset));
  auto zero = [&] { return cb.f32(0, index.width); };
  return cb.select(cb.less(at, cb.index(0)), zero, [&] {
    return cb.select(
        cb.less(at, cb.size(extent)),
        [&] {
          Index mapped = index;
          mapped.at[dim] = at;
          return emit(op.getX(), mapped);
        },
        zero);
  });
}

//===----------------------------------------------------------------------===//
// Neighbours and rows
//===----------------------------------------------------------------------===//

Value Evaluator::emitRope(RopeOp op, const Index &index) {
  unsigned width = index.width;
  if (width > 1 && !index.aligned)
    return emitLanes(op.getY(), index);
  Value column = index.at.back();
  // cos and sin have no head: batch and token, or token alone.
  Index angle;
  auto tensor = tensorOf(op.getCos());
  if (tensor.getRank() == 3) {
    bool repeats = tensor.getDim(0).isConstant(1);
    angle.at.push_back(repeats ? cb.index(0) : index.at[0]);
  }
  angle.at.push_back(index.at[1]);
  angle.at.push_back(cb.div(column, cb.index(2)));
  angle.width = width > 1 ? width / 2 : 1;
  angle.aligned = index.aligned;
  Value cos = emit(op.getCos(), angle), sin = emit(op.getSin(), angle);
  Value x = emit(op.getX(), index), partner, sign;
  double even = op.getInverse() ? 1 : -1;
  if (width > 1) {
    SmallVector<int64_t> twice, swapped;
    SmallVector<float> signs;
    for (unsigned i = 0; i < width; ++i) {
      twice.push_back(i / 2);
      swapped.push_back(i ^ 1);
      signs.push_back(i % 2 ? -even : even);
    }
    cos = cb.shuffle(cos, cos, twice);
    sin = cb.shuffle(sin, sin, twice);
    partner = cb.shuffle(x, x, swapped);
    sign = arith::ConstantOp::create(
        cb.b, cb.loc,
        DenseElementsAttr::get(cast<ShapedType>(cb.floatType(width)),
                               ArrayRef<float>(signs)));
  } else {
    Value odd = cb.rem(column, cb.index(2));
    // Even columns pair with the next, odd ones with the one before.
    Index other = index;
    other.at.back() =
        cb.sub(cb.add(column, cb.index(1)), cb.mul(odd, cb.index(2)));
    partner = emit(op.getX(), other);
    sign = cb.b.createOrFold<arith::SelectOp>(cb.loc, cb.less(cb.index(0), odd),
                                              cb.f32(-even), cb.f32(even));
  }
  return cb.fma(partner, cb.fmul(sin, sign), cb.fmul(x, cos));
}

Value Evaluator::emitNormalize(NormalizeOp op, const Index &index) {
  Value x = emit(op.getX(), index);
  SmallVector<Value> at = index.at;
  bool centered = tensorOf(op.getStats()).getShape().back().isConstant(2);
  if (centered) {
    at.back() = cb.index(0);
    x = cb.fsub(x, emitSplat(op.getStats(), at, index.width));
  }
  at.back() = cb.index(centered ? 1 : 0);
  return cb.fmul(x, emitSplat(op.getStats(), at, index.width));
}
