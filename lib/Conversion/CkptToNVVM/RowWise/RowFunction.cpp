//===- RowFunction.cpp - one function of a row-wise kernel ----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "RowFunction.h"
#include "../LaunchArguments.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::rowwise;

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

int Signature::add(rt::LaunchArgument argument) {
  arguments.push_back(std::move(argument));
  return arguments.size() - 1;
}

int Signature::addPointer(int argument) {
  return add(pointerArgument(argument));
}

int Signature::addNumber(const rt::Formula &value) {
  return add(int32Argument(value));
}

/// From a multiple of 16 bytes on.
int Signature::addParts(const Sum &sum) {
  return add(workspaceArgument(rt::Formula::ceilDiv(sum.offset, 4) * 16));
}

static void collectNames(Type type, std::set<std::string> &names) {
  for (const rt::Size &dim : cast<ckpt::TensorType>(type).getShape())
    dim.collectNames(names);
}

static void collectNames(Operation *op, std::set<std::string> &names) {
  for (Type type : op->getOperandTypes())
    collectNames(type, names);
  for (Type type : op->getResultTypes())
    collectNames(type, names);
  auto collectText = [&](StringRef text) {
    rt::Size::parse(text.str())->collectNames(names);
  };
  if (auto slice = dyn_cast<SliceOp>(op))
    collectText(slice.getOffset());
  if (auto pad = dyn_cast<PadOp>(op))
    collectText(pad.getOffset());
}

void Signature::reach(Value value, const Task &task) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    reads.insert(value);
    collectNames(value.getType(), names);
    return;
  }
  if (ops.contains(op))
    return;
  const Sum *sum =
      llvm::find_if(task.sums, [&](const Sum &sum) { return sum.op == op; });
  bool hasParts = sum != task.sums.end() && !sum->isDirect();
  if (!hasParts)
    collectNames(op, names);
  for (Value operand : op->getOperands())
    if (!hasParts || operand != sum->x)
      reach(operand, task);
  if (hasParts)
    sumsRead.push_back({sum, -1, -1});
  ops.insert(op);
}

Signature::Signature(const Task &task) {
  if (task.parts)
    reach(task.parts->x, task);
  std::set<unsigned> written;
  for (const Sink *sink : task.group) {
    reach(sink->root, task);
    written.insert(sink->result);
    for (const Sink::Step &step : sink->steps)
      collectNames(step.op, names);
  }
  for (Value argument : KernelOp(task.kernel).getBody().getArguments())
    if (reads.contains(argument))
      readPointers.push_back(
          {argument, addPointer(cast<BlockArgument>(argument).getArgNumber())});
  int numReads = KernelOp(task.kernel).getBody().getNumArguments();
  for (unsigned result : written)
    resultPointers.push_back({result, addPointer(numReads + result)});
  for (SumPosition &read : sumsRead) {
    read.pointer = addParts(*read.sum);
    read.parts = addNumber(read.sum->parts);
    collectNames(read.sum->result().getType(), names);
  }
  if (task.parts) {
    partsPointer = addParts(*task.parts);
    rowsPerPart = addNumber(task.parts->rowsPerPart);
    collectNames(task.parts->result().getType(), names);
  }
  for (const std::string &name : names)
    sizes.push_back({name, addNumber(rt::Size::symbol(name))});
}

KernelModule Signature::makeModule(const Task &task) const {
  // The kernel's name without the number that told it from others.
  KernelOp kernel = task.kernel;
  StringRef name = kernel.getSymName();
  StringRef stem = name.rtrim("0123456789");
  if (stem != name && stem.ends_with("_"))
    name = stem.drop_back();
  std::string symbol = (name + (task.parts ? "_parts" : "")).str();
  KernelShape shape;
  shape.name = symbol;
  shape.threads = task.threads;
  shape.oneBlock = false;
  SmallVector<rt::LaunchArgument::Kind> kinds;
  for (const rt::LaunchArgument &argument : arguments)
    kinds.push_back(argument.kind);
  return makeKernelModule(kernel.getContext(), kernel.getLoc(), shape, kinds);
}

