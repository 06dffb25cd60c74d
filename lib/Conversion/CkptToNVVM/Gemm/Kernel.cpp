//===- Kernel.cpp - a product as a persistent kernel ----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Warpgroup 0 produces: one thread sends tiles of A and B into the ring by TMA.
// The others consume, 64 rows of the tile each: they wait for a stage, issue
// four products of depth 16, and release the stage before once the products of
// it are through, so that one k block is always in flight. Consumers meet
// neither each other nor the producer but at the ring: one writes its results
// while the other still multiplies, and the producer is up to a ring ahead,
// in the next tile.
//
//   producer   k0 k1 k2 ... kn | aux | k0 k1 ...        (the next tile)
//   consumer   k0 ... kn, epilogue reading aux, k0 ...
//
// Blocks of a cluster work on tiles above each other in the same columns: each
// loads its part of B for all of them.
//
// Registers: the producer keeps 40, consumers 232 (three warpgroups of 128
// share 65536; with one consumer all may have 255).
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "../KernelModule.h"
#include "Epilogue.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

/// Cluster rows of tiles that run together, so that their operands stay in the
/// second-level cache.
static constexpr int rasterRows = 8;

namespace {

/// One tile of the result, or of a part of it.
struct Tile {
  /// Of this block.
  Value row, column;
  /// The first k block and how many there are.
  Value firstBlock, blocks;
  Value part;
};

class Kernel {
public:
  Kernel(PtxBuilder &ptx, const Problem &problem, const TileShape &shape,
         const Parameters &parameters)
      : ptx(ptx), problem(problem), shape(shape), parameters(parameters),
        pipeline(ptx, shape) {}

  LogicalResult emit();

private:
  void setUp();
  void countTiles();
  Tile tileAt(Value number);
  /// Calls `body` for each tile of this cluster, with the ring carried along.
  Ring forEachTile(llvm::function_ref<Ring(const Tile &, Ring)> body);

  void produce();
  /// From maps of A and B.
  void loadBlock(const Tile &tile, Value a, Value b, Value block,
                 const Ring &ring);
  void loadOperand(Value base, Value map, Value barrier, Value row, int rows,
                   Major major, Value k, int sharers);
  Ring loadAuxiliaries(const Tile &tile, Ring ring);

  LogicalResult consume();
  Values multiply(const Ring &ring, ArrayRef<Value> accumulators, bool first);

  PtxBuilder &ptx;
  const Problem &problem;
  const TileShape &shape;
  const Parameters &parameters;
  Pipeline pipeline;

