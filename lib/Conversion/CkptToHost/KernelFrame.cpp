//===- KernelFrame.cpp - what all generators start from -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

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

SmallVector<Sink> host::sinksOf(KernelOp kernel) {
  SmallVector<Sink> sinks;
  Operation *yield = kernel.getBody().front().getTerminator();
  for (OpOperand &operand : yield->getOpOperands()) {
    Sink sink;
    sink.result = operand.getOperandNumber();
    collectSinks(operand.get(), sink, sinks);
  }
  return sinks;
}

KernelFrame::KernelFrame(KernelOp kernel, HostBuilder &hb, Evaluator &values,
                         Value workspace, SmallVector<Value> results)
    : kernel(kernel), hb(hb), values(values), workspace(workspace),
      sinks(sinksOf(kernel)), results(std::move(results)) {
  for (Value result : this->results)
    wanted.push_back(hb.isNotNull(result));
}

Value KernelFrame::anyWanted(ArrayRef<const Sink *> group) {
  Value any;
  for (const Sink *sink : group) {
    Value one = wanted[sink->result];
    any = any ? arith::OrIOp::create(hb.b, hb.loc, any, one) : one;
  }
  return any;
}

void KernelFrame::write(ArrayRef<const Sink *> group, const Index &index) {
  SmallVector<Value> computed;
  for (const Sink *sink : group)
    computed.push_back(values.emit(sink->root, index));
  for (auto [sink, value] : llvm::zip(group, computed))
    hb.ifThen(wanted[sink->result],
              [&, sink = sink, value = value] { store(*sink, index, value); });
}

void KernelFrame::store(const Sink &sink, const Index &index, Value value) {
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
      moved = hb.add(moved, hb.size(begin));
      if (concat.getDim() + 1 == at.at.size())
        at.aligned &= isMultiple(begin, index.width);
    } else if (std::optional<Index> reshaped =
                   values.reshape(shape, next, at)) {
      at = *reshaped;
    } else {
      for (unsigned lane = 0; lane < index.width; ++lane) {
        Index one;
        one.at = index.at;
        one.at.back() = hb.add(one.at.back(), hb.i64(lane));
        store(sink, one, vector::ExtractOp::create(hb.b, hb.loc, value, lane));
      }
      return;
    }
    shape = next;
  }
  Type element = cast<ckpt::TensorType>(kernel.getBody()
                                            .front()
                                            .getTerminator()
                                            ->getOperand(sink.result)
                                            .getType())
                     .getElementType();
  hb.store(value, results[sink.result], values.linearize(shape, at.at),
           element);
}

void host::bindElements(KernelFrame &frame, Value value, const Index &current,
                        Value elements) {
  frame.values.bind(value, [=, &frame](const Index &index) -> Value {
    if (index.at == current.at && index.width == current.width)
      return elements;
    return frame.values.reject(value.getDefiningOp(), index.width);
  });
}
