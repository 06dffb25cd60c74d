//===- BackwardRows.cpp - before and after the attention backward ---------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Two kernels at the speed of memory: 16 bytes per thread and access, several
// of them under way at a time.
//
//===----------------------------------------------------------------------===//

#include "../KernelModule.h"
#include "Backward.h"

#include <cmath>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

static constexpr int threads = 256;
/// Rows that a thread of the kernel before works on.
static constexpr int rowsOfThread = 4;

int nvptx::backwardPrepareRows(const BackwardTiles &tiles) {
  return rowsOfThread * threads / (tiles.head / 8);
}

//===----------------------------------------------------------------------===//
// Before
//===----------------------------------------------------------------------===//

/// This lane's share of the dot product of two rows: 8 elements.
static Value dotOf8(PtxBuilder &ptx, Value x, Value y, Half type) {
  auto vector = VectorType::get(4, ptx.i32());
  Values xs = ptx.elements(ptx.load(x, vector, 16));
  Values ys = ptx.elements(ptx.load(y, vector, 16));
  Value sum;
  for (auto [xWord, yWord] : llvm::zip(xs, ys)) {
    auto [xLow, xHigh] = ptx.unpack(xWord, type);
    auto [yLow, yHigh] = ptx.unpack(yWord, type);
    sum = sum ? ptx.fma(xLow, yLow, sum) : ptx.fmul(xLow, yLow);
    sum = ptx.fma(xHigh, yHigh, sum);
  }
  return sum;
}

static void emitPrepare(PtxBuilder &ptx, ValueRange parameters,
                        const BackwardTiles &tiles) {
  Value o = parameters[0], dout = parameters[1];
  ValueRange oStrides = parameters.slice(2, 3),
             doutStrides = parameters.slice(5, 3);
  Value lse = parameters[8], lseOut = parameters[9], deltaOut = parameters[10],
        dq = parameters[11], counters = parameters[12],
        queries = parameters[13];
  // A row for each group of lanes, 16 bytes of it for each lane.
  int lanes = tiles.head / 8;
  Value thread = ptx.threadX(), head = ptx.blockY(), batch = ptx.blockZ();
  Value headIndex = ptx.add(ptx.mul(batch, ptx.gridY()), head);
  Value lane = ptx.bitAnd(thread, lanes - 1);
  Value firstRow = ptx.add(ptx.mul(ptx.blockX(), backwardPrepareRows(tiles)),
                           ptx.div(thread, lanes));
  Value steps = ptx.ceilDiv(queries, tiles.queries);
  Value padded = ptx.mul(steps, tiles.queries);

  auto rowOfHead = [&](Value base, ValueRange strides) {
    Value at = ptx.add(ptx.mul(ptx.toI64(batch), strides[0]),
                       ptx.mul(ptx.toI64(head), strides[2]));
    return ptx.at(ptx.at(base, at), ptx.mul(lane, 16));
  };
  Value oHead = rowOfHead(o, oStrides), doutHead = rowOfHead(dout, doutStrides);
  Values rows, sums, oldLse;
  for (int i = 0; i < rowsOfThread; ++i) {
    rows.push_back(ptx.add(firstRow, i * threads / lanes));
    // Loads do not wait for a test; past the end they repeat the last row.
    Value row = ptx.min(rows.back(), ptx.add(queries, -1));
    Value wide = ptx.toI64(row);
    sums.push_back(dotOf8(ptx, ptx.at(oHead, ptx.mul(wide, oStrides[1])),
                          ptx.at(doutHead, ptx.mul(wide, doutStrides[1])),
                          tiles.type));
    oldLse.push_back(ptx.load(
        ptx.element(lse, ptx.add(ptx.mul(headIndex, queries), row), ptx.f32()),
        ptx.f32()));
  }
  Value zero = ptx.real(0);
  Value zeros = ptx.vector({zero, zero, zero, zero});
  // Elements of dQ in front of this head.
  Value dqHead = ptx.element(
      dq, ptx.mul(ptx.toI64(ptx.mul(headIndex, padded)), tiles.head),
      ptx.f32());
  for (int i = 0; i < rowsOfThread; ++i) {
    Value sum = sums[i];
    for (int mask = lanes / 2; mask; mask /= 2)
      sum = ptx.fadd(sum, ptx.shuffleXor(sum, mask));
    ptx.ifThen(ptx.less(rows[i], padded), [&] {
      Value to = ptx.at(
          dqHead, ptx.add(ptx.mul(rows[i], tiles.head * 4), ptx.mul(lane, 16)));
      ptx.store(zeros, to, 16);
      ptx.store(zeros, ptx.at(to, lanes * 16), 16);
      ptx.ifThen(ptx.equal(lane, 0), [&] {
        Value inside = ptx.less(rows[i], queries);
        Value at = ptx.add(ptx.mul(headIndex, padded), rows[i]);
        Value negated = ptx.fmul(oldLse[i], ptx.real(-M_LOG2E));
        ptx.store(ptx.select(inside, negated, zero),
                  ptx.element(lseOut, at, ptx.f32()));
        ptx.store(ptx.select(inside, ptx.fneg(sum), zero),
                  ptx.element(deltaOut, at, ptx.f32()));
      });
    });
  }
  if (!tiles.deterministic)
    return;
  // The tickets of all heads, then two semaphores per head and step: fewer than
  // there are threads.
  Value none = ptx.constant(0),
        index = ptx.add(ptx.mul(ptx.blockX(), threads), thread);
  Value heads = ptx.mul(ptx.gridY(), ptx.gridZ());
  Value semaphores = ptx.mul(steps, 2);
  ptx.ifThen(ptx.equal(index, 0), [&] {
    ptx.store(none, ptx.element(counters, headIndex, ptx.i32()));
  });
  ptx.ifThen(ptx.less(index, semaphores), [&] {
    Value at = ptx.add(ptx.add(heads, ptx.mul(headIndex, semaphores)), index);
    ptx.store(none, ptx.element(counters, at, ptx.i32()));
  });
}

