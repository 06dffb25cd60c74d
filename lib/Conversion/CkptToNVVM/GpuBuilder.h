//===- GpuBuilder.h - code for values on the GPU ----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The evaluator's target (Codegen/Evaluator.h) for nvptx: what a kernel's body
/// computes between its loads and its stores. Coordinates are i32, so no
/// dimension has 2^31 elements; tensors may, since offsets are i64. Tensors
/// start at multiples of 16 bytes in global memory (address space 1).
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_GPUBUILDER_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_GPUBUILDER_H

#include "../Codegen/CodeBuilder.h"
#include "PtxBuilder.h"

namespace ckpt::nvptx {

class GpuBuilder final : public codegen::CodeBuilder {
public:
  explicit GpuBuilder(const PtxBuilder &ptx)
      : CodeBuilder(ptx.b, ptx.loc, mlir::OpBuilder(ptx.b).getI32Type()) {
    // A product and a sum may be one instruction; nothing else may change.
    flags = mlir::arith::FastMathFlags::contract;
  }

  /// Single instructions at the same place.
  PtxBuilder ptx() { return PtxBuilder(b, loc); }

  mlir::Type ptrType() override;
  Value roundTo(Value value, mlir::Type element) override;
  Value narrow(Value value, mlir::Type element) override;
  /// Errors: 2 ulp at full precision, as for the next two; 2^-20 at half.
  Value exp(Value x, Precision precision) override;
  Value reciprocal(Value x) override;
  Value reciprocalSqrt(Value x) override;
  /// By tanh.approx (2^-11 of 1) at half precision.
  Sigmoid sigmoidOfTwice(Value x, Precision precision) override;
  Value load(Value ptr, Value offset, unsigned width, mlir::Type element,
             bool aligned) override;
  void store(Value value, Value ptr, Value offset, mlir::Type element,
             bool aligned) override;
  Value gather(unsigned width,
               llvm::function_ref<Value(Value)> element) override;

  /// `f` of each lane.
  Value map(Value vector, llvm::function_ref<Value(Value)> f);

private:
  Value elementPointer(Value ptr, Value offset, mlir::Type element);
};

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_GPUBUILDER_H
