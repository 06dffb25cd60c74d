//===- PtxBuilder.h - single GPU instructions -------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The lowest of the three layers that GPU kernels are written in: one call,
/// one instruction (or one loop, one branch), for sm_90a. Tiles and fragments
/// are in Tiles.h, kernels in a folder each.
///
/// Integers are i32 unless said otherwise and unsigned where it matters, floats
/// f32. Byte offsets and sizes are in bytes. Shared pointers are
/// `!llvm.ptr<3>`, pointers to shared memory of another block of the cluster
/// `!llvm.ptr<7>`, global ones `!llvm.ptr<1>`; tensor maps are generic pointers
/// to kernel parameters.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_PTXBUILDER_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_PTXBUILDER_H

#include "Program/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ckpt::nvptx {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Value;
using Values = SmallVector<Value>;

/// The 64-bit description of a tile in shared memory that wgmma takes, kept as
/// one 32-bit register and two constants: the constants are added inside the
/// instruction's text, where nobody can hoist them into registers.
struct Descriptor {
  /// Bits 0-13 of the low word: (address >> 4) & 0x3FFF. The mask matters in a
  /// cluster, whose shared addresses carry the block's rank above.
  Value base;
  /// Added to the low word, in units of 16 bytes; holds the leading byte
  /// offset too (from bit 16 on).
  int64_t low = 0;
  /// The high word: stride byte offset and swizzle mode.
  int64_t high = 0;

  /// The tile `bytes` further on.
  Descriptor plus(int64_t bytes) const {
    return {base, low + (bytes >> 4), high};
  }
};

/// The types of 16 bits.
enum class Half { BF16, F16 };
inline Half halfOf(rt::DType type) {
  return type == rt::DType::BF16 ? Half::BF16 : Half::F16;
}
inline Half halfOf(mlir::Type type) {
  return type.isBF16() ? Half::BF16 : Half::F16;
}

