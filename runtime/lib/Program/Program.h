//===- Program.h - what an artifact holds -----------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The artifact as plain data: block graphs (for the oracle and the reports),
/// the selected step of each block kind, its menu of variants, the stacks and
/// the kernels. The compiler writes it, everything in the runtime reads it.
/// Nothing here depends on named sizes having values.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_PROGRAM_H
#define CKPT_RT_PROGRAM_PROGRAM_H

#include "Program/Formula.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ckpt::rt {

enum class DType { F32, BF16, F16 };
int64_t bytesOf(DType dtype);
const char *nameOf(DType dtype);

struct TensorType {
  std::vector<Size> dims;
  DType dtype = DType::F32;

  Size elements() const;
  /// Dense bytes, without alignment.
  Size bytes() const;
  /// `batch x image x 3072 x bf16`.
  std::string str() const;
  bool operator==(const TensorType &other) const {
    return dims == other.dims && dtype == other.dtype;
  }
};

/// A size that users give by `--dim name=value`.
struct NamedSize {
  std::string name;
  std::optional<int64_t> defaultValue;
};

//===----------------------------------------------------------------------===//
// Block graph: what a block computes, op by op
//===----------------------------------------------------------------------===//

/// The boundary region an op or a value comes from.
enum class Scope { None, Attention, Ffn };
const char *nameOf(Scope scope);

using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>>;

struct GraphOp {
  /// Mnemonic without the dialect: `linear`, `sdpa`.
  std::string name;
  /// Indices into Graph::values; an absent optional operand is -1.
  std::vector<int> operands;
  std::vector<int> results;
  std::map<std::string, Attribute> attributes;
  Scope scope = Scope::None;
};

/// Values are numbered: states, inputs, parameters, then op results in order.
struct Graph {
  std::vector<TensorType> values;
  std::vector<GraphOp> ops;
  /// The block's results, one per state.
  std::vector<int> results;
};

/// One argument of a block kind.
struct Port {
  /// States and inputs: the name by which the caller passes the tensor.
  /// Parameters: the name in a weights file; `{i}` stands for the block's
  /// index in its stack, and a name without it is one tensor for all blocks.
  std::string name;
  TensorType type;
  /// Inputs and a stack's initial states: a gradient is produced. Parameters:
  /// trainable.
  bool needsGradient = false;
  /// Parameters only; `dense` is the one encoding there is.
  std::string encoding = "dense";
};

//===----------------------------------------------------------------------===//
// Selected step: the kernels of a block kind and the values between them
//===----------------------------------------------------------------------===//

enum class ValueKind {
  Temporary,      ///< lives in the arena
  StateIn,        ///< index: state; the previous block's StateOut
  StateOut,       ///< index: state
  Input,          ///< index: input; the caller's
  Param,          ///< index: parameter; the caller's
  GradStateOut,   ///< index: state; what the next block's backward produced
  GradStateIn,    ///< index: state; produced for the previous block
  GradInput,      ///< index: input; f32, added up over the blocks in the arena
  GradParam,      ///< index: parameter; the caller's, in the parameter's dtype
  GradParamShared ///< index: parameter without `{i}`; f32, added up like inputs
};

struct Value {
  std::string name;
  TensorType type;
  ValueKind kind = ValueKind::Temporary;
  int index = -1;
};

/// The class decides which measured rate the time model uses.
enum class KernelClass { Gemm, AttentionForward, AttentionBackward, RowWise };
const char *nameOf(KernelClass cls);

//===----------------------------------------------------------------------===//
// Launch recipes: how a kernel runs on a GPU (target `nvptx`)
//===----------------------------------------------------------------------===//

/// One entry point of GPU code. Shared by kernels, also of other programs.
struct GpuFunction {
  std::string symbol;
  /// Text; always there, for a driver to compile where no cubin fits.
  std::string ptx;
  /// Machine code for the program's chip, or empty.
  std::vector<uint8_t> cubin;
  /// Threads of a block; blocks of a cluster (along x).
  int threads = 0;
  int cluster = 1;
  /// Dynamic shared memory of a block, bytes.
  int sharedBytes = 0;
};

/// What a function is given at one position.
struct LaunchArgument {
  enum class Kind {
    Pointer, ///< 8 bytes: the tensor's address + `offset`, null if left out
    Map,     ///< 128 bytes: a TMA descriptor; zeros if the tensor is left out
    Int32,   ///< `value`
    Int64,   ///< `value`
    Float32  ///< `number`
  };
  Kind kind = Kind::Pointer;
  /// Pointer, Map: position in the kernel's reads and writes; -1 is the
  /// workspace.
  int argument = -1;
  /// Pointer, Map: bytes from its start on. Maps: a multiple of 16.
  Formula offset;
  /// Map: extents in elements, the fastest running first, and the strides in
  /// bytes of all but the first, multiples of 16. Out of bounds reads as zero
  /// and is not written.
  std::vector<Formula> extents, strides;
  /// Map: elements of a box along each extent.
  std::vector<int> box;
  DType dtype = DType::BF16;
  /// Map: bytes of the shared-memory swizzle, 0, 32, 64 or 128.
  int swizzle = 128;
  Formula value;
  double number = 0;
};

/// One launch, or zeros written to memory.
struct GpuLaunch {
  /// Index into Program::functions; -1: fills `fillBytes` bytes at the one
  /// argument, a pointer, with zeros.
  int function = -1;
  Formula gridX = 1, gridY = 1, gridZ = 1;
  std::vector<LaunchArgument> arguments;
  Formula fillBytes;
};

