//===- Results.cpp - where the values of a kernel go ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Results.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::codegen;

bool codegen::isStats(Value value) {
  return isa_and_nonnull<LayerNormOp, RmsNormOp>(value.getDefiningOp()) &&
         cast<OpResult>(value).getResultNumber() == 1;
}

static void collectSinks(Value value, Sink sink, SmallVectorImpl<Sink> &sinks) {
  Operation *op = value.getDefiningOp();
  // A concat of views alone is a copy; its parts are read where they lie.
  if (isa_and_nonnull<ReshapeOp, ConcatOp>(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      Sink part = sink;
      part.steps.insert(part.steps.begin(), {op, operand.getOperandNumber()});
      collectSinks(operand.get(), part, sinks);
    }
    return;
  }
  sink.root = value;
  sinks.push_back(std::move(sink));
}

SmallVector<Sink> codegen::sinksOf(KernelOp kernel) {
  SmallVector<Sink> sinks;
  Operation *yield = kernel.getBody().front().getTerminator();
  for (OpOperand &operand : yield->getOpOperands()) {
    Sink sink;
    sink.result = operand.getOperandNumber();
    collectSinks(operand.get(), sink, sinks);
  }
  return sinks;
}

Results::Results(KernelOp kernel, CodeBuilder &cb, Evaluator &values,
                 SmallVector<Value> pointers, bool allWanted)
    : kernel(kernel), values(values), sinks(sinksOf(kernel)), cb(cb),
      pointers(std::move(pointers)) {
  for (Value pointer : this->pointers)
    wanted.push_back(allWanted ? arith::ConstantOp::create(
                                     cb.b, cb.loc, cb.b.getBoolAttr(true))
                               : cb.isNotNull(pointer));
}

Value Results::anyWanted(ArrayRef<const Sink *> group) {
  Value any;
  for (const Sink *sink : group) {
    Value one = wanted[sink->result];
    any = any ? arith::OrIOp::create(cb.b, cb.loc, any, one) : one;
  }
  return any;
}

void Results::write(ArrayRef<const Sink *> group, const Index &index) {
  write(group, ArrayRef(index));
}

void Results::write(ArrayRef<const Sink *> group, ArrayRef<Index> indices,
                    ArrayRef<Value> valid) {
  SmallVector<SmallVector<Value>> computed(group.size());
  for (const Index &index : indices)
    for (auto [sink, elements] : llvm::zip(group, computed))
      elements.push_back(
          cb.narrow(values.emit(sink->root, index), elementOf(*sink)));
  for (auto [position, sink] : llvm::enumerate(group))
    cb.ifThen(wanted[sink->result], [&, position = position, sink = sink] {
      for (auto [i, index] : llvm::enumerate(indices)) {
        Value value = computed[position][i];
        if (valid.empty())
          store(*sink, index, value);
        else
          cb.ifThen(valid[i], [&] { store(*sink, index, value); });
      }
    });
}

Type Results::elementOf(const Sink &sink) {
  Operation *yield = kernel.getBody().front().getTerminator();
  return codegen::elementOf(yield->getOperand(sink.result));
}

void Results::store(const Sink &sink, const Index &index, Value value) {
  Index at = index;
  SmallVector<rt::Size> shape = tensorOf(sink.root).getShape();
  // Reshapes at the end leave the position in memory as it is.
  unsigned last = sink.steps.size();
  while (last && isa<ReshapeOp>(sink.steps[last - 1].op))
    --last;
  for (const Sink::Step &step : ArrayRef(sink.steps).take_front(last)) {
    SmallVector<rt::Size> next = tensorOf(step.op->getResult(0)).getShape();
    if (auto concat = dyn_cast<ConcatOp>(step.op)) {
      rt::Size begin = 0;
      for (Value part : concat.getInputs().take_front(step.operand))
        begin += tensorOf(part).getDim(concat.getDim());
      Value &moved = at.at[concat.getDim()];
      moved = cb.add(moved, cb.size(begin));
      if (concat.getDim() + 1 == at.at.size())
        at.aligned &= isMultiple(begin, index.width);
    } else if (std::optional<Index> reshaped =
                   values.reshape(shape, next, at)) {
      at = *reshaped;
    } else {
      for (unsigned lane = 0; lane < index.width; ++lane) {
        Index one;
        one.at = index.at;
        one.at.back() = cb.add(one.at.back(), cb.index(lane));
        store(sink, one, vector::ExtractOp::create(cb.b, cb.loc, value, lane));
      }
      return;
    }
    shape = next;
  }
  cb.store(value, pointers[sink.result], values.linearize(shape, at.at),
           elementOf(sink), isAligned(shape, at));
}

void codegen::bindElements(Evaluator &values, Value value, const Index &current,
                           Value elements) {
  values.bind(value, [=, &values](const Index &index) -> Value {
    if (index.at == current.at && index.width == current.width)
      return elements;
    return values.reject(value.getDefiningOp(), index.width);
  });
}