Function nvptx::makeBackwardPrepareKernel(MLIRContext *context, Location loc,
                                          const std::string &symbol,
                                          const BackwardTiles &tiles) {
  using Kind = rt::LaunchArgument::Kind;
  KernelShape shape;
  shape.name = symbol;
  shape.threads = threads;
  shape.oneBlock = false;
  SmallVector<Kind> parameters(2, Kind::Pointer);
  parameters.append(6, Kind::Int64);
  parameters.append(5, Kind::Pointer);
  parameters.push_back(Kind::Int32);
  KernelModule kernel = makeKernelModule(context, loc, shape, parameters);
  PtxBuilder ptx = bodyOf(kernel);
  emitPrepare(ptx, kernel.function.getArguments(), tiles);
  return finishKernel(std::move(kernel), ptx);
}

//===----------------------------------------------------------------------===//
// After
//===----------------------------------------------------------------------===//

/// Fragments of dQ^T as they lie in memory are transposed on their way into a
/// tile of shared memory, which TMA stores.
static void emitFinish(PtxBuilder &ptx, ValueRange parameters,
                       const BackwardTiles &tiles) {
  Value map = parameters[0], dq = parameters[2], scale = parameters[3];
  SharedTile tile{0, tiles.queries, tiles.head};
  Value thread = ptx.threadX(), lane = ptx.bitAnd(thread, 31),
        warp = ptx.shiftRight(thread, 5), block = ptx.blockX();
  Value headIndex = ptx.add(ptx.mul(ptx.blockZ(), ptx.gridY()), ptx.blockY());
  Value step = ptx.add(ptx.mul(headIndex, ptx.gridX()), block);
  Value from = ptx.element(
      dq, ptx.mul(ptx.toI64(step), tiles.queries * tiles.head), ptx.f32());
  from = ptx.at(
      from, ptx.add(ptx.mul(warp, tiles.stagingBytes()), ptx.mul(lane, 16)));
  Values values;
  auto vector = VectorType::get(4, ptx.f32());
  for (int i = 0; i < tiles.dqValues() / 4; ++i)
    llvm::append_range(
        values, ptx.elements(ptx.load(ptx.at(from, 512 * i), vector, 16)));
  for (Value &value : values)
    value = ptx.fmul(value, scale);
  Values words = packFragment(ptx, values, tiles.type);

  // As dS^T in the kernel before: see there.
  Value low = ptx.bitAnd(lane, 7), high = ptx.shiftRight(lane, 4),
        middle = ptx.bitAnd(ptx.shiftRight(lane, 3), 1);
  Value row = ptx.mul(ptx.add(ptx.mul(high, 8), low), 128);
  Value piece = ptx.mul(
      ptx.bitXor(ptx.add(ptx.mul(ptx.bitAnd(warp, 3), 2), middle), low), 16);
  int64_t halfBytes = tiles.head == 64 ? tile.bytes() / 2 : tile.chunkBytes();
  Value shared = ptx.sharedMemory();
  Value to =
      ptx.at(shared, ptx.add(ptx.add(row, piece),
                             ptx.mul(ptx.shiftRight(warp, 2), halfBytes)));
  for (unsigned i = 0; i < words.size() / 4; ++i)
    ptx.storeMatrix(ptx.at(to, 2048 * i), ArrayRef(words).slice(4 * i, 4),
                    /*transposed=*/true);
  ptx.fenceAsyncProxy();
  ptx.syncBlock();
  ptx.ifThen(ptx.equal(thread, 0), [&] {
    for (int c = 0; c < tile.chunks(); ++c)
      ptx.storeTile(map, ptx.at(shared, c * tile.chunkBytes()),
                    {ptx.constant(64 * c), ptx.mul(block, tiles.queries),
                     ptx.blockY(), ptx.blockZ()});
    ptx.commitStores();
    ptx.waitStores(0, /*readOnly=*/true);
  });
}

Function nvptx::makeBackwardFinishKernel(MLIRContext *context, Location loc,
                                         const std::string &symbol,
                                         const BackwardTiles &tiles) {
  using Kind = rt::LaunchArgument::Kind;
  KernelShape shape;
  shape.name = symbol;
  shape.threads = threads;
  shape.oneBlock = false;
  KernelModule kernel = makeKernelModule(
      context, loc, shape,
      {Kind::Map, Kind::Pointer, Kind::Pointer, Kind::Float32});
  PtxBuilder ptx = bodyOf(kernel);
  ValueRange parameters = kernel.function.getArguments();
  ptx.ifThen(ptx.isNotNull(parameters[1]),
             [&] { emitFinish(ptx, parameters, tiles); });
  return finishKernel(std::move(kernel), ptx, tiles.queries * tiles.head * 2);
}