/// One way to run a kernel. Which one depends on the sizes and the device
/// alone, never on a plan: the one with the least cost, the first among equals.
struct Alternative {
  /// For reports: `128x256 cluster 2`.
  std::string name;
  /// In any unit that the alternatives of one kernel share; may use `$sms`.
  Formula cost;
  /// In order, on one stream.
  std::vector<GpuLaunch> launches;
};

/// One compiled kernel. Host ABI:
///   void symbol(void *const *args, const int64_t *sizes, void *workspace)
/// `args`: reads, then writes; a write that nobody asked for is null.
/// `sizes`: the values of Program::sizes, in that order.
/// GPU: `alternatives`; the symbol is a name only.
struct Kernel {
  std::string symbol;
  KernelClass cls = KernelClass::RowWise;
  int numReads = 0;
  int numWrites = 0;
  /// Scratch memory, bytes; lives only while the kernel runs.
  Size workspaceBytes;
  /// Time model: floating point operations, and bytes read plus written when
  /// every output is asked for.
  Size flops;
  Size trafficBytes;
  std::vector<Alternative> alternatives;
};

/// One launch site in a block kind's forward or backward.
struct SelectedOp {
  /// Short id for reports: `f0`, `b3`.
  std::string id;
  int kernel = -1;
  /// Indices into BlockKind::values.
  std::vector<int> reads;
  std::vector<int> writes;
  /// Pairs (read position, write position): the write may take the read's
  /// place in memory when it is the read's last use (element by element).
  std::vector<std::pair<int, int>> inPlace;
  Scope scope = Scope::None;
};

/// A value that may cross from forward to backward, and what policies may ask
/// about it.
struct SavedValue {
  std::string name;
  /// Index into BlockKind::values.
  int value = -1;
  /// The state this is, or -1.
  int state = -1;
  /// The boundary region whose op makes it; None for states and the rest.
  Scope producer = Scope::None;
  /// It is a result of its producing region.
  bool scopeResult = false;
  /// It is an operand of an attention / a ffn region.
  bool attentionOperand = false;
  bool ffnOperand = false;
  /// O or LSE of an `sdpa` inside `ckpt.attention`.
  bool attentionCore = false;
};

enum class Fate { Unused, Keep, Recompute, Offload };
const char *nameOf(Fate fate);

/// What a plan asks of one block; the key of a variant.
struct Demand {
  /// One fate per BlockKind::saved.
  std::vector<Fate> fates;
  /// Per state: the replay must also make the block's result (the next
  /// block's state is recomputed).
  std::vector<bool> replayResults;
  /// Per state: the backward must make the gradient of the incoming state.
  std::vector<bool> stateGradients;
  bool operator==(const Demand &other) const {
    return fates == other.fates && replayResults == other.replayResults &&
           stateGradients == other.stateGradients;
  }
};

/// One step of a variant's list.
struct VariantStep {
  enum class Kind { Launch, CopyOut, CopyIn };
  Kind kind = Kind::Launch;
  /// Launch: index into BlockKind::ops. Copies: index into BlockKind::saved.
  int index = -1;
  /// Launch: one flag per write of the op; false = left out.
  std::vector<bool> writes;
};

struct Variant {
  Demand demand;
  std::vector<VariantStep> forward;
  std::vector<VariantStep> replay;
  std::vector<VariantStep> backward;
};

struct BlockKind {
  std::string name;
  std::vector<Port> states;
  std::vector<Port> inputs;
  std::vector<Port> params;
  std::vector<TensorType> results;
  bool hasAttention = false;
  bool hasFfn = false;

  Graph graph;

  std::vector<Value> values;
  /// Forward ops first, in order, then backward ops.
  std::vector<SelectedOp> ops;
  int numForwardOps = 0;
  std::vector<SavedValue> saved;
  std::vector<Variant> variants;
};

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

struct Stack {
  std::string name;
  /// Index into Program::kinds, one per block.
  std::vector<int> blocks;
};

/// The controls of design section 3; what a user may ask of a plan.
enum class Backend { None, Torch, TorchFfn, Unsloth, UnslothFfn };
const char *nameOf(Backend backend);

struct Controls {
  Backend backend = Backend::None;
  std::optional<int64_t> interval;
  std::optional<int64_t> segmentStride;
  bool attentionOnce = false;
  bool offloadAttention = false;
  std::optional<int64_t> pinMemoryMaxBuckets;
};

/// A cast of an f32 sum of gradients to the caller's dtype, run once at the
/// end of the backward; one per differentiable input and shared trainable
/// parameter. Keyed by the gradient's external name, `grad.<name>`.
struct GradientCast {
  std::string gradient;
  int kernel = -1;
};

struct Program {
  std::vector<NamedSize> sizes;
  std::vector<BlockKind> kinds;
  /// Run one after the other; each takes the states that the last one left.
  std::vector<Stack> stacks;
  std::vector<Kernel> kernels;
  std::vector<GradientCast> casts;
  /// What the flags of the compile asked for; a run may ask otherwise.
  Controls defaults;
  /// `host` or `nvptx`.
  std::string target;
  /// The same tensors give the same bits, from run to run and under all
  /// controls.
  bool deterministic = true;
  /// One shared object with every kernel (target `host`).
  std::vector<uint8_t> object;
  /// Target `nvptx`: `sm_90a`, and every entry point.
  std::string chip;
  std::vector<GpuFunction> functions;

  /// It was compiled to be run, not to be planned only.
  bool hasCode() const { return !object.empty() || !functions.empty(); }
};

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_PROGRAM_H
