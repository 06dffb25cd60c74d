//===- Reduction.cpp - the parts of a split product together --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Each thread adds up a few neighbours, part after part, so that the order of
// additions depends on the number of parts alone.
//
//===----------------------------------------------------------------------===//

#include "../KernelModule.h"
#include "Body.h"
#include "Kernel.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

int gemm::reductionWidthOf(const Problem &problem) {
  for (int width : {4, 2})
    if (codegen::isMultiple(problem.n, width))
      return width;
  return 1;
}

FailureOr<nvptx::Function> gemm::makeReduction(const Problem &problem,
                                               const Signature &signature,
                                               const std::string &symbol) {
  KernelShape shape;
  shape.name = symbol;
  shape.threads = reductionThreads;
  KernelModule module = makeKernelModule(
      problem.op->getContext(), problem.op->getLoc(), shape, signature.kinds());
  PtxBuilder ptx = bodyOf(module);
  Parameters parameters = signature.parametersOf(module.function);
  Body body(ptx, problem, parameters);

  int width = reductionWidthOf(problem);
  Value size = ptx.mul(parameters.m, parameters.n);
  Value number =
      ptx.add(ptx.mul(ptx.blockX(), reductionThreads), ptx.threadX());
  Value element = ptx.mul(number, width);
  ptx.ifThen(ptx.less(element, size), [&] {
    Type type = width == 1 ? ptx.f32() : VectorType::get(width, ptx.f32());
    auto partAt = [&](Value part) {
      Value position = ptx.add(ptx.mul(ptx.toI64(part), ptx.toI64(size)),
                               ptx.toI64(element));
      return ptx.load(ptx.at(parameters.workspace, ptx.mul(position, 4)), type,
                      4 * width);
    };
    Value first = partAt(ptx.constant(0));
    Value sum = ptx.loop(ptx.constant(1), parameters.parts, ptx.constant(1),
                         first, [&](Value part, ArrayRef<Value> sums) {
                           return Values{ptx.fadd(sums[0], partAt(part))};
                         })[0];
    Place place;
    place.row = ptx.div(element, parameters.n);
    place.column = ptx.rem(element, parameters.n);
    place.width = width;
    Body::Operands operands;
    operands.product = sum;
    Values results = body.evaluate(ptx, place, operands);
    for (unsigned output = 0; output < results.size(); ++output)
      ptx.ifThen(ptx.isNotNull(parameters.outputs[output]),
                 [&] { body.store(ptx, output, place, results[output]); });
  });
  if (body.failed())
    return failure();
  return finishKernel(std::move(module), ptx);
}
