//===- PtxBuilder.cpp - single GPU instructions ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "PtxBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type PtxBuilder::i1() { return b.getI1Type(); }
Type PtxBuilder::i16() { return b.getI16Type(); }
Type PtxBuilder::i32() { return b.getI32Type(); }
Type PtxBuilder::i64() { return b.getI64Type(); }
Type PtxBuilder::f32() { return b.getF32Type(); }
Type PtxBuilder::ptr(unsigned space) {
  return LLVM::LLVMPointerType::get(b.getContext(), space);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value PtxBuilder::constant(int64_t value, Type type) {
  Type result = type ? type : i32();
  return make<arith::ConstantOp>(result, b.getIntegerAttr(result, value));
}
Value PtxBuilder::add(Value x, Value y) { return make<arith::AddIOp>(x, y); }
Value PtxBuilder::add(Value x, int64_t y) {
  return y ? add(x, constant(y, x.getType())) : x;
}
Value PtxBuilder::sub(Value x, Value y) { return make<arith::SubIOp>(x, y); }
Value PtxBuilder::mul(Value x, Value y) { return make<arith::MulIOp>(x, y); }
Value PtxBuilder::mul(Value x, int64_t y) {
  return mul(x, constant(y, x.getType()));
}
Value PtxBuilder::div(Value x, Value y) { return make<arith::DivUIOp>(x, y); }
Value PtxBuilder::div(Value x, int64_t y) {
  return div(x, constant(y, x.getType()));
}
Value PtxBuilder::rem(Value x, Value y) { return make<arith::RemUIOp>(x, y); }
Value PtxBuilder::ceilDiv(Value x, int64_t y) {
  return div(add(x, y - 1), constant(y, x.getType()));
}
Value PtxBuilder::min(Value x, Value y) { return make<arith::MinUIOp>(x, y); }
Value PtxBuilder::bitAnd(Value x, int64_t y) {
  return make<arith::AndIOp>(x, constant(y, x.getType()));
}
Value PtxBuilder::bitXor(Value x, Value y) { return make<arith::XOrIOp>(x, y); }
Value PtxBuilder::bitXor(Value x, int64_t y) {
  return y ? bitXor(x, constant(y, x.getType())) : x;
}
Value PtxBuilder::shiftRight(Value x, int64_t bits) {
  return make<arith::ShRUIOp>(x, constant(bits, x.getType()));
}
Value PtxBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return make<arith::CmpIOp>(predicate, x, y);
}
Value PtxBuilder::equal(Value x, int64_t y) {
  return compare(arith::CmpIPredicate::eq, x, constant(y, x.getType()));
}
Value PtxBuilder::less(Value x, Value y) {
  return compare(arith::CmpIPredicate::slt, x, y);
}
Value PtxBuilder::both(Value x, Value y) { return make<arith::AndIOp>(x, y); }
Value PtxBuilder::select(Value condition, Value x, Value y) {
  return make<arith::SelectOp>(condition, x, y);
}
Value PtxBuilder::toI64(Value x) {
  return x.getType() == i64() ? x : make<arith::ExtUIOp>(i64(), x);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

// No reassociation and no reciprocal: the same bits whatever surrounds them.
static arith::FastMathFlags fast() {
  return arith::FastMathFlags::contract | arith::FastMathFlags::nsz;
}

Value PtxBuilder::real(double value) {
  return make<arith::ConstantOp>(f32(), b.getF32FloatAttr(float(value)));
}
Value PtxBuilder::fadd(Value x, Value y) {
  return make<arith::AddFOp>(x, y, fast());
}
Value PtxBuilder::fmul(Value x, Value y) {
  return make<arith::MulFOp>(x, y, fast());
}
Value PtxBuilder::fneg(Value x) { return make<arith::NegFOp>(x); }
Value PtxBuilder::fma(Value x, Value y, Value z) {
  return make<LLVM::FMAOp>(x, y, z);
}
Value PtxBuilder::fmax(Value x, Value y) { return make<LLVM::MaxNumOp>(x, y); }
Value PtxBuilder::fabs(Value x) { return make<LLVM::FAbsOp>(x); }
Value PtxBuilder::fmulAlone(Value x, Value y) {
  return make<arith::MulFOp>(x, y);
}
Value PtxBuilder::fgreater(Value x, Value y) {
  return make<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, y);
}

Value PtxBuilder::intrinsic(StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, loc, f32(), b.getStringAttr(name),
                                       ValueRange{x})
      .getResult(0);
}
Value PtxBuilder::ex2(Value x) {
  return intrinsic("llvm.nvvm.ex2.approx.ftz", x);
}
Value PtxBuilder::lg2(Value x) {
  return intrinsic("llvm.nvvm.lg2.approx.ftz.f", x);
}
Value PtxBuilder::rcp(Value x) {
  return intrinsic("llvm.nvvm.rcp.approx.ftz.f", x);
}
Value PtxBuilder::rsqrt(Value x) {
  return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", x);
}
Value PtxBuilder::tanh(Value x) {
  return LLVM::InlineAsmOp::create(
             b, loc, f32(), ValueRange{x}, "tanh.approx.f32 $0, $1;", "=f,f",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             ArrayAttr())
      .getResult(0);
}

