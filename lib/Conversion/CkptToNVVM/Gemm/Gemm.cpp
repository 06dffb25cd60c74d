//===- Gemm.cpp - ways to run a product -----------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Every kernel gets the few tile shapes that can win for its N and K; M is
// known when it runs. The costs are clock cycles of one multiprocessor: whole
// waves of tiles, each with its k blocks and what does not overlap with them.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Products that are cut along K have at most this many parts. Only those with
/// a side this small are: the parts take memory.
constexpr int64_t mostParts = 32, narrowSide = 64;

static bool isNarrow(const rt::Size &size) {
  std::optional<int64_t> constant = size.asConstant();
  return constant && *constant <= narrowSide;
}

static rt::Size workspaceOf(const rt::Size &m, const rt::Size &n) {
  if (!isNarrow(m) && !isNarrow(n))
    return 0;
  return rt::Size(mostParts * 4) * m * n;
}

rt::Size nvptx::gemmWorkspace(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (isa<LinearOp, LinearDxOp, LinearDwOp>(op)) {
      SmallVector<rt::Size> shape =
          cast<ckpt::TensorType>(op.getResult(0).getType()).getShape();
      rt::Size rows = 1;
      for (const rt::Size &dim : ArrayRef(shape).drop_back())
        rows *= dim;
      return workspaceOf(rows, shape.back());
    }
  return 0;
}

/// Results can leave through shared memory: all have 16 bits and rows that TMA
/// can write.
static bool canStage(const Problem &problem) {
  return llvm::all_of(problem.outputs, [](const Output &output) {
    std::optional<int64_t> columns = output.matrix.columns.asConstant();
    return output.matrix.type != rt::DType::F32 &&
           (!columns || *columns % 8 == 0);
  });
}

static TileShape shapeOf(const Problem &problem, int consumers, int bn,
                         int cluster, bool splitK = false) {
  TileShape shape;
  shape.consumers = consumers;
  shape.bn = bn;
  shape.cluster = cluster;
  shape.aMajor = problem.aMajor;
  shape.bMajor = problem.bMajor;
  shape.type = problem.type;
  shape.splitK = splitK;
  shape.staged = 0;
  if (!splitK && bn % 64 == 0 && canStage(problem)) {
    shape.staged = problem.outputs.size();
    shape.auxiliaries = problem.auxiliaries.size();
  }
  shape.finish();
  return shape;
}

