//===- Forward.cpp - flash attention, forward -----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// A block of threads holds 64 queries per consumer warpgroup in shared memory
// and goes over the keys, the last (ragged) ones first, so that only the peeled
// first step masks. A producer warp loads k and v by TMA into two stages each;
// in a cluster, each block loads half and multicasts it to both. A consumer's
// step, of keys j, with the probabilities P of step j - 1 in registers:
//
//   issue S = Q K_j^T, issue O += P V_(j-1); wait for S; softmax of S under the
//   second product; wait for O; pack P, scale O down.
//
// What is read of an asynchronous product was issued in the same iteration:
// ptxas serializes everything otherwise. The order of consumers at the tensor
// cores is kept by named barriers, each waking the next.
//
// Registers of a consumer thread, of 240 (head 128, 176 keys, 2 consumers): O
// 64, S 88, P 44, the rest addresses, maxima and sums. 160 of them with three
// consumers (head 64, 128 keys): 32, 64, 32. Shared memory: Q 32 KiB, two
// stages of K and of V, 44 KiB each: 213,064 bytes with the barriers, of
// 232,448; for a head of 64, 24 and 16 KiB. O leaves through the place of Q.
//
// The exponent of a weight is x = s scale - m scale, one fma with m scale
// rounded: off by the same up to 2^3 for all keys of a row, which cancels.
// Above 2^28 it would overflow. There, neighbours of the maximum are at least
// 16 away, and any power of two for a scale, whose product with m is exact,
// says so too.
//
//===----------------------------------------------------------------------===//

#include "../KernelModule.h"
#include "ForwardKernel.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

ForwardKernel::ForwardKernel(PtxBuilder &ptx, ValueRange parameters,
                             const ForwardTiles &tiles)
    : ptx(ptx), tiles(tiles), mapQ(parameters[0]), mapK(parameters[1]),
      mapV(parameters[2]), mapO(parameters[3]), pointerO(parameters[4]),
      pointerLse(parameters[5]), queries(parameters[6]), keys(parameters[7]),
      scale(parameters[8]), powerScale(parameters[9]), threads(ptx) {
  shared = ptx.sharedMemory();
  head = ptx.blockY();
  batch = ptx.blockZ();
  firstQuery = ptx.mul(ptx.blockX(), tiles.queries());
  keyBlocks = ptx.ceilDiv(keys, tiles.keys);
}

void ForwardKernel::initBarriers() {
  const int stages = ForwardTiles::stages;
  auto at = [&](int index) {
    return ptx.at(shared, tiles.barriers() + 8 * index);
  };
  fullQ = at(0);
  fullK = at(1);
  emptyK = at(1 + stages);
  fullV = at(1 + 2 * stages);
  emptyV = at(1 + 3 * stages);
  ptx.ifThen(ptx.equal(threads.thread, 0), [&] {
    for (Value map : {mapQ, mapK, mapV})
      ptx.prefetchMap(map);
    ptx.barrierInit(fullQ, 1);
    for (int s = 0; s < stages; ++s)
      for (Value barrier : {fullK, fullV, emptyK, emptyV})
        ptx.barrierInit(ptx.at(barrier, 8 * s),
                        barrier == fullK || barrier == fullV
                            ? 1
                            : tiles.consumers * tiles.cluster);
    ptx.fenceBarrierInit();
  });
  if (tiles.cluster > 1) {
    rank = ptx.clusterRank();
    ptx.meetCluster();
  } else {
    ptx.syncBlock();
  }
}

void ForwardKernel::emit() {
  initBarriers();
  ptx.ifElse(
      ptx.equal(threads.warpgroup, 0),
      [&] {
        ptx.setMaxRegisters(tiles.consumers == 2 ? 24 : 32, false);
        ptx.ifThen(ptx.equal(threads.warp, 0),
                   [&] { ptx.ifThen(ptx.elect(), [&] { produce(); }); });
      },
      [&] {
        ptx.setMaxRegisters(tiles.consumers == 2 ? 240 : 160, true);
        consume();
      });
  // No block leaves while the other may write to it.
  if (tiles.cluster > 1)
    ptx.meetCluster();
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void ForwardKernel::produce() {
  SharedTile q = tiles.q();
  ptx.expectBytes(fullQ, q.bytes());
  for (int c = 0; c < q.chunks(); ++c)
    ptx.loadTile(ptx.at(shared, q.offset + c * q.chunkBytes()), mapQ, fullQ,
                 {ptx.constant(64 * c), firstQuery, head, batch});
  Value zero = ptx.constant(0), last = ptx.add(keyBlocks, -1);
  ptx.loop(zero, keyBlocks, ptx.constant(1), {zero, zero},
           [&](Value step, ArrayRef<Value> carried) -> Values {
             Ring ring{carried[0], carried[1]};
             Value row = ptx.mul(ptx.sub(last, step), tiles.keys);
             loadKeys(tiles.k(), mapK, fullK, emptyK, ring, row);
             loadKeys(tiles.v(), mapV, fullV, emptyV, ring, row);
             Ring next = ring.next(ptx, ForwardTiles::stages);
             return {next.stage, next.parity};
           });
}

void ForwardKernel::loadKeys(const SharedTile &tile, Value map, Value full,
                             Value empty, Ring ring, Value row) {
  Value barrier = stageBarrier(full, ring.stage);
  ptx.wait(stageBarrier(empty, ring.stage), ptx.bitXor(ring.parity, 1));
  ptx.expectBytes(barrier, tile.bytes());
  Value to =
      ptx.at(shared, ptx.add(ptx.mul(ring.stage, tile.bytes()), tile.offset));
  if (tiles.cluster == 1) {
    for (int c = 0; c < tile.chunks(); ++c)
      ptx.loadTile(ptx.at(to, c * tile.chunkBytes()), map, barrier,
                   {ptx.constant(64 * c), row, head, batch});
    return;
  }
  // Each block of the pair loads one of the two chunks for both.
  Value column = ptx.mul(rank, 64);
  ptx.loadTileMulticast(ptx.at(to, ptx.mul(rank, tile.chunkBytes())), map,
                        barrier, {column, row, head, batch}, 3);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Function nvptx::makeForwardKernel(MLIRContext *context, Location loc,
                                  const std::string &symbol,
                                  const ForwardTiles &tiles) {
  using Kind = rt::LaunchArgument::Kind;
  KernelShape shape;
  shape.name = symbol;
  shape.threads = tiles.threads();
  shape.cluster = tiles.cluster;
  KernelModule kernel = makeKernelModule(
      context, loc, shape,
      {Kind::Map, Kind::Map, Kind::Map, Kind::Map, Kind::Pointer, Kind::Pointer,
       Kind::Int32, Kind::Int32, Kind::Float32, Kind::Float32});
  PtxBuilder ptx = bodyOf(kernel);
  ForwardKernel(ptx, kernel.function.getArguments(), tiles).emit();
  return finishKernel(std::move(kernel), ptx, tiles.sharedBytes());
}
