//===- Backward.cpp - flash attention, backward ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// A block of threads holds 128 keys, 64 per consumer warpgroup, and goes over
// the queries; dK and dV stay in registers. Per step:
//
//   S^T = K Q^T, dP^T = V dO^T          operands in shared memory
//   P = 2^(scale S - lse), dS = P (dP - delta)
//   dV += P^T dO, dK += dS^T Q           P and dS from registers
//   dQ^T = K^T dS^T                      dS through shared memory
//
// dQ runs one step late, over two buffers of dS, so that the warpgroups never
// meet at a barrier: each computes half of dQ (of the head's columns, or of the
// queries for a head of 64) of all 128 keys. It leaves through each warp's own
// staging memory as one bulk addition to f32 in global memory, in the order of
// the fragments: [head][step][warp][4 values][lane]. The order within a step:
//
//   issue S, dP; wait for S; powers of the first steps of k16; issue that part
//   of dV; the other powers; wait for dP; dS, to shared memory; issue dQ of the
//   step before, the rest of dV, dK; wait for dQ, stage and add it; wait for
//   all, release the stage.
//
// Nothing is in flight at the back edge. Registers at their peak, of 240 (head
// 128): dV 64, dK 64, S and then P and dS 40, dP and then dQ 40, packed words
// of P 12; the rest addresses. Shared memory, KiB: K and V 32 each, two stages
// of Q and dO 20 each, two of dS 20 each, staging 40: 231,032 bytes with
// vectors and barriers, of 232,448. For a head of 64: 16, 16, 32, 32: 198,776
// bytes. dK and dV leave through the places of K and V.
//
// Deterministic: warps 1 and 2, one per half of dQ, wait for their block's turn
// in a semaphore per step and half, add, wait until that is done and pass the
// turn on. Turns go by keys, and the keys that a block works on by a counter
// that blocks draw from as they start: so who waits, waits for a block that
// runs, in whatever order the hardware starts them.
//
//===----------------------------------------------------------------------===//

#include "../KernelModule.h"
#include "BackwardKernel.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