Value PtxBuilder::pack(Value high, Value low, Half type) {
  auto nearest = NVVM::FPRoundingMode::RN;
  auto none = NVVM::SaturationMode::NONE;
  Value pair;
  if (type == Half::BF16)
    pair = NVVM::ConvertF32x2ToBF16x2Op::create(
        b, loc, VectorType::get(2, b.getBF16Type()), high, low, Value(),
        nearest, none, false);
  else
    pair = NVVM::ConvertF32x2ToF16x2Op::create(
        b, loc, VectorType::get(2, b.getF16Type()), high, low, Value(), nearest,
        none, false);
  return make<LLVM::BitcastOp>(i32(), pair);
}

std::pair<Value, Value> PtxBuilder::unpack(Value word, Half type) {
  if (type == Half::BF16) {
    // A bf16 is the upper half of an f32.
    Value low = make<arith::ShLIOp>(word, constant(16));
    Value high = make<arith::AndIOp>(word, constant(int32_t(0xffff0000)));
    return {make<LLVM::BitcastOp>(f32(), low),
            make<LLVM::BitcastOp>(f32(), high)};
  }
  Value pair = make<LLVM::BitcastOp>(VectorType::get(2, b.getF16Type()), word);
  auto half = [&](int64_t i) {
    return make<arith::ExtFOp>(f32(),
                               make<LLVM::ExtractElementOp>(pair, constant(i)));
  };
  return {half(0), half(1)};
}

Values PtxBuilder::undefs(unsigned count) {
  return Values(count, make<LLVM::UndefOp>(f32()));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void PtxBuilder::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
}

void PtxBuilder::ifElse(Value condition, llvm::function_ref<void()> then,
                        llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
  b.setInsertionPointToStart(op.elseBlock());
  otherwise();
}

Values PtxBuilder::ifElseValues(Value condition,
                                llvm::function_ref<Values()> then,
                                llvm::function_ref<Values()> otherwise) {
  auto side = [&](llvm::function_ref<Values()> values) {
    return [values, this](OpBuilder &builder, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(builder.saveInsertionPoint());
      Values results = values();
      scf::YieldOp::create(b, loc, results);
    };
  };
  auto op = scf::IfOp::create(b, loc, condition, side(then), side(otherwise));
  return Values(op.getResults());
}

