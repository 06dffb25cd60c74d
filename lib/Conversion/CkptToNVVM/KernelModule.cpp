//===- KernelModule.cpp - a GPU function while it is written --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "KernelModule.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

static Type typeOf(rt::LaunchArgument::Kind kind, Builder &b) {
  switch (kind) {
  case rt::LaunchArgument::Kind::Pointer:
    return LLVM::LLVMPointerType::get(b.getContext(), 1);
  case rt::LaunchArgument::Kind::Map:
    return LLVM::LLVMPointerType::get(b.getContext());
  case rt::LaunchArgument::Kind::Int32:
    return b.getI32Type();
  case rt::LaunchArgument::Kind::Int64:
    return b.getI64Type();
  case rt::LaunchArgument::Kind::Float32:
    return b.getF32Type();
  }
  return {};
}

KernelModule
nvptx::makeKernelModule(MLIRContext *context, Location loc,
                        const KernelShape &shape,
                        ArrayRef<rt::LaunchArgument::Kind> parameters) {
  context->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect,
                       arith::ArithDialect, math::MathDialect,
                       vector::VectorDialect>();
  KernelModule kernel;
  kernel.module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(kernel.module->getBody());
  LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                         /*isConstant=*/false, LLVM::Linkage::External,
                         PtxBuilder::sharedSymbol, Attribute(),
                         /*alignment=*/1024,
                         /*addrSpace=*/3);
  SmallVector<Type> types;
  for (rt::LaunchArgument::Kind kind : parameters)
    types.push_back(typeOf(kind, b));
  kernel.function = LLVM::LLVMFuncOp::create(
      b, loc, shape.name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  for (auto [i, kind] : llvm::enumerate(parameters)) {
    if (kind != rt::LaunchArgument::Kind::Map)
      continue;
    // By value, its address taken where it lies: no local copy.
    kernel.function.setArgAttr(
        i, "llvm.byval",
        TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
    kernel.function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(64));
    kernel.function.setArgAttr(i, "nvvm.grid_constant", b.getUnitAttr());
  }
  kernel.function->setAttr("nvvm.kernel", b.getUnitAttr());
  kernel.function->setAttr("nvvm.reqntid",
                           b.getDenseI32ArrayAttr({shape.threads, 1, 1}));
  if (shape.oneBlock)
    kernel.function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));
  if (shape.cluster > 1)
    kernel.function->setAttr("nvvm.cluster_dim",
                             b.getDenseI32ArrayAttr({shape.cluster, 1, 1}));
  kernel.function.addEntryBlock(b);
  kernel.launch.symbol = shape.name.str();
  kernel.launch.threads = shape.threads;
  kernel.launch.cluster = shape.cluster;
  return kernel;
}

PtxBuilder nvptx::bodyOf(KernelModule &kernel) {
  return PtxBuilder(OpBuilder::atBlockEnd(&kernel.function.getBody().front()),
                    kernel.function.getLoc());
}

Function nvptx::finishKernel(KernelModule kernel, PtxBuilder &ptx,
                             int sharedBytes) {
  LLVM::ReturnOp::create(ptx.b, ptx.loc, ValueRange());
  kernel.launch.sharedBytes = sharedBytes;
  return {std::move(kernel.module), std::move(kernel.launch)};
}
