//===- CkptToHost.cpp - kernels as functions for the host -----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Conversion/CkptToHost.h"
#include "Generators.h"
#include "ckpt/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::host;

namespace ckpt {
#define GEN_PASS_DEF_CKPTTOHOSTPASS
#include "ckpt/Conversion/Passes.h.inc"
} // namespace ckpt

/// The first named size of the kernel's types and views that `known` lacks.
static std::string unknownSize(KernelOp kernel, ArrayRef<StringRef> known) {
  std::set<std::string> names;
  auto collect = [&](Type type) {
    if (auto tensor = dyn_cast<ckpt::TensorType>(type))
      for (const rt::Size &dim : tensor.getShape())
        dim.collectNames(names);
  };
  auto collectText = [&](StringRef text) {
    if (std::optional<rt::Size> size = rt::Size::parse(text.str()))
      size->collectNames(names);
  };
  for (Value argument : kernel.getBody().getArguments())
    collect(argument.getType());
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      collect(type);
    if (auto slice = dyn_cast<SliceOp>(op))
      collectText(slice.getOffset());
    if (auto pad = dyn_cast<PadOp>(op))
      collectText(pad.getOffset());
  });
  for (const std::string &name : names)
    if (!llvm::is_contained(known, name))
      return name;
  return "";
}

static LogicalResult emitClass(KernelFrame &frame) {
  switch (frame.kernel.getKernelClass()) {
  case KernelClass::Gemm:
    return emitGemm(frame);
  case KernelClass::AttentionForward:
    return emitAttentionForward(frame);
  case KernelClass::AttentionBackward:
    return emitAttentionBackward(frame);
  case KernelClass::RowWise:
    return emitRowWise(frame);
  }
  return failure();
}

LogicalResult ckpt::convertKernelToHost(KernelOp kernel,
                                        ArrayRef<StringRef> sizeNames) {
  if (std::string name = unknownSize(kernel, sizeNames); !name.empty())
    return kernel.emitOpError("uses the size '")
           << name << "', which is not one of the program's sizes";
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), {ptr, ptr, ptr});
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, (kernel.getSymName() + "$host").str(), type);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);

  HostBuilder hb(builder, loc);
  Evaluator values(hb);
  Value args = entry->getArgument(0), sizes = entry->getArgument(1);
  for (auto [i, name] : llvm::enumerate(sizeNames)) {
    Value at = LLVM::GEPOp::create(hb.b, loc, ptr, builder.getI64Type(), sizes,
                                   ArrayRef<LLVM::GEPArg>{int32_t(i)});
    hb.sizes[name] = LLVM::LoadOp::create(hb.b, loc, builder.getI64Type(), at);
  }
  int32_t position = 0;
  auto nextPointer = [&]() -> Value {
    Value at = LLVM::GEPOp::create(hb.b, loc, ptr, ptr, args,
                                   ArrayRef<LLVM::GEPArg>{position++});
    return LLVM::LoadOp::create(hb.b, loc, ptr, at);
  };
  Block &body = kernel.getBody().front();
  for (Value argument : body.getArguments())
    values.bindArgument(argument, nextPointer());
  SmallVector<Value> results;
  for (unsigned i = 0; i < body.getTerminator()->getNumOperands(); ++i)
    results.push_back(nextPointer());

  KernelFrame frame(kernel, hb, values, entry->getArgument(2),
                    std::move(results));
  if (failed(emitClass(frame)) || values.failed()) {
    function.erase();
    return failure();
  }
  LLVM::ReturnOp::create(hb.b, loc, ValueRange());
  StringAttr name = kernel.getSymNameAttr();
  kernel.erase();
  function.setSymNameAttr(name);
  return success();
}

namespace {
struct CkptToHost : ckpt::impl::CkptToHostPassBase<CkptToHost> {
  using CkptToHostPassBase::CkptToHostPassBase;

  void runOnOperation() override {
    if (getOperation().getOps<KernelOp>().empty()) {
      getOperation().emitError() << "expected kernels, found none; run "
                                    "ckpt-differentiate and ckpt-select first";
      return signalPassFailure();
    }
    SmallVector<StringRef> sizeNames;
    for (auto size : getOperation().getOps<SizeOp>())
      sizeNames.push_back(size.getSymName());
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(convertKernelToHost(kernel, sizeNames)))
        return signalPassFailure();
    // What launches kernels has none to name any more.
    for (Operation &op : llvm::make_early_inc_range(getOperation().getOps()))
      if (isa<CkptDialect>(op.getDialect()))
        op.erase();
  }
};
} // namespace