class PtxBuilder {
public:
  PtxBuilder(mlir::OpBuilder builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  mlir::OpBuilder b;
  mlir::Location loc;

  //===--- Types ----------------------------------------------------------===//
  mlir::Type i1(), i16(), i32(), i64(), f32();
  mlir::Type ptr(unsigned space = 0);

  //===--- Integers -------------------------------------------------------===//
  Value constant(int64_t value, mlir::Type type = {});
  Value add(Value x, Value y);
  Value add(Value x, int64_t y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y);
  /// Of numbers that are not negative, as `rem` and `ceilDiv`.
  Value div(Value x, Value y);
  Value div(Value x, int64_t y);
  Value rem(Value x, Value y);
  Value ceilDiv(Value x, int64_t y);
  Value min(Value x, Value y);
  Value bitAnd(Value x, int64_t y);
  Value bitXor(Value x, Value y);
  Value bitXor(Value x, int64_t y);
  Value shiftRight(Value x, int64_t bits);
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value equal(Value x, int64_t y);
  Value less(Value x, Value y);
  Value both(Value x, Value y);
  Value select(Value condition, Value x, Value y);
  Value toI64(Value x);

  //===--- Floating point -------------------------------------------------===//
  Value real(double value);
  Value fadd(Value x, Value y);
  Value fmul(Value x, Value y);
  Value fneg(Value x);
  /// x y + z with one rounding.
  Value fma(Value x, Value y, Value z);
  Value fmax(Value x, Value y);
  Value fabs(Value x);
  /// A product that no addition is fused with.
  Value fmulAlone(Value x, Value y);
  Value fgreater(Value x, Value y);
  /// The fast ones of the special function unit: 2^x, log2 x, 1/x, 1/sqrt x
  /// (about 2 ulp, subnormals are zero) and tanh x (2^-11).
  Value ex2(Value x);
  Value lg2(Value x);
  Value rcp(Value x);
  Value rsqrt(Value x);
  Value tanh(Value x);
  /// Two f32 rounded to nearest as one 32-bit word, `low` in its low half.
  Value pack(Value high, Value low, Half type);
  /// The other way: low half, high half.
  std::pair<Value, Value> unpack(Value word, Half type);
  Values undefs(unsigned count);

  //===--- Control --------------------------------------------------------===//
  void ifThen(Value condition, llvm::function_ref<void()> then);
  void ifElse(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  /// With results; both sides give as many.
  Values ifElseValues(Value condition, llvm::function_ref<Values()> then,
                      llvm::function_ref<Values()> otherwise);
  /// for (i = begin; i < end; i += step), with values carried along.
  Values loop(Value begin, Value end, Value step, ArrayRef<Value> inits,
              llvm::function_ref<Values(Value, ArrayRef<Value>)> body);

  //===--- Threads --------------------------------------------------------===//
  Value threadX();
  Value blockX();
  Value blockY();
  Value blockZ();
  Value gridX();
  Value gridY();
  Value gridZ();
  Value clusterRank();
  /// True in one lane of the warp.
  Value elect();
  /// `value` of lane 0: makes the compiler see that it is uniform.
  Value broadcast(Value value);
  /// `value` of lane `from`.
  Value shuffle(Value value, Value from);
  /// `value` of the lane whose number differs in the bits of `mask`.
  Value shuffleXor(Value value, int mask);
  void syncWarp();
  /// All threads of the block.
  void syncBlock();
  void barrier(Value id, int threads);
  void arriveBarrier(Value id, int threads);
  /// All threads of the cluster. Says nothing about memory (`fenceBarrierInit`
  /// has done so), and so does not wait for all that is under way.
  void meetCluster();
  void setMaxRegisters(int count, bool increase);

  //===--- Memory ---------------------------------------------------------===//
  /// The variable that is the block's dynamic shared memory, 1024-aligned.
  static constexpr StringRef sharedSymbol = "shared";
  Value sharedMemory();
  /// `base` + `offset` bytes.
  Value at(Value base, Value offset);
  Value at(Value base, int64_t offset);
  /// Element `index` of an array of `type`.
  Value element(Value base, Value index, mlir::Type type);
  Value isNotNull(Value pointer);
  Value load(Value pointer, mlir::Type type, unsigned alignment = 0);
  void store(Value value, Value pointer, unsigned alignment = 0);
  Value vector(ArrayRef<Value> elements);
  Values elements(Value vector);
  /// The 32-bit address of a shared pointer.
  Value sharedAddress(Value pointer);
  /// The same place in block `rank` of the cluster.
  Value mapToRank(Value shared, Value rank);
  /// A shared pointer as one into the cluster, for multicast.
  Value asClusterPointer(Value shared);
  void storeMatrix(Value pointer, ArrayRef<Value> words, bool transposed);
  /// ldmatrix.x4: four 8x8 matrices of 16-bit elements, one word each.
  Values loadMatrix(Value pointer);
  /// Adds 1 to an i32 in global memory and gives what was there.
  Value atomicIncrement(Value pointer);
  /// Spins until the i32 in global memory is `value`; what was written before
  /// it became so is seen, by TMA too.
  void waitUntilEqual(Value pointer, Value value);
  /// Adds 1 after all that this thread wrote, by TMA too.
  void releaseIncrement(Value pointer);
  /// What was written to shared memory is seen by TMA and wgmma.
  void fenceAsyncProxy();

  //===--- mbarrier -------------------------------------------------------===//
  void barrierInit(Value barrier, int count);
  /// Makes the inits visible to the cluster and to TMA.
  void fenceBarrierInit();
  void expectBytes(Value barrier, int64_t bytes);
  void arrive(Value barrier);
  /// At a barrier of another block of the cluster (`mapToRank`).
  void arriveRemote(Value barrier);
  /// Until the phase of this parity is over.
  void wait(Value barrier, Value parity);

  //===--- TMA ------------------------------------------------------------===//
  void prefetchMap(Value map);
  void loadTile(Value shared, Value map, Value barrier,
                ArrayRef<Value> coordinates);
  /// To the same place in every block whose bit is set in `mask`.
  void loadTileMulticast(Value shared, Value map, Value barrier,
                         ArrayRef<Value> coordinates, int mask);
  void storeTile(Value map, Value shared, ArrayRef<Value> coordinates);
  /// `bytes` contiguous bytes, a multiple of 16.
  void loadBulk(Value shared, Value global, Value barrier, int64_t bytes);
  /// Adds f32 from shared to global memory.
  void reduceAddBulk(Value global, Value shared, int64_t bytes);
  void commitStores();
  /// Until at most `pending` committed groups are under way; `readOnly`: until
  /// their shared memory may be written again.
  void waitStores(int pending, bool readOnly);

  //===--- wgmma ----------------------------------------------------------===//
  void wgmmaFence();
  void wgmmaCommit();
  void wgmmaWait(int pending);
  /// The same, and `values` come out of it: nothing that uses them can move
  /// before the wait.
  Values wgmmaWait(int pending, ArrayRef<Value> values);
  /// 64 x n x 16, n = 2 * accumulators: D = A B + (accumulate ? D : 0) from
  /// shared memory. The flags say that an operand's rows run along M or N.
  /// `accumulate` is an i32, 0 or not.
  Values wgmma(ArrayRef<Value> accumulators, Descriptor a, Descriptor b,
               Value accumulate, Half type, bool transposeA = false,
               bool transposeB = false);
  /// With A in registers: 4 words.
  Values wgmma(ArrayRef<Value> accumulators, ArrayRef<Value> a, Descriptor b,
               Value accumulate, Half type, bool transposeB = false);

  /// PTX text with `$0`, `$1`, ...: outputs first. Has side effects.
  Values inlineAsm(const llvm::Twine &text, StringRef constraints,
                   ArrayRef<Value> operands, ArrayRef<mlir::Type> results);

private:
  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }
  Value intrinsic(StringRef name, Value x);
  /// Instructions whose accumulators are both read and written.
  Values tiedAsm(const llvm::Twine &text, ArrayRef<Value> tied,
                 ArrayRef<Value> operands);
};

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_PTXBUILDER_H
