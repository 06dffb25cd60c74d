//===- Rewrite.cpp - GPU instructions as calls ----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Thread.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::test;

namespace {

/// Code of one function; `thread` is its new first argument.
class Rewriter {
public:
  Rewriter(LLVM::LLVMFuncOp function, Value thread)
      : b(function.getContext()), thread(thread) {}

  void rewrite(Operation *op);

private:
  Value field(size_t offset, Type type) {
    Value at =
        LLVM::GEPOp::create(b, loc, thread.getType(), b.getI8Type(), thread,
                            ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return LLVM::LoadOp::create(b, loc, type, at);
  }
  /// A call of the function that a field points to; it gets the thread first.
  Value call(size_t offset, Type result, ArrayRef<Value> operands) {
    SmallVector<Type> types = {thread.getType()};
    SmallVector<Value> values = {field(offset, thread.getType()), thread};
    for (Value operand : operands) {
      types.push_back(operand.getType());
      values.push_back(operand);
    }
    Type type = result ? result : LLVM::LLVMVoidType::get(b.getContext());
    auto callOp = LLVM::CallOp::create(
        b, loc, LLVM::LLVMFunctionType::get(type, types), values);
    return result ? callOp.getResult() : Value();
  }

  OpBuilder b;
  Location loc = b.getUnknownLoc();
  Value thread;
};

} // namespace

void Rewriter::rewrite(Operation *op) {
  b.setInsertionPoint(op);
  Value result;
  if (isa<NVVM::ThreadIdXOp>(op)) {
    result = field(offsetof(Thread, threadX), b.getI32Type());
  } else if (isa<NVVM::BlockIdXOp>(op)) {
    result = field(offsetof(Thread, blockX), b.getI32Type());
  } else if (isa<NVVM::BlockIdYOp>(op)) {
    result = field(offsetof(Thread, blockY), b.getI32Type());
  } else if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
    result = call(offsetof(Thread, shuffle), b.getF32Type(),
                  {shuffle.getVal(), shuffle.getOffset()});
  } else if (op->getName().getStringRef().starts_with("nvvm.barrier")) {
    call(offsetof(Thread, barrier), Type(), {});
  } else if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    StringRef name = intrinsic.getIntrin();
    size_t offset = name.contains("ex2")     ? offsetof(Thread, ex2)
                    : name.contains("rsqrt") ? offsetof(Thread, rsqrt)
                    : name.contains("rcp")   ? offsetof(Thread, rcp)
                                             : 0;
    if (!offset)
      llvm::report_fatal_error("no stand-in for " + llvm::Twine(name));
    result = call(offset, b.getF32Type(), {intrinsic.getOperand(0)});
  } else if (auto text = dyn_cast<LLVM::InlineAsmOp>(op)) {
    if (!text.getAsmString().starts_with("tanh"))
      llvm::report_fatal_error("no stand-in for " +
                               llvm::Twine(text.getAsmString()));
    result = call(offsetof(Thread, tanh), b.getF32Type(), {op->getOperand(0)});
  } else if (isa<LLVM::AddressOfOp>(op)) {
    result = LLVM::IntToPtrOp::create(
        b, loc, op->getResult(0).getType(),
        field(offsetof(Thread, shared), b.getI64Type()));
  } else {
    return;
  }
  if (result)
    op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void test::rewriteForThisProcessor(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function) {
      op.erase();
      continue;
    }
    Type pointer = LLVM::LLVMPointerType::get(module.getContext());
    SmallVector<Type> types = {pointer};
    llvm::append_range(types, function.getArgumentTypes());
    function.setFunctionType(LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(module.getContext()), types));
    function.removeArgAttrsAttr();
    for (StringRef name :
         {"nvvm.kernel", "nvvm.reqntid", "nvvm.minctasm", "nvvm.cluster_dim"})
      function->removeAttr(name);
    Value thread = function.getBody().front().insertArgument(0u, pointer,
                                                             function.getLoc());
    Rewriter rewriter(function, thread);
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      rewriter.rewrite(op);
  }
}