  Value thread, lane, warp, warpgroup, rank;
  Value cluster, clusters;
  /// Rows of tiles (of clusters), columns of tiles, tiles of all parts.
  Value tileRows, tileColumns, tilesOfPart, tiles, kBlocks;
  /// Descriptor words of this consumer's A and of B.
  Value aBase, bBase;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void Kernel::setUp() {
  thread = ptx.threadX();
  lane = ptx.bitAnd(thread, 31);
  warp = ptx.broadcast(ptx.shiftRight(thread, 5));
  warpgroup = ptx.shiftRight(warp, 2);
  cluster = ptx.blockX();
  clusters = ptx.gridX();
  if (shape.cluster > 1) {
    rank = ptx.clusterRank();
    cluster = ptx.div(cluster, shape.cluster);
    clusters = ptx.div(clusters, shape.cluster);
  }
  ptx.ifThen(ptx.equal(thread, 0), [&] {
    ptx.prefetchMap(parameters.a);
    ptx.prefetchMap(parameters.b);
    if (parameters.lowA) {
      ptx.prefetchMap(parameters.lowA);
      ptx.prefetchMap(parameters.lowB);
    }
    pipeline.init();
  });
  ptx.syncWarp();
  if (shape.cluster > 1)
    ptx.meetCluster();
  else
    ptx.syncBlock();
}

void Kernel::countTiles() {
  tileRows = ptx.ceilDiv(parameters.m, shape.bm() * shape.cluster);
  tileColumns = ptx.ceilDiv(parameters.n, shape.bn);
  kBlocks = ptx.ceilDiv(parameters.k, blockK);
  tilesOfPart = ptx.mul(tileRows, tileColumns);
  tiles = shape.splitK ? ptx.mul(tilesOfPart, parameters.parts) : tilesOfPart;
}

Tile Kernel::tileAt(Value number) {
  Tile tile;
  tile.firstBlock = ptx.constant(0);
  tile.blocks = kBlocks;
  if (shape.splitK) {
    tile.part = ptx.div(number, tilesOfPart);
    number = ptx.rem(number, tilesOfPart);
    tile.firstBlock = ptx.mul(tile.part, parameters.blocksPerPart);
    tile.blocks =
        ptx.min(parameters.blocksPerPart, ptx.sub(kBlocks, tile.firstBlock));
  }
  // Groups of `rasterRows` rows, down the rows first.
  Value perGroup = ptx.mul(tileColumns, rasterRows);
  Value group = ptx.div(number, perGroup);
  Value firstRow = ptx.mul(group, rasterRows);
  Value rowsOfGroup =
      ptx.min(ptx.sub(tileRows, firstRow), ptx.constant(rasterRows));
  Value within = ptx.sub(number, ptx.mul(group, perGroup));
  Value row = ptx.add(firstRow, ptx.rem(within, rowsOfGroup));
  tile.row = ptx.mul(row, shape.bm() * shape.cluster);
  if (shape.cluster > 1)
    tile.row = ptx.add(tile.row, ptx.mul(rank, shape.bm()));
  tile.column = ptx.mul(ptx.div(within, rowsOfGroup), shape.bn);
  return tile;
}

Ring Kernel::forEachTile(llvm::function_ref<Ring(const Tile &, Ring)> body) {
  Value zero = ptx.constant(0);
  Values last = ptx.loop(cluster, tiles, clusters, {zero, zero},
                         [&](Value number, ArrayRef<Value> carried) -> Values {
                           Ring ring =
                               body(tileAt(number), {carried[0], carried[1]});
                           return {ring.stage, ring.parity};
                         });
  return {last[0], last[1]};
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void Kernel::loadOperand(Value base, Value map, Value barrier, Value row,
                         int rows, Major major, Value k, int sharers) {
  int everyone = (1 << sharers) - 1;
  auto load = [&](Value to, ArrayRef<Value> coordinates) {
    if (sharers > 1)
      ptx.loadTileMulticast(to, map, barrier, coordinates, everyone);
    else
      ptx.loadTile(to, map, barrier, coordinates);
  };
  if (major == Major::K) {
    // One box; of a shared operand this block loads its part of the rows.
    int part = rows / sharers;
    if (sharers > 1) {
      row = ptx.add(row, ptx.mul(rank, part));
      base = ptx.at(base, ptx.mul(rank, part * 128));
    }
    load(base, {k, row});
    return;
  }
  // Boxes of 64 along M or N; of a shared operand its part of k.
  int part = blockK / sharers;
  if (sharers > 1) {
    k = ptx.add(k, ptx.mul(rank, part));
    base = ptx.at(base, ptx.mul(rank, part * 128));
  }
  for (int i = 0; i < rows; i += 64)
    load(ptx.at(base, i * 128), {ptx.add(row, i), k});
}

void Kernel::loadBlock(const Tile &tile, Value a, Value b, Value block,
                       const Ring &ring) {
  pipeline.acquire(ring, shape.stageBytes());
  Value barrier = pipeline.fullBarrier(ring.stage);
  Value base = pipeline.stageBase(ring.stage);
  Value k = ptx.mul(block, blockK);
  loadOperand(base, a, barrier, tile.row, shape.bm(), shape.aMajor, k, 1);
  loadOperand(ptx.at(base, shape.bTile().offset), b, barrier, tile.column,
              shape.bn, shape.bMajor, k, shape.cluster);
}

Ring Kernel::loadAuxiliaries(const Tile &tile, Ring ring) {
  int perStage = shape.auxiliariesPerStage();
  int count = shape.chunks() * shape.auxiliaries;
  for (int first = 0; first < count; first += perStage) {
    int last = std::min(first + perStage, count);
    pipeline.acquire(ring, (last - first) * shape.auxiliaryBytes());
    Value barrier = pipeline.fullBarrier(ring.stage);
    Value base = pipeline.stageBase(ring.stage);
    for (int i = first; i < last; ++i)
      ptx.loadTile(
          ptx.at(base, (i - first) * shape.auxiliaryBytes()),
          parameters.auxiliaryMaps[i % shape.auxiliaries], barrier,
          {ptx.add(tile.column, i / shape.auxiliaries * 64), tile.row});
    ring = pipeline.next(ring);
  }
  return ring;
}

void Kernel::produce() {
  ptx.ifThen(ptx.equal(warp, 0), [&] {
    ptx.ifThen(ptx.elect(), [&] {
      Ring ring = forEachTile([&](const Tile &tile, Ring ring) {
        Value end = ptx.add(tile.firstBlock, tile.blocks);
        Values after = ptx.loop(
            tile.firstBlock, end, ptx.constant(1), {ring.stage, ring.parity},
            [&](Value block, ArrayRef<Value> carried) -> Values {
              Ring at = {carried[0], carried[1]};
              loadBlock(tile, parameters.a, parameters.b, block, at);
              Ring next = pipeline.next(at);
              return {next.stage, next.parity};
            });
        Ring next = {after[0], after[1]};
        if (parameters.lowA) {
          loadBlock(tile, parameters.lowA, parameters.lowB, ptx.constant(0),
                    next);
          next = pipeline.next(next);
        }
        return loadAuxiliaries(tile, next);
      });
      // A block stays until the others have reported every stage to it: what
      // arrives at a block that is gone is a fault.
      if (shape.cluster > 1)
        for (int stage = 0; stage < shape.stages; ++stage) {
          pipeline.waitEmpty(ring);
          ring = pipeline.next(ring);
        }
    });
  });
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

Values Kernel::multiply(const Ring &ring, ArrayRef<Value> accumulators,
                        bool first) {
  pipeline.waitFull(ring);
  Value offset = ptx.mul(ring.stage, shape.stageBytes() >> 4);
  Value a = ptx.add(aBase, offset), b = ptx.add(bBase, offset);
  SharedTile aTile = shape.aTile(), bTile = shape.bTile();
  bool aTransposed = shape.aMajor == Major::MN;
  bool bTransposed = shape.bMajor == Major::MN;
  ptx.wgmmaFence();
  Values result(accumulators);
  for (int step = 0; step < blockK / 16; ++step) {
    Descriptor left = aTransposed
                          ? aTile.mnMajor(a).plus(aTile.mnMajorStep(step))
                          : aTile.kMajor(a).plus(aTile.kMajorStep(step));
    Descriptor right = bTransposed
                           ? bTile.mnMajor(b).plus(bTile.mnMajorStep(step))
                           : bTile.kMajor(b).plus(bTile.kMajorStep(step));
    result =
        ptx.wgmma(result, left, right, ptx.constant(first && step == 0 ? 0 : 1),
                  shape.type, aTransposed, bTransposed);
  }
  ptx.wgmmaCommit();
  return result;
}

LogicalResult Kernel::consume() {
  Value consumer = ptx.sub(warpgroup, ptx.constant(1));
  pipeline.enterConsumer(ptx.bitAnd(thread, 127));
  bBase = descriptorBase(ptx, pipeline.shared);
  // 64 rows of A are 8 KB, whichever way they lie.
  aBase = ptx.add(bBase, ptx.mul(consumer, 8192 >> 4));
  Epilogue epilogue(pipeline, problem, parameters, consumer,
                    ptx.bitAnd(warp, 3), lane);

  forEachTile([&](const Tile &tile, Ring ring) {
    epilogue.beginTile(tile.row, tile.column);
    // The first k block has no stage before it to release.
    Values accumulators =
        multiply(ring, ptx.undefs(shape.bn / 2), /*first=*/true);
    Ring next = pipeline.next(ring);
    Values inits = {next.stage, next.parity, ring.stage};
    llvm::append_range(inits, accumulators);
    // One of low rank is one block more; beyond its depth TMA brings zeros.
    Value blocks = parameters.lowA ? ptx.add(tile.blocks, 1) : tile.blocks;
    Values carried =
        ptx.loop(ptx.constant(1), blocks, ptx.constant(1), inits,
                 [&](Value, ArrayRef<Value> carried) -> Values {
                   Ring at = {carried[0], carried[1]};
                   Values result =
                       multiply(at, carried.drop_front(3), /*first=*/false);
                   ptx.wgmmaWait(1);
                   pipeline.release(carried[2]);
                   Ring next = pipeline.next(at);
                   Values yielded = {next.stage, next.parity, at.stage};
                   llvm::append_range(yielded, result);
                   return yielded;
                 });
    Values sums = ptx.wgmmaWait(0, ArrayRef(carried).drop_front(3));
    pipeline.release(carried[2]);
    return epilogue.finishTile(sums, {carried[0], carried[1]}, tile.part);
  });
  epilogue.leave();
  return failure(epilogue.failed());
}

LogicalResult Kernel::emit() {
  setUp();
  countTiles();
  bool shares = shape.consumers > 1;
  LogicalResult result = success();
  ptx.ifElse(
      ptx.equal(warpgroup, 0),
      [&] {
        if (shares)
          ptx.setMaxRegisters(40, /*increase=*/false);
        produce();
      },
      [&] {
        if (shares)
          ptx.setMaxRegisters(232, /*increase=*/true);
        result = consume();
      });
  return result;
}

FailureOr<nvptx::Function> gemm::makeKernel(const Problem &problem,
                                            const TileShape &shape,
                                            const Signature &signature,
                                            const std::string &symbol) {
  KernelShape kernelShape;
  kernelShape.name = symbol;
  kernelShape.threads = shape.threads();
  kernelShape.cluster = shape.cluster;
  KernelModule module =
      makeKernelModule(problem.op->getContext(), problem.op->getLoc(),
                       kernelShape, signature.kinds());
  PtxBuilder ptx = bodyOf(module);
  Parameters parameters = signature.parametersOf(module.function);
  if (failed(Kernel(ptx, problem, shape, parameters).emit()))
    return failure();
  return finishKernel(std::move(module), ptx, shape.sharedBytes());
}
