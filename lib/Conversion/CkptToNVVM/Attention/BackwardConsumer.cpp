//===- BackwardConsumer.cpp - attention backward: consumers ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "BackwardKernel.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Values BackwardKernel::scores(Descriptor a, const SharedTile &b, Value stage) {
  Descriptor right = b.kMajor(ptx.add(base, ptx.mul(stage, b.bytes() >> 4)));
  Values sum = ptx.undefs(tiles.scoreValues());
  for (int step = 0; step < tiles.head / 16; ++step)
    sum = ptx.wgmma(sum, a.plus(tiles.k().kMajorStep(step)),
                    right.plus(b.kMajorStep(step)), ptx.constant(step > 0),
                    tiles.type);
  ptx.wgmmaCommit();
  return sum;
}

/// sum += P^T B with P's words from k16 step `firstStep` on.
Values BackwardKernel::addTransposed(ArrayRef<Value> words, const SharedTile &b,
                                     Value stage, ArrayRef<Value> sum,
                                     Value accumulate, int firstStep) {
  Descriptor right = b.mnMajor(ptx.add(base, ptx.mul(stage, b.bytes() >> 4)));
  Values result(sum);
  for (int i = 0; i < int(words.size()) / 4; ++i)
    result = ptx.wgmma(result, words.slice(4 * i, 4),
                       right.plus(b.mnMajorStep(firstStep + i)),
                       firstStep + i ? ptx.constant(1) : accumulate, tiles.type,
                       /*transposeB=*/true);
  ptx.wgmmaCommit();
  return result;
}

Values BackwardKernel::dqOf(Value buffer) {
  SharedTile slope = tiles.slope();
  Value from = ptx.add(base, ptx.mul(buffer, slope.bytes() >> 4));
  if (tiles.head == 64) // This warpgroup's half of the queries.
    from = ptx.add(from, ptx.mul(consumer, slope.chunkBytes() / 2 >> 4));
  Descriptor right = slope.kMajor(from);
  Values sum = ptx.undefs(tiles.dqValues());
  for (int step = 0; step < BackwardTiles::keys / 16; ++step)
    sum = ptx.wgmma(sum, transposedK.plus(tiles.k().mnMajorStep(step)),
                    right.plus(slope.kMajorStep(step)), ptx.constant(step > 0),
                    tiles.type, /*transposeA=*/true);
  ptx.wgmmaCommit();
  return sum;
}

/// This thread's entries of a vector over the step's queries: two for each
/// group of 8.
Values BackwardKernel::columnVector(int64_t offset, Value stage) {
  Value lane = ptx.mul(ptx.bitAnd(threads.lane, 3), 8);
  Value from =
      ptx.at(shared, ptx.add(ptx.add(ptx.mul(stage, tiles.vectorBytes()), lane),
                             offset));
  Values entries;
  for (int group = 0; group < tiles.queries / 8; ++group)
    llvm::append_range(
        entries, ptx.elements(ptx.load(ptx.at(from, 32 * group),
                                       VectorType::get(2, ptx.f32()), 8)));
  return entries;
}

/// The entry that belongs to an accumulator.
static Value columnOf(ArrayRef<Value> entries, unsigned accumulator) {
  return entries[2 * (accumulator / 4) + accumulator % 2];
}

//===----------------------------------------------------------------------===//
// dS and dQ through shared memory
//===----------------------------------------------------------------------===//

/// Zeros dS of keys past the end: their P is 2^-lse, which may be infinite, and
/// infinity times their zeros of K would reach dQ. Their dK and dV are not
/// stored.
Values BackwardKernel::maskKeys(ArrayRef<Value> words) {
  return ptx.ifElseValues(
      masks,
      [&] {
        Values masked;
        for (auto [i, word] : llvm::enumerate(words))
          masked.push_back(ptx.both(word, maskOfRow[i % 2]));
        return masked;
      },
      [&] { return Values(words); });
}

void BackwardKernel::storeSlope(ArrayRef<Value> words, Value buffer) {
  Value to = ptx.at(slopeStore, ptx.mul(buffer, tiles.slope().bytes()));
  for (int step = 0; step < tiles.queries / 16; ++step)
    ptx.storeMatrix(ptx.at(to, 2048 * step), words.slice(4 * step, 4),
                    /*transposed=*/true);
}