Values
PtxBuilder::loop(Value begin, Value end, Value step, ArrayRef<Value> inits,
                 llvm::function_ref<Values(Value, ArrayRef<Value>)> body) {
  auto op = scf::ForOp::create(b, loc, begin, end, step, ValueRange(inits));
  OpBuilder::InsertionGuard guard(b);
  // Without values carried the block ends in a yield already.
  b.setInsertionPointToStart(op.getBody());
  Values carried(op.getRegionIterArgs());
  Values next = body(op.getInductionVar(), carried);
  if (!inits.empty())
    scf::YieldOp::create(b, loc, next);
  return Values(op.getResults());
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value PtxBuilder::threadX() { return make<NVVM::ThreadIdXOp>(i32()); }
Value PtxBuilder::blockX() { return make<NVVM::BlockIdXOp>(i32()); }
Value PtxBuilder::blockY() { return make<NVVM::BlockIdYOp>(i32()); }
Value PtxBuilder::blockZ() { return make<NVVM::BlockIdZOp>(i32()); }
Value PtxBuilder::gridX() { return make<NVVM::GridDimXOp>(i32()); }
Value PtxBuilder::gridY() { return make<NVVM::GridDimYOp>(i32()); }
Value PtxBuilder::gridZ() { return make<NVVM::GridDimZOp>(i32()); }
Value PtxBuilder::clusterRank() { return make<NVVM::ClusterId>(i32()); }
Value PtxBuilder::elect() { return make<NVVM::ElectSyncOp>(i1(), Value()); }
Value PtxBuilder::broadcast(Value value) {
  return make<NVVM::ShflOp>(value.getType(), constant(-1), value, constant(0),
                            constant(31), NVVM::ShflKind::idx, UnitAttr());
}
Value PtxBuilder::shuffle(Value value, Value from) {
  return make<NVVM::ShflOp>(value.getType(), constant(-1), value, from,
                            constant(31), NVVM::ShflKind::idx, UnitAttr());
}
Value PtxBuilder::shuffleXor(Value value, int mask) {
  return make<NVVM::ShflOp>(value.getType(), constant(-1), value,
                            constant(mask), constant(31), NVVM::ShflKind::bfly,
                            UnitAttr());
}
void PtxBuilder::syncWarp() { NVVM::SyncWarpOp::create(b, loc, constant(-1)); }
void PtxBuilder::syncBlock() { NVVM::Barrier0Op::create(b, loc); }
void PtxBuilder::barrier(Value id, int threads) {
  NVVM::BarrierOp::create(b, loc, TypeRange(), id, constant(threads),
                          NVVM::BarrierReductionAttr(), Value());
}
void PtxBuilder::arriveBarrier(Value id, int threads) {
  NVVM::BarrierArriveOp::create(b, loc, id, constant(threads));
}
void PtxBuilder::meetCluster() {
  NVVM::ClusterArriveRelaxedOp::create(b, loc, UnitAttr());
  NVVM::ClusterWaitOp::create(b, loc, UnitAttr());
}
void PtxBuilder::setMaxRegisters(int count, bool increase) {
  NVVM::SetMaxRegisterOp::create(b, loc, count,
                                 increase
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value PtxBuilder::sharedMemory() {
  return make<LLVM::AddressOfOp>(ptr(3), sharedSymbol);
}
Value PtxBuilder::at(Value base, Value offset) {
  return make<LLVM::GEPOp>(base.getType(), b.getI8Type(), base,
                           ArrayRef<LLVM::GEPArg>{offset});
}
Value PtxBuilder::at(Value base, int64_t offset) {
  return offset ? at(base, constant(offset)) : base;
}
Value PtxBuilder::element(Value base, Value index, Type type) {
  return make<LLVM::GEPOp>(base.getType(), type, base,
                           ArrayRef<LLVM::GEPArg>{index});
}
Value PtxBuilder::isNotNull(Value pointer) {
  return make<LLVM::ICmpOp>(LLVM::ICmpPredicate::ne, pointer,
                            make<LLVM::ZeroOp>(pointer.getType()));
}
Value PtxBuilder::load(Value pointer, Type type, unsigned alignment) {
  return make<LLVM::LoadOp>(type, pointer, alignment);
}
void PtxBuilder::store(Value value, Value pointer, unsigned alignment) {
  LLVM::StoreOp::create(b, loc, value, pointer, alignment);
}
Value PtxBuilder::vector(ArrayRef<Value> elements) {
  auto type = VectorType::get(elements.size(), elements.front().getType());
  Value result = make<LLVM::UndefOp>(type);
  for (auto [i, element] : llvm::enumerate(elements))
    result = make<LLVM::InsertElementOp>(result, element, constant(i));
  return result;
}
Values PtxBuilder::elements(Value vector) {
  Values result;
  for (int64_t i = 0; i < cast<VectorType>(vector.getType()).getNumElements();
       ++i)
    result.push_back(make<LLVM::ExtractElementOp>(vector, constant(i)));
  return result;
}
Value PtxBuilder::sharedAddress(Value pointer) {
  return make<LLVM::PtrToIntOp>(i32(), pointer);
}
Value PtxBuilder::mapToRank(Value shared, Value rank) {
  return make<NVVM::MapaOp>(ptr(7), shared, rank);
}
Value PtxBuilder::asClusterPointer(Value shared) {
  return make<LLVM::AddrSpaceCastOp>(ptr(7), shared);
}
void PtxBuilder::storeMatrix(Value pointer, ArrayRef<Value> words,
                             bool transposed) {
  MLIRContext *context = b.getContext();
  NVVM::StMatrixOp::create(b, loc, pointer, words,
                           transposed ? NVVM::MMALayout::col
                                      : NVVM::MMALayout::row,
                           NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
                           NVVM::LdStMatrixEltType::B16);
}
Values PtxBuilder::loadMatrix(Value pointer) {
  return inlineAsm(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];",
      "=r,=r,=r,=r,r", sharedAddress(pointer), {i32(), i32(), i32(), i32()});
}
Value PtxBuilder::atomicIncrement(Value pointer) {
  return inlineAsm("atom.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}",
                   pointer, {i32()})[0];
}
void PtxBuilder::waitUntilEqual(Value pointer, Value value) {
  inlineAsm("{\n.reg .pred p;\n.reg .b32 t;\nWAIT: ld.acquire.gpu.global.b32 "
            "t, [$0];\nsetp.ne.b32 p, t, $1;\n@p bra WAIT;\nfence.proxy."
            "async;\n}",
            "l,r,~{memory}", {pointer, value}, {});
}
void PtxBuilder::releaseIncrement(Value pointer) {
  inlineAsm("fence.proxy.async;\nred.release.gpu.global.add.u32 [$0], 1;",
            "l,~{memory}", pointer, {});
}
void PtxBuilder::fenceAsyncProxy() {
  MLIRContext *context = b.getContext();
  NVVM::FenceProxyOp::create(
      b, loc, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
}