static SmallVector<TileShape> candidates(const Problem &problem) {
  SmallVector<TileShape> shapes;
  auto add = [&](int consumers, int bn, int cluster, bool splitK = false) {
    TileShape shape = shapeOf(problem, consumers, bn, cluster, splitK);
    if (shape.stages >= 2)
      shapes.push_back(shape);
  };
  if (isNarrow(problem.n)) {
    int64_t n = *problem.n.asConstant();
    int bn = n <= 16 ? 16 : n <= 32 ? 32 : 64;
    add(2, bn, 1);
    if (!problem.lowRank.product)
      add(2, bn, 1, /*splitK=*/true);
    return shapes;
  }
  if (isNarrow(problem.m)) {
    add(1, 128, 1);
    if (!problem.lowRank.product)
      add(1, 256, 1, /*splitK=*/true);
    return shapes;
  }
  std::optional<int64_t> n = problem.n.asConstant();
  if (!n || *n > 192)
    add(2, 256, 2);
  if (!n || *n > 128)
    add(2, 192, 2);
  add(2, 128, 2);
  add(1, 128, 2);
  return shapes;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Cycles of one k block: products at the speed that these tiles reach, or
/// what brings the operands.
static int64_t cyclesOfBlock(const TileShape &shape) {
  int64_t products = int64_t(shape.bm()) * shape.bn / 32;
  // Per thousand of the tensor cores' speed.
  int64_t speed = shape.consumers == 1 ? 700 : shape.bn >= 192 ? 920 : 850;
  int64_t bytes = shape.aTile().bytes() + shape.bTile().bytes() / shape.cluster;
  constexpr int64_t bytesPerCycle = 40;
  return std::max(products * 1000 / speed, bytes / bytesPerCycle);
}

/// Cycles of a tile beside its k blocks: the pipeline's start and the epilogue,
/// as far as nothing overlaps with it.
static int64_t cyclesOfTile(const TileShape &shape) {
  return 800 +
         shape.chunks() * (150 + 100 * (shape.staged + shape.auxiliaries));
}

/// Cycles of a launch.
constexpr int64_t cyclesOfLaunch = 4000;

namespace {

/// How a product of some shape is shared out.
struct Schedule {
  Schedule(const Problem &problem, const TileShape &shape) {
    rt::Formula sms(rt::Size::symbol(rt::multiprocessors));
    rt::Formula blocks = rt::Formula::ceilDiv(problem.k, blockK);
    if (problem.lowRank.product)
      blocks = blocks + 1;
    rt::Formula tilesOfPart =
        rt::Formula::ceilDiv(problem.m, shape.bm() * shape.cluster) *
        rt::Formula::ceilDiv(problem.n, shape.bn);
    // Rounded down.
    rt::Formula slots =
        rt::Formula::ceilDiv(sms - (shape.cluster - 1), shape.cluster);
    split.blocksPerPart = blocks;
    if (shape.splitK) {
      rt::Formula wanted = rt::Formula::max(
          1, rt::Formula::min(
                 mostParts,
                 rt::Formula::ceilDiv(slots - tilesOfPart + 1, tilesOfPart)));
      split.blocksPerPart = rt::Formula::ceilDiv(blocks, wanted);
      split.parts = rt::Formula::ceilDiv(blocks, split.blocksPerPart);
    }
    rt::Formula tiles = tilesOfPart * split.parts;
    grid = rt::Formula::min(slots, tiles) * shape.cluster;
    cost =
        rt::Formula::ceilDiv(tiles, slots) *
            (split.blocksPerPart * cyclesOfBlock(shape) + cyclesOfTile(shape)) +
        cyclesOfLaunch;
    if (shape.splitK) {
      // Bound by memory: about 16 bytes a cycle and multiprocessor.
      rt::Formula bytes =
          rt::Formula(problem.m) * problem.n * (split.parts * 8 + 4);
      cost = cost + cyclesOfLaunch + rt::Formula::ceilDiv(bytes, sms * 16);
    }
  }

  Split split;
  rt::Formula grid, cost;
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What happens behind the product, as part of a symbol.
static std::string epilogueName(const Problem &problem) {
  std::string name = problem.bias ? "_bias" : "";
  if (problem.lowRank.product)
    name = "_lowrank" + name;
  for (Operation &op : problem.body().without_terminator())
    if (&op != problem.op && op.getResult(0) != problem.lowRank.product &&
        !isa<ReshapeOp, SliceOp, TransposeOp>(op))
      name += "_" + op.getName().stripDialect().str();
  if (problem.outputs.size() > 1)
    name += "_x" + std::to_string(problem.outputs.size());
  return name;
}

static std::string symbolOf(const Problem &problem, const TileShape &shape) {
  std::string name =
      "gemm_" + std::to_string(shape.bm()) + "x" + std::to_string(shape.bn);
  if (shape.cluster > 1)
    name += "_c" + std::to_string(shape.cluster);
  name += shape.aMajor == Major::K ? "_n" : "_t";
  name += shape.bMajor == Major::K ? "t" : "n";
  if (shape.type == Half::F16)
    name += "_f16";
  return name + (shape.splitK ? "_part" : epilogueName(problem));
}

static rt::GpuLaunch launchOf(int function, const rt::Formula &grid,
                              Signature signature) {
  rt::GpuLaunch launch;
  launch.function = function;
  launch.gridX = grid;
  launch.arguments = std::move(signature.arguments);
  return launch;
}

static LogicalResult addAlternative(const Problem &problem,
                                    const TileShape &shape, Code &code) {
  Schedule schedule(problem, shape);
  rt::Alternative alternative;
  alternative.name = shape.name();
  alternative.cost = schedule.cost;
  Signature signature(problem, shape, schedule.split);
  FailureOr<Function> function =
      makeKernel(problem, shape, signature, symbolOf(problem, shape));
  if (failed(function))
    return failure();
  alternative.launches.push_back(
      launchOf(code.functions.size(), schedule.grid, std::move(signature)));
  code.functions.push_back(std::move(*function));
  if (shape.splitK) {
    Signature reduction = Signature::ofReduction(problem, schedule.split);
    FailureOr<Function> sum =
        makeReduction(problem, reduction, "gemm_sum" + epilogueName(problem));
    if (failed(sum))
      return failure();
    rt::Formula elements = rt::Formula(problem.m) * problem.n;
    rt::Formula grid = rt::Formula::ceilDiv(
        elements, reductionThreads * reductionWidthOf(problem));
    alternative.launches.push_back(
        launchOf(code.functions.size(), grid, std::move(reduction)));
    code.functions.push_back(std::move(*sum));
  }
  code.alternatives.push_back(std::move(alternative));
  return success();
}

LogicalResult nvptx::generateGemm(KernelOp kernel, const Options &,
                                  Code &code) {
  FailureOr<Problem> problem = analyze(kernel);
  if (failed(problem))
    return failure();
  for (const TileShape &shape : candidates(*problem))
    if (failed(addAlternative(*problem, shape, code)))
      return failure();
  return success();
}