//===----------------------------------------------------------------------===//
// Function
//===----------------------------------------------------------------------===//

RowFunction::RowFunction(const Task &task)
    : task(task), signature(task), module(signature.makeModule(task)),
      cb(bodyOf(module)), values(cb),
      results(task.kernel, cb, values, resultPointers(),
              /*allWanted=*/
              KernelOp(task.kernel)
                      .getBody()
                      .front()
                      .getTerminator()
                      ->getNumOperands() == 1) {
  for (const auto &[name, position] : signature.sizes)
    cb.sizes[name] = parameter(position);
  for (const auto &[argument, position] : signature.readPointers)
    values.bindArgument(argument, parameter(position));
  if (task.parts) {
    parts = parameter(signature.partsPointer);
    rowsPerPart = parameter(signature.rowsPerPart);
  }
  for (const Signature::SumPosition &read : signature.sumsRead)
    bindSum(read);
  for (const Sum &sum : task.sums)
    if (sum.isDirect())
      bindSum({&sum, -1, -1});
}

Value RowFunction::parameter(int position) const {
  return LLVM::LLVMFuncOp(module.function).getArgument(position);
}

/// Those of other functions are null.
SmallVector<Value> RowFunction::resultPointers() {
  unsigned number =
      KernelOp(task.kernel).getBody().front().getTerminator()->getNumOperands();
  SmallVector<Value> pointers(number);
  for (const auto &[result, position] : signature.resultPointers)
    pointers[result] = parameter(position);
  for (Value &pointer : pointers)
    if (!pointer)
      pointer = LLVM::ZeroOp::create(cb.b, cb.loc, cb.ptrType());
  return pointers;
}

/// The sum's value: its parts in order, and what an accumulate adds to.
void RowFunction::bindSum(const Signature::SumPosition &read) {
  const Sum *sum = read.sum;
  int pointer = read.pointer, number = read.parts;
  values.bind(sum->result(), [this, sum, pointer, number](const Index &index) {
    auto type = tensorOf(sum->result());
    Value value;
    if (sum->isDirect()) {
      value = values.emit(sum->x, index);
    } else {
      SmallVector<rt::Size> shape = type.getShape();
      Value base = parameter(pointer), count = parameter(number);
      Value position = values.linearize(shape, index.at);
      Value stride = cb.offset(cb.size(sum->resultElements()));
      // Several at a time: the latency of one would be that of all.
      constexpr int64_t step = 16;
      value = cb.loop(
          cb.index(0), count, step, {cb.f32(0, index.width)},
          [&](Value first, ValueRange carried) -> SmallVector<Value> {
            Value last = cb.sub(count, cb.index(1)), total = carried[0];
            SmallVector<Value> loaded, valid;
            for (int64_t i = 0; i < step; ++i) {
              Value part = cb.add(first, cb.index(i));
              valid.push_back(cb.less(part, count));
              Value at = cb.add(cb.mul(cb.offset(cb.min(part, last)), stride),
                                position);
              loaded.push_back(cb.load(base, at, index.width, cb.b.getF32Type(),
                                       codegen::isAligned(shape, index)));
            }
            for (auto [part, exists] : llvm::zip(loaded, valid))
              total = cb.fadd(
                  total, arith::SelectOp::create(cb.b, cb.loc, exists, part,
                                                 cb.f32(0, index.width)));
            return {total};
          })[0];
    }
    if (auto accumulate = dyn_cast<AccumulateOp>(sum->op))
      value = cb.fadd(values.emit(accumulate.getSum(), index), value);
    return value;
  });
}

LogicalResult RowFunction::finish(Code &code, const rt::Formula &gridX,
                                  const rt::Formula &gridY, int sharedBytes) {
  if (values.failed())
    return failure();
  rt::GpuLaunch launch;
  launch.function = code.functions.size();
  launch.gridX = gridX;
  launch.gridY = gridY;
  launch.arguments = signature.arguments;
  PtxBuilder ptx = cb.ptx();
  code.functions.push_back(finishKernel(std::move(module), ptx, sharedBytes));
  code.alternatives.front().launches.push_back(std::move(launch));
  return success();
}
