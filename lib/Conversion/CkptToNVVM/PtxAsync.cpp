//===- PtxAsync.cpp - barriers in memory, TMA and wgmma -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "PtxBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

void PtxBuilder::barrierInit(Value barrier, int count) {
  NVVM::MBarrierInitOp::create(b, loc, barrier, constant(count), Value());
}
void PtxBuilder::fenceBarrierInit() {
  NVVM::FenceMbarrierInitOp::create(b, loc);
}
void PtxBuilder::expectBytes(Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, loc, Type(), barrier, constant(bytes), NVVM::MemScopeKind::CTA, false,
      Value());
}
void PtxBuilder::arrive(Value barrier) {
  NVVM::MBarrierArriveOp::create(b, loc, i64(), barrier, Value(),
                                 NVVM::MemScopeKind::CTA, false);
}
void PtxBuilder::arriveRemote(Value barrier) {
  // Default scope on purpose: cluster scope compiles to a fence of the whole
  // GPU for each arrival.
  NVVM::MBarrierArriveOp::create(b, loc, Type(), barrier, Value(),
                                 NVVM::MemScopeKind::CTA, false);
}
void PtxBuilder::wait(Value barrier, Value parity) {
  // The third operand is a hint in nanoseconds; the op loops by itself.
  NVVM::MBarrierTryWaitParityOp::create(b, loc, barrier, parity,
                                        constant(10000000));
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

void PtxBuilder::prefetchMap(Value map) {
  inlineAsm("prefetch.tensormap [$0];", "l", map, {});
}
void PtxBuilder::loadTile(Value shared, Value map, Value barrier,
                          ArrayRef<Value> coordinates) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, shared, map, coordinates, barrier, ValueRange(), Value(), Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true, NVVM::CTAGroupKindAttr(),
      Value());
}
void PtxBuilder::loadTileMulticast(Value shared, Value map, Value barrier,
                                   ArrayRef<Value> coordinates, int mask) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, asClusterPointer(shared), map, coordinates, barrier, ValueRange(),
      constant(mask, i16()), Value(), NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), Value());
}
void PtxBuilder::storeTile(Value map, Value shared,
                           ArrayRef<Value> coordinates) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, loc, map, shared, coordinates, Value(), NVVM::TMAStoreMode::TILE,
      Value());
}
void PtxBuilder::loadBulk(Value shared, Value global, Value barrier,
                          int64_t bytes) {
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      b, loc, asClusterPointer(shared), global, barrier, constant(bytes),
      Value(), Value());
}
void PtxBuilder::reduceAddBulk(Value global, Value shared, int64_t bytes) {
  inlineAsm("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
            "[$0], [$1], $2;",
            "l,r,n", {global, sharedAddress(shared), constant(bytes)}, {});
}
void PtxBuilder::commitStores() {
  NVVM::CpAsyncBulkCommitGroupOp::create(b, loc);
}
void PtxBuilder::waitStores(int pending, bool readOnly) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, loc, b.getI32IntegerAttr(pending),
                                       readOnly ? b.getUnitAttr() : UnitAttr());
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

void PtxBuilder::wgmmaFence() { NVVM::WgmmaFenceAlignedOp::create(b, loc); }
void PtxBuilder::wgmmaCommit() {
  NVVM::WgmmaGroupSyncAlignedOp::create(b, loc);
}
void PtxBuilder::wgmmaWait(int pending) {
  NVVM::WgmmaWaitGroupSyncOp::create(b, loc, pending);
}
Values PtxBuilder::wgmmaWait(int pending, ArrayRef<Value> values) {
  return tiedAsm("wgmma.wait_group.sync.aligned " + Twine(pending) + ";",
                 values, {});
}

/// `$first`, `$first+1`, ... in braces.
static std::string registerList(unsigned first, unsigned count) {
  std::string list;
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return "{" + list + "}";
}

/// Declares and computes register `name` from operand `position`.
static std::string descriptorText(StringRef name, unsigned position,
                                  const Descriptor &descriptor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << ".reg .b32 t" << name << ";\n.reg .b64 " << name << ";\nadd.u32 t"
     << name << ", $" << position << ", " << descriptor.low << ";\nmov.b64 "
     << name << ", {t" << name << ", " << descriptor.high << "};\n";
  return text;
}

static std::string wgmmaName(unsigned accumulators, Half type) {
  const char *name = type == Half::BF16 ? "bf16" : "f16";
  return (Twine("wgmma.mma_async.sync.aligned.m64n") + Twine(2 * accumulators) +
          "k16.f32." + name + "." + name + " ")
      .str();
}

Values PtxBuilder::wgmma(ArrayRef<Value> accumulators, Descriptor a,
                         Descriptor b, Value accumulate, Half type,
                         bool transposeA, bool transposeB) {
  unsigned n = accumulators.size(), first = 2 * n;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n.reg .pred p;\nsetp.ne.b32 p, $" << first + 2 << ", 0;\n"
     << descriptorText("da", first, a) << descriptorText("db", first + 1, b)
     << wgmmaName(n, type) << registerList(0, n) << ", da, db, p, 1, 1, "
     << transposeA << ", " << transposeB << ";\n}";
  return tiedAsm(text, accumulators, {a.base, b.base, accumulate});
}

Values PtxBuilder::wgmma(ArrayRef<Value> accumulators, ArrayRef<Value> a,
                         Descriptor b, Value accumulate, Half type,
                         bool transposeB) {
  unsigned n = accumulators.size(), first = 2 * n;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\n.reg .pred p;\nsetp.ne.b32 p, $" << first + 5 << ", 0;\n"
     << descriptorText("db", first + 4, b) << wgmmaName(n, type)
     << registerList(0, n) << ", " << registerList(first, 4)
     << ", db, p, 1, 1, " << transposeB << ";\n}";
  Values operands(a);
  llvm::append_values(operands, b.base, accumulate);
  return tiedAsm(text, accumulators, operands);
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

/// The constraint of an operand: constants become immediates.
static StringRef constraintOf(Value operand) {
  if (operand.getType().isF32())
    return "f";
  if (isa<LLVM::LLVMPointerType>(operand.getType()) ||
      operand.getType().isInteger(64))
    return "l";
  return matchPattern(operand, m_Constant()) ? "n" : "r";
}

Values PtxBuilder::tiedAsm(const Twine &text, ArrayRef<Value> tied,
                           ArrayRef<Value> operands) {
  SmallVector<std::string> constraints(tied.size(), "=f");
  for (unsigned i = 0; i < tied.size(); ++i)
    constraints.push_back(std::to_string(i));
  for (Value operand : operands)
    constraints.push_back(constraintOf(operand).str());
  Values all(tied);
  llvm::append_range(all, operands);
  return inlineAsm(text, llvm::join(constraints, ","), all,
                   SmallVector<Type>(tied.size(), f32()));
}

Values PtxBuilder::inlineAsm(const Twine &text, StringRef constraints,
                             ArrayRef<Value> operands, ArrayRef<Type> results) {
  Type result;
  if (results.size() == 1)
    result = results.front();
  else if (!results.empty())
    result = LLVM::LLVMStructType::getLiteral(b.getContext(), results);
  auto op = LLVM::InlineAsmOp::create(
      b, loc, result ? TypeRange(result) : TypeRange(), operands, text.str(),
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  Values values;
  if (results.size() == 1)
    values.push_back(op.getResult(0));
  for (unsigned i = 0; results.size() > 1 && i < results.size(); ++i)
    values.push_back(make<LLVM::ExtractValueOp>(op.getResult(0), int64_t(i)));
  return values;
}