BackwardKernel::BackwardKernel(PtxBuilder &ptx, ValueRange parameters,
                               const BackwardTiles &tiles)
    : ptx(ptx), tiles(tiles), mapQ(parameters[0]), mapK(parameters[1]),
      mapV(parameters[2]), mapDout(parameters[3]), mapDk(parameters[4]),
      mapDv(parameters[5]), pointerDk(parameters[6]), pointerDv(parameters[7]),
      lse(parameters[8]), delta(parameters[9]), dq(parameters[10]),
      counters(parameters[11]), queries(parameters[12]), keys(parameters[13]),
      parts(parameters[14]), scale(parameters[15]), plainScale(parameters[16]),
      threads(ptx) {
  shared = ptx.sharedMemory();
  head = ptx.blockY();
  batch = ptx.blockZ();
  headIndex = ptx.add(ptx.mul(batch, ptx.gridY()), head);
  allSteps = ptx.ceilDiv(queries, tiles.queries);
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

void BackwardKernel::initBarriers() {
  const int stages = BackwardTiles::stages;
  struct Group {
    Value &first;
    int count, arrivals;
  };
  // Full stages are announced by the producer; emptied ones by warps.
  Group groups[] = {{fullK, 1, 1},       {fullV, 1, 1},
                    {fullQ, stages, 1},  {emptyQ, stages, 8},
                    {fullSlope, 2, 8},   {emptySlope, 2, 8},
                    {fullStaging, 2, 4}, {emptyStaging, 2, 1}};
  int64_t at = tiles.barriers();
  for (Group &group : groups) {
    group.first = ptx.at(shared, at);
    at += 8 * group.count;
  }
  ptx.ifThen(ptx.equal(threads.thread, 0), [&] {
    for (Value map : {mapQ, mapK, mapV, mapDout})
      ptx.prefetchMap(map);
    for (Group &group : groups)
      for (int i = 0; i < group.count; ++i)
        ptx.barrierInit(ptx.at(group.first, 8 * i), group.arrivals);
    ptx.fenceBarrierInit();
    if (tiles.deterministic)
      ptx.store(
          ptx.atomicIncrement(ptx.element(counters, headIndex, ptx.i32())),
          ptx.at(shared, tiles.barriers() + 8 * BackwardTiles::numBarriers));
  });
  ptx.syncBlock();
}

Value BackwardKernel::blockAt(Value step) {
  Value block = ptx.add(step, rotation), past = ptx.sub(block, steps);
  return ptx.add(firstStep, ptx.select(ptx.compare(arith::CmpIPredicate::uge,
                                                   block, steps),
                                       past, block));
}

void BackwardKernel::emit() {
  initBarriers();
  Value index = ptx.blockX();
  if (tiles.deterministic)
    index = ptx.broadcast(ptx.load(
        ptx.at(shared, tiles.barriers() + 8 * BackwardTiles::numBarriers),
        ptx.i32()));
  // Blocks of keys, in parts of the steps.
  keyBlock = ptx.div(index, parts);
  firstKey = ptx.mul(keyBlock, BackwardTiles::keys);
  Value part = ptx.rem(index, parts);
  Value longest = ptx.div(ptx.add(ptx.add(allSteps, parts), -1), parts);
  firstStep = ptx.mul(part, longest);
  steps = ptx.min(longest, ptx.sub(allSteps, firstStep));
  ptx.ifThen(ptx.less(firstStep, allSteps), [&] { emitRoles(); });
}

void BackwardKernel::emitRoles() {
  rotation = tiles.deterministic
                 ? ptx.constant(0)
                 : ptx.rem(ptx.mul(keyBlock, tiles.rotation), steps);
  ptx.ifElse(
      ptx.equal(threads.warpgroup, 0),
      [&] {
        ptx.setMaxRegisters(24, false);
        ptx.ifThen(ptx.equal(threads.warp, 0),
                   [&] { ptx.ifThen(ptx.elect(), [&] { produce(); }); });
        if (!tiles.deterministic)
          return;
        Value half = ptx.add(threads.warp, -1);
        ptx.ifThen(
            ptx.compare(arith::CmpIPredicate::ult, half, ptx.constant(2)),
            [&] { ptx.ifThen(ptx.elect(), [&] { addInOrder(half); }); });
      },
      [&] {
        ptx.setMaxRegisters(240, true);
        consume();
      });
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void BackwardKernel::loadTileOf(const SharedTile &tile, Value to, Value map,
                                Value barrier, Value row) {
  for (int c = 0; c < tile.chunks(); ++c)
    ptx.loadTile(ptx.at(to, c * tile.chunkBytes()), map, barrier,
                 {ptx.constant(64 * c), row, head, batch});
}

void BackwardKernel::produce() {
  for (auto [barrier, map, tile] : {std::tuple{fullK, mapK, tiles.k()},
                                    std::tuple{fullV, mapV, tiles.v()}}) {
    ptx.expectBytes(barrier, tile.bytes());
    loadTileOf(tile, ptx.at(shared, tile.offset), map, barrier, firstKey);
  }
  SharedTile q = tiles.q(), dout = tiles.dout();
  int vectorBytes = tiles.queries * 4;
  Value headRow = ptx.mul(ptx.mul(headIndex, allSteps), tiles.queries);
  Value zero = ptx.constant(0);
  ptx.loop(
      zero, steps, ptx.constant(1), {zero, zero},
      [&](Value step, ArrayRef<Value> carried) -> Values {
        Ring ring{carried[0], carried[1]};
        Value row = ptx.mul(blockAt(step), tiles.queries);
        Value tileAt = ptx.mul(ring.stage, q.bytes());
        Value vectorAt = ptx.mul(ring.stage, tiles.vectorBytes());
        Value full = barrierAt(fullQ, ring.stage);
        ptx.wait(barrierAt(emptyQ, ring.stage), ptx.bitXor(ring.parity, 1));
        ptx.expectBytes(full, 2 * (q.bytes() + vectorBytes));
        auto load = [&](Value map, const SharedTile &tile, Value vector,
                        int64_t offset) {
          loadTileOf(tile, ptx.at(shared, ptx.add(tileAt, tile.offset)), map,
                     full, row);
          ptx.loadBulk(ptx.at(shared, ptx.add(vectorAt, offset)),
                       ptx.element(vector, ptx.add(headRow, row), ptx.f32()),
                       full, vectorBytes);
        };
        load(mapQ, q, lse, tiles.lse());
        load(mapDout, dout, delta, tiles.delta());
        Ring next = ring.next(ptx, BackwardTiles::stages);
        return {next.stage, next.parity};
      });
}

/// A helper warp's: adds one half of dQ, in the order of the blocks of keys.
void BackwardKernel::addInOrder(Value half) {
  Value full = barrierAt(fullStaging, half),
        empty = barrierAt(emptyStaging, half);
  int64_t bytes = 4 * tiles.stagingBytes();
  Value from = ptx.at(shared, ptx.add(ptx.mul(half, bytes), tiles.staging()));
  int blockValues = tiles.queries * tiles.head;
  Value headStep = ptx.add(ptx.mul(headIndex, allSteps), firstStep);
  Value to =
      ptx.element(dq, ptx.mul(ptx.toI64(headStep), blockValues), ptx.f32());
  to = ptx.element(to, ptx.mul(half, blockValues / 2), ptx.f32());
  // Behind the tickets of all heads.
  Value heads = ptx.mul(ptx.gridY(), ptx.gridZ());
  Value semaphores = ptx.element(counters, heads, ptx.i32());
  ptx.loop(ptx.constant(0), steps, ptx.constant(1), {},
           [&](Value step, ArrayRef<Value>) -> Values {
             ptx.wait(full, ptx.bitAnd(step, 1));
             Value semaphore = ptx.element(
                 semaphores, ptx.add(ptx.mul(ptx.add(headStep, step), 2), half),
                 ptx.i32());
             ptx.waitUntilEqual(semaphore, keyBlock);
             ptx.reduceAddBulk(
                 ptx.element(to, ptx.mul(step, blockValues), ptx.f32()), from,
                 bytes);
             ptx.commitStores();
             ptx.waitStores(0, /*readOnly=*/true);
             ptx.arrive(empty);
             ptx.waitStores(0, /*readOnly=*/false);
             ptx.releaseIncrement(semaphore);
             return {};
           });
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Function nvptx::makeBackwardKernel(MLIRContext *context, Location loc,
                                   const std::string &symbol,
                                   const BackwardTiles &tiles) {
  using Kind = rt::LaunchArgument::Kind;
  KernelShape shape;
  shape.name = symbol;
  shape.threads = BackwardTiles::threads;
  SmallVector<Kind> parameters(6, Kind::Map);
  parameters.append(6, Kind::Pointer);
  parameters.append(
      {Kind::Int32, Kind::Int32, Kind::Int32, Kind::Float32, Kind::Float32});
  KernelModule kernel = makeKernelModule(context, loc, shape, parameters);
  PtxBuilder ptx = bodyOf(kernel);
  BackwardKernel(ptx, kernel.function.getArguments(), tiles).emit();
  return finishKernel(std::move(kernel), ptx, tiles.sharedBytes());
}
