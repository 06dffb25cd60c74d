//===- CkptToNVVM.cpp - kernels as functions for the GPU ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Generators.h"
#include "ckpt/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

namespace ckpt {
#define GEN_PASS_DEF_CKPTTONVVMPASS
#include "ckpt/Conversion/Passes.h.inc"
} // namespace ckpt

LogicalResult nvptx::generate(KernelOp kernel, const Options &options,
                              Code &code) {
  switch (kernel.getKernelClass()) {
  case KernelClass::Gemm:
    return generateGemm(kernel, options, code);
  case KernelClass::AttentionForward:
    return generateAttentionForward(kernel, options, code);
  case KernelClass::AttentionBackward:
    return generateAttentionBackward(kernel, options, code);
  case KernelClass::RowWise:
    return generateRowWise(kernel, options, code);
  }
  return failure();
}

/// `read 0`, `write 1 + 64`, `i32 batch`; of a map: `map of read 0 [extents]
/// [strides] [box]`.
static std::string textOf(const rt::LaunchArgument &argument, int numReads) {
  using Kind = rt::LaunchArgument::Kind;
  switch (argument.kind) {
  case Kind::Int32:
    return "i32 " + argument.value.str();
  case Kind::Int64:
    return "i64 " + argument.value.str();
  case Kind::Float32:
    return "f32 " + std::to_string(argument.number);
  case Kind::Pointer:
  case Kind::Map:
    break;
  }
  int position = argument.argument;
  std::string text = position < 0 ? "workspace"
                     : position < numReads
                         ? "read " + std::to_string(position)
                         : "write " + std::to_string(position - numReads);
  if (std::string offset = argument.offset.str(); offset != "0")
    text += " + " + offset;
  if (argument.kind == Kind::Pointer)
    return text;
  auto list = [](const auto &items, auto textOfItem) {
    return "[" + llvm::join(llvm::map_range(items, textOfItem), ", ") + "]";
  };
  auto formula = [](const rt::Formula &item) { return item.str(); };
  return "map of " + text + " " + list(argument.extents, formula) + " " +
         list(argument.strides, formula) + " " +
         list(argument.box, [](int item) { return std::to_string(item); });
}

/// What a launch says, for readers of the IR.
static Attribute describe(Builder &b, const rt::Alternative &alternative,
                          const rt::GpuLaunch &launch, int numReads) {
  auto text = [&](const std::string &value) -> Attribute {
    return b.getStringAttr(value);
  };
  SmallVector<Attribute> arguments;
  for (const rt::LaunchArgument &argument : launch.arguments)
    arguments.push_back(text(textOf(argument, numReads)));
  return b.getDictionaryAttr(
      {b.getNamedAttr("alternative", text(alternative.name)),
       b.getNamedAttr("arguments", b.getArrayAttr(arguments)),
       b.getNamedAttr("cost", text(alternative.cost.str())),
       b.getNamedAttr("grid", b.getArrayAttr({text(launch.gridX.str()),
                                              text(launch.gridY.str()),
                                              text(launch.gridZ.str())}))});
}

/// Moves the functions of a kernel before it, each with its launches.
static void insertFunctions(KernelOp kernel, Code &code) {
  Builder b(kernel.getContext());
  auto module = kernel->getParentOfType<ModuleOp>();
  int numReads = kernel.getBody().getNumArguments();
  for (auto [number, function] : llvm::enumerate(code.functions)) {
    SmallVector<Attribute> launches;
    for (const rt::Alternative &alternative : code.alternatives)
      for (const rt::GpuLaunch &launch : alternative.launches)
        if (launch.function == int(number))
          launches.push_back(describe(b, alternative, launch, numReads));
    for (Operation &op :
         llvm::make_early_inc_range(*function.module->getBody())) {
      auto entry = dyn_cast<LLVM::LLVMFuncOp>(op);
      // The block's shared memory is one variable for all.
      if (!entry && module.lookupSymbol(SymbolTable::getSymbolName(&op)))
        continue;
      op.moveBefore(kernel);
      if (!entry)
        continue;
      entry.setSymName(kernel.getSymName().str() + "$" +
                       std::to_string(number));
      entry->setAttr("ckpt.launches", b.getArrayAttr(launches));
      entry->setAttr("ckpt.shared_bytes",
                     b.getI64IntegerAttr(function.launch.sharedBytes));
    }
  }
}

namespace {
struct CkptToNVVM : ckpt::impl::CkptToNVVMPassBase<CkptToNVVM> {
  using CkptToNVVMPassBase::CkptToNVVMPassBase;

  void runOnOperation() override {
    if (getOperation().getOps<KernelOp>().empty()) {
      getOperation().emitError() << "expected kernels, found none; run "
                                    "ckpt-differentiate and ckpt-select first";
      return signalPassFailure();
    }
    nvptx::Options options;
    options.deterministic = deterministic;
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      Code code;
      if (failed(nvptx::generate(kernel, options, code)))
        return signalPassFailure();
      insertFunctions(kernel, code);
    }
    // What launches kernels has none to name any more.
    for (Operation &op : llvm::make_early_inc_range(getOperation().getOps()))
      if (isa<CkptDialect>(op.getDialect()))
        op.erase();
  }
};
} // namespace