void BackwardKernel::addDq(ArrayRef<Value> dqValues, Value pointer,
                           Value step) {
  if (tiles.deterministic) {
    ptx.wait(barrierAt(emptyStaging, consumer),
             ptx.bitXor(ptx.bitAnd(step, 1), 1));
  } else {
    ptx.ifThen(isLane0, [&] { ptx.waitStores(0, /*readOnly=*/true); });
    ptx.syncWarp();
  }
  for (unsigned i = 0; i < dqValues.size() / 4; ++i)
    ptx.store(ptx.vector(dqValues.slice(4 * i, 4)),
              ptx.at(stagingLane, 512 * i), 16);
  if (!tiles.deterministic)
    ptx.fenceAsyncProxy();
  ptx.syncWarp();
  ptx.ifThen(isLane0, [&] {
    if (tiles.deterministic) {
      ptx.arrive(barrierAt(fullStaging, consumer));
      return;
    }
    ptx.reduceAddBulk(pointer, stagingWarp, tiles.stagingBytes());
    ptx.commitStores();
  });
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

/// The parity of a pair of buffers at `step`.
static Value pairParity(PtxBuilder &ptx, Value step) {
  return ptx.bitAnd(ptx.shiftRight(step, 1), 1);
}

BackwardKernel::Outputs BackwardKernel::step(Value step, Ring ring,
                                             Value dqPointer,
                                             const Outputs &outputs,
                                             bool first) {
  Values dv = outputs.dv, dk = outputs.dk;
  int values = tiles.scoreValues();
  Value accumulate = ptx.constant(!first);
  Value buffer = ptx.bitAnd(step, 1), other = ptx.bitXor(buffer, 1);
  Value before = ptx.add(step, -1);

  ptx.wait(barrierAt(fullQ, ring.stage), ring.parity);
  ptx.wgmmaFence();
  Values s = scores(ownK, tiles.q(), ring.stage);
  Values dp = scores(ownV, tiles.dout(), ring.stage);
  s = ptx.wgmmaWait(1, s);
  Values lseOf = columnVector(tiles.lse(), ring.stage);
  auto power = [&](int i) {
    return ptx.ex2(ptx.fma(s[i], scale, columnOf(lseOf, i)));
  };
  Values p;
  int early = 8 * tiles.earlySteps;
  for (int i = 0; i < early; ++i)
    p.push_back(power(i));
  ptx.wgmmaFence();
  dv = addTransposed(packFragment(ptx, p, tiles.type), tiles.dout(), ring.stage,
                     dv, accumulate, 0);
  for (int i = early; i < values; ++i)
    p.push_back(power(i));
  // Tied to P too: the powers would sink below the wait otherwise.
  llvm::append_range(dp, p);
  dp = ptx.wgmmaWait(1, dp);
  p.assign(dp.begin() + values, dp.end());
  Values deltaOf = columnVector(tiles.delta(), ring.stage);
  Values slopes;
  for (int i = 0; i < values; ++i)
    slopes.push_back(ptx.fmul(p[i], ptx.fadd(dp[i], columnOf(deltaOf, i))));
  Values slopeWords = maskKeys(packFragment(ptx, slopes, tiles.type));
  Values late = packFragment(ptx, ArrayRef(p).drop_front(early), tiles.type);

  if (!first)
    ptx.wait(barrierAt(emptySlope, buffer),
             ptx.bitXor(pairParity(ptx, step), 1));
  storeSlope(slopeWords, buffer);
  ptx.fenceAsyncProxy();
  ptx.syncWarp();
  ptx.ifThen(isLane0, [&] { ptx.arrive(barrierAt(fullSlope, buffer)); });
  ptx.wgmmaFence();
  Values dqValues;
  if (!first) {
    ptx.wait(barrierAt(fullSlope, other), pairParity(ptx, before));
    dqValues = dqOf(other);
  }
  if (!late.empty())
    dv = addTransposed(late, tiles.dout(), ring.stage, dv, accumulate,
                       tiles.earlySteps);
  dk = addTransposed(slopeWords, tiles.q(), ring.stage, dk, accumulate, 0);
  if (!first) {
    dqValues = ptx.wgmmaWait(1 + !late.empty(), dqValues);
    ptx.ifThen(isLane0, [&] { ptx.arrive(barrierAt(emptySlope, other)); });
    addDq(dqValues, dqPointer, before);
  }
  unsigned half = dv.size();
  llvm::append_range(dv, dk);
  Values all = ptx.wgmmaWait(0, dv);
  ptx.ifThen(isLane0, [&] { ptx.arrive(barrierAt(emptyQ, ring.stage)); });
  return {Values(ArrayRef(all).take_front(half)),
          Values(ArrayRef(all).drop_front(half))};
}

void BackwardKernel::consume() {
  const SharedTile k = tiles.k(), v = tiles.v(), slope = tiles.slope();
  consumer = ptx.add(threads.warpgroup, -1);
  warp = ptx.bitAnd(threads.warp, 3);
  warpOfBoth = ptx.add(threads.warp, -4);
  isLane0 = ptx.equal(threads.lane, 0);
  base = descriptorBase(ptx, shared);
  // 64 of the keys, all of the head; and for dQ all keys, 64 of the head.
  Value own = ptx.add(base, ptx.mul(consumer, 512));
  ownK = k.kMajor(own);
  ownV = v.kMajor(own);
  transposedK = k.mnMajor(
      tiles.head == 64 ? base
                       : ptx.add(base, ptx.mul(consumer, k.chunkBytes() >> 4)));

  // Where a lane's rows of dS^T go: query lane % 8 + 8 (lane / 16), keys 8
  // (lane / 8 % 2) and on of the warp's 16.
  Value low = ptx.bitAnd(threads.lane, 7),
        high = ptx.shiftRight(threads.lane, 4),
        middle = ptx.bitAnd(ptx.shiftRight(threads.lane, 3), 1);
  Value row = ptx.mul(ptx.add(ptx.mul(high, 8), low), 128);
  Value piece = ptx.mul(ptx.bitXor(ptx.add(ptx.mul(warp, 2), middle), low), 16);
  slopeStore =
      ptx.at(shared, ptx.add(ptx.add(ptx.add(row, piece),
                                     ptx.mul(consumer, slope.chunkBytes())),
                             slope.offset));

  // Keys past the end, in the last block.
  masks = ptx.less(keys, ptx.add(firstKey, BackwardTiles::keys));
  Value key =
      ptx.add(ptx.add(firstKey, ptx.mul(consumer, 64)),
              ptx.add(ptx.mul(warp, 16), ptx.shiftRight(threads.lane, 2)));
  for (int i = 0; i < 2; ++i)
    maskOfRow[i] = ptx.select(ptx.less(ptx.add(key, 8 * i), keys),
                              ptx.constant(-1), ptx.constant(0));

  // dQ in global memory.
  int blockValues = tiles.queries * tiles.head;
  Value dqPointer = ptx.element(
      dq, ptx.mul(ptx.toI64(ptx.mul(headIndex, allSteps)), blockValues),
      ptx.f32());
  dqPointer =
      ptx.element(dqPointer,
                  ptx.add(ptx.mul(ptx.add(firstStep, rotation), blockValues),
                          ptx.mul(warpOfBoth, tiles.stagingBytes() / 4)),
                  ptx.f32());
  wrapStep = ptx.add(ptx.sub(steps, rotation), -1);
  wrapBytes =
      ptx.sub(ptx.constant(blockValues * 4), ptx.mul(steps, blockValues * 4));
  stagingWarp =
      ptx.at(shared, ptx.add(ptx.mul(warpOfBoth, tiles.stagingBytes()),
                             tiles.staging()));
  stagingLane = ptx.at(stagingWarp, ptx.mul(threads.lane, 16));

  Value zero = ptx.constant(0), one = ptx.constant(1);
  ptx.wait(fullK, zero);
  ptx.wait(fullV, zero);
  Outputs outputs{ptx.undefs(tiles.outputValues()),
                  ptx.undefs(tiles.outputValues())};
  outputs = step(zero, {zero, zero}, {}, outputs, /*first=*/true);
  Ring second = Ring{zero, zero}.next(ptx, BackwardTiles::stages);
  Values carried{second.stage, second.parity, dqPointer};
  llvm::append_range(carried, outputs.dv);
  llvm::append_range(carried, outputs.dk);
  unsigned count = tiles.outputValues();
  carried = ptx.loop(
      one, steps, one, carried, [&](Value index, ArrayRef<Value> in) -> Values {
        Ring ring{in[0], in[1]};
        Outputs now{Values(in.slice(3, count)),
                    Values(in.drop_front(3 + count))};
        now = step(index, ring, in[2], now, /*first=*/false);
        Ring next = ring.next(ptx, BackwardTiles::stages);
        Value wraps =
            ptx.compare(arith::CmpIPredicate::eq, ptx.add(index, -1), wrapStep);
        Value advance =
            ptx.select(wraps, wrapBytes, ptx.constant(blockValues * 4));
        Values out{next.stage, next.parity, ptx.at(in[2], advance)};
        llvm::append_range(out, now.dv);
        llvm::append_range(out, now.dk);
        return out;
      });
  Value last = ptx.add(steps, -1), buffer = ptx.bitAnd(last, 1);
  ptx.wait(barrierAt(fullSlope, buffer), pairParity(ptx, last));
  ptx.wgmmaFence();
  addDq(ptx.wgmmaWait(0, dqOf(buffer)), carried[2], last);
  ArrayRef<Value> out(carried);
  outputs = {Values(out.slice(3, count)), {}};
  for (Value value : out.drop_front(3 + count))
    outputs.dk.push_back(ptx.fmul(value, plainScale));
  finish(outputs);
}

void BackwardKernel::finish(const Outputs &outputs) {
  // K is read by both warpgroups until the last dQ.
  ptx.barrier(ptx.constant(1), 256);
  FragmentStore store(ptx, threads.lane, tiles.type);
  Value warpRows = ptx.add(ptx.mul(consumer, 8192), ptx.mul(warp, 2048));
  store.stage(outputs.dv, tiles.v(), warpRows);
  store.stage(outputs.dk, tiles.k(), warpRows);
  ptx.fenceAsyncProxy();
  ptx.syncWarp();
  ptx.ifThen(isLane0, [&] {
    Value row =
        ptx.add(ptx.add(firstKey, ptx.mul(consumer, 64)), ptx.mul(warp, 16));
    ptx.ifThen(ptx.isNotNull(pointerDv), [&] {
      store.send(mapDv, tiles.v(), warpRows, row, head, batch);
    });
    ptx.ifThen(ptx.isNotNull(pointerDk), [&] {
      store.send(mapDk, tiles.k(), warpRows, row, head, batch);
    });
    ptx.commitStores();
    ptx.waitStores(0, /*readOnly=*/true);
  });
}
