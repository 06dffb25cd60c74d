//===- ForwardConsumer.cpp - attention forward: consumers -----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ForwardKernel.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

/// Two warpgroups at a named barrier: whose turn it is, and the one before.
static constexpr int turnThreads = 256;

void ForwardKernel::release(Value empty, Value stage) {
  if (tiles.cluster == 1) {
    ptx.ifThen(releases, [&] { ptx.arrive(stageBarrier(empty, stage)); });
    return;
  }
  Value remote = empty == emptyK ? remoteEmptyK : remoteEmptyV;
  ptx.ifThen(releases, [&] { ptx.arriveRemote(stageBarrier(remote, stage)); });
}

void ForwardKernel::takeTurn() { ptx.barrier(myTurn, turnThreads); }
void ForwardKernel::passTurn() { ptx.arriveBarrier(nextTurn, turnThreads); }

Values ForwardKernel::scores(Value stage) {
  SharedTile q = tiles.q(), k = tiles.k();
  Descriptor a = q.kMajor(ptx.add(base, ptx.mul(consumer, 512)));
  Descriptor b = k.kMajor(ptx.add(base, ptx.mul(stage, k.bytes() >> 4)));
  Values s = ptx.undefs(tiles.keys / 2);
  for (int step = 0; step < tiles.head / 16; ++step)
    s = ptx.wgmma(s, a.plus(q.kMajorStep(step)), b.plus(k.kMajorStep(step)),
                  ptx.constant(step > 0), tiles.type);
  ptx.wgmmaCommit();
  return s;
}

Values ForwardKernel::addWeighted(Value stage, ArrayRef<Value> p,
                                  ArrayRef<Value> o, Value accumulate) {
  SharedTile v = tiles.v();
  Descriptor b = v.mnMajor(ptx.add(base, ptx.mul(stage, v.bytes() >> 4)));
  Values sum(o);
  for (int step = 0; step < tiles.keys / 16; ++step)
    sum = ptx.wgmma(sum, p.slice(4 * step, 4), b.plus(v.mnMajorStep(step)),
                    step ? ptx.constant(1) : accumulate, tiles.type,
                    /*transposeB=*/true);
  ptx.wgmmaCommit();
  return sum;
}

Values ForwardKernel::maskKeys(ArrayRef<Value> s) {
  Value first = ptx.add(ptx.mul(ptx.add(keyBlocks, -1), tiles.keys),
                        ptx.mul(ptx.bitAnd(threads.lane, 3), 2));
  Value left = ptx.sub(keys, first);
  Value none = ptx.real(-std::numeric_limits<float>::infinity());
  Values masked;
  for (auto [i, value] : llvm::enumerate(s))
    masked.push_back(ptx.select(
        ptx.less(ptx.constant(8 * (i / 4) + i % 2), left), value, none));
  return masked;
}

/// By four chains, then pairwise.
static Value reduce(ArrayRef<Value> values,
                    llvm::function_ref<Value(Value, Value)> combine) {
  Values chains(values.take_front(4));
  for (unsigned i = 4; i < values.size(); ++i)
    chains[i % 4] = combine(chains[i % 4], values[i]);
  return combine(combine(chains[0], chains[1]), combine(chains[2], chains[3]));
}

/// Gives the weights; `state` is brought up to date. `shrink`: by what the
/// rows' sums so far are to be multiplied; null in the first step.
Values ForwardKernel::softmax(ArrayRef<Value> s, Softmax &state,
                              Values *shrink) {
  Values weights(s);
  Softmax next;
  auto larger = [&](Value x, Value y) { return ptx.fmax(x, y); };
  for (int row = 0; row < 2; ++row) {
    SmallVector<unsigned> indices;
    Values scores;
    for (unsigned i = 0; i < s.size(); ++i)
      if (rowOf(i) == row) {
        indices.push_back(i);
        scores.push_back(s[i]);
      }
    Value maximum = reduce(scores, larger);
    maximum = ptx.fmax(maximum, ptx.shuffleXor(maximum, 1));
    maximum = ptx.fmax(maximum, ptx.shuffleXor(maximum, 2));
    if (shrink)
      maximum = ptx.fmax(maximum, state.maximum[row]);
    Value factor = ptx.select(
        ptx.fgreater(ptx.fabs(ptx.fmulAlone(maximum, scale)), hugeExponent),
        powerScale, scale);
    Value negated = ptx.fneg(ptx.fmulAlone(maximum, factor));
    Values rowWeights;
    for (unsigned i : indices) {
      weights[i] = ptx.ex2(ptx.fma(s[i], factor, negated));
      rowWeights.push_back(weights[i]);
    }
    Value sum =
        reduce(rowWeights, [&](Value x, Value y) { return ptx.fadd(x, y); });
    if (shrink) {
      // Rounded as the weights so far were.
      Value before = ptx.fmulAlone(state.maximum[row], factor);
      shrink->push_back(ptx.ex2(ptx.fadd(before, negated)));
      sum = ptx.fma(state.sum[row], shrink->back(), sum);
    }
    next.maximum.push_back(maximum);
    next.sum.push_back(sum);
  }
  state = next;
  return weights;
}

/// `ring`: of k; `last`: of v, one step behind. Gives P and O.
Values ForwardKernel::step(Ring ring, Ring last, Value accumulate,
                           Softmax &state, ArrayRef<Value> p,
                           ArrayRef<Value> o) {
  unsigned outputs = o.size();
  ptx.wait(stageBarrier(fullK, ring.stage), ring.parity);
  takeTurn();
  ptx.wgmmaFence();
  Values s = scores(ring.stage);
  ptx.wait(stageBarrier(fullV, last.stage), last.parity);
  ptx.wgmmaFence();
  Values sum = addWeighted(last.stage, p, o, accumulate);
  passTurn();
  s = ptx.wgmmaWait(1, s);
  release(emptyK, ring.stage);
  Values shrink;
  Values weights = softmax(s, state, &shrink);
  // Tied to the weights too: they would sink below the wait otherwise.
  llvm::append_range(sum, weights);
  Values done = ptx.wgmmaWait(0, sum);
  release(emptyV, last.stage);
  Values results =
      packFragment(ptx, ArrayRef(done).drop_front(outputs), tiles.type);
  for (unsigned i = 0; i < outputs; ++i)
    results.push_back(ptx.fmul(done[i], shrink[rowOf(i)]));
  return results;
}

void ForwardKernel::consume() {
  consumer = ptx.add(threads.warpgroup, -1);
  warp = ptx.bitAnd(threads.warp, 3);
  thread = ptx.bitAnd(threads.thread, 127);
  base = descriptorBase(ptx, shared);
  if (tiles.cluster > 1) {
    releases = ptx.less(thread, ptx.constant(2));
    remoteEmptyK = ptx.mapToRank(emptyK, thread);
    remoteEmptyV = ptx.mapToRank(emptyV, thread);
  } else {
    releases = ptx.equal(thread, 0);
  }
  myTurn = ptx.add(consumer, 1);
  Value isLast = ptx.equal(consumer, tiles.consumers - 1);
  nextTurn = ptx.select(isLast, ptx.constant(1), ptx.add(consumer, 2));
  ptx.ifThen(isLast, [&] { ptx.arriveBarrier(ptx.constant(1), turnThreads); });
  hugeExponent = ptx.real(0x1p28);
  Value zero = ptx.constant(0), one = ptx.constant(1);
  ptx.wait(fullQ, zero);

  ptx.wait(fullK, zero);
  takeTurn();
  ptx.wgmmaFence();
  Values s = scores(zero);
  passTurn();
  s = ptx.wgmmaWait(0, s);
  release(emptyK, zero);
  Softmax state;
  Values weights = softmax(maskKeys(s), state, nullptr);

  // Carried: rings of k and v, whether there is an O yet, the softmax's state,
  // P, O.
  Ring second = Ring{zero, zero}.next(ptx, ForwardTiles::stages);
  Values carried{second.stage, second.parity, zero, zero, zero};
  llvm::append_range(carried, state.maximum);
  llvm::append_range(carried, state.sum);
  llvm::append_range(carried, packFragment(ptx, weights, tiles.type));
  llvm::append_range(carried, ptx.undefs(tiles.head / 2));
  unsigned words = tiles.keys / 4;
  carried = ptx.loop(
      one, keyBlocks, one, carried, [&](Value, ArrayRef<Value> in) -> Values {
        Ring ring{in[0], in[1]}, last{in[2], in[3]};
        Softmax now{Values(in.slice(5, 2)), Values(in.slice(7, 2))};
        Values results = step(ring, last, in[4], now, in.slice(9, words),
                              in.drop_front(9 + words));
        Ring next = ring.next(ptx, ForwardTiles::stages);
        Values out{next.stage, next.parity, ring.stage, ring.parity, one};
        llvm::append_range(out, now.maximum);
        llvm::append_range(out, now.sum);
        llvm::append_range(out, results);
        return out;
      });
  ArrayRef<Value> out(carried);
  state = {Values(out.slice(5, 2)), Values(out.slice(7, 2))};
  ptx.wait(stageBarrier(fullV, out[2]), out[3]);
  takeTurn();
  ptx.wgmmaFence();
  Values o = addWeighted(out[2], out.slice(9, words), out.drop_front(9 + words),
                         out[4]);
  // All but the last: leaves the barriers as they were.
  ptx.ifThen(ptx.compare(arith::CmpIPredicate::ne, consumer,
                         ptx.constant(tiles.consumers - 1)),
             [&] { passTurn(); });
  finish(ptx.wgmmaWait(0, o), state);
}

/// Normalizes and stores O and the logarithms of the sums.
void ForwardKernel::finish(ArrayRef<Value> o, const Softmax &state) {
  Value warpQuery =
      ptx.add(ptx.add(firstQuery, ptx.mul(consumer, 64)), ptx.mul(warp, 16));
  Values inverse;
  for (int half = 0; half < 2; ++half) {
    Value sum = state.sum[half];
    sum = ptx.fadd(sum, ptx.shuffleXor(sum, 1));
    sum = ptx.fadd(sum, ptx.shuffleXor(sum, 2));
    inverse.push_back(ptx.rcp(sum));
    Value lse =
        ptx.fadd(ptx.fmulAlone(state.maximum[half], scale), ptx.lg2(sum));
    Value row =
        ptx.add(ptx.add(warpQuery, ptx.shiftRight(threads.lane, 2)), 8 * half);
    Value writes = ptx.both(ptx.equal(ptx.bitAnd(threads.lane, 3), 0),
                            ptx.less(row, queries));
    writes = ptx.both(writes, ptx.isNotNull(pointerLse));
    ptx.ifThen(writes, [&] {
      Value all = ptx.add(ptx.mul(batch, ptx.gridY()), head);
      Value at = ptx.add(ptx.mul(all, queries), row);
      ptx.store(ptx.fmul(lse, ptx.real(M_LN2)),
                ptx.element(pointerLse, at, ptx.f32()));
    });
  }
  Values scaled;
  for (auto [i, value] : llvm::enumerate(o))
    scaled.push_back(ptx.fmul(value, inverse[rowOf(i)]));
  FragmentStore store(ptx, threads.lane, tiles.type);
  Value warpRows = ptx.add(ptx.mul(consumer, 8192), ptx.mul(warp, 2048));
  store.stage(scaled, tiles.q(), warpRows);
  ptx.fenceAsyncProxy();
  ptx.syncWarp();
  Value sends = ptx.both(ptx.equal(threads.lane, 0), ptx.isNotNull(pointerO));
  ptx.ifThen(sends, [&] {
    store.send(mapO, tiles.q(), warpRows, warpQuery, head, batch);
    ptx.commitStores();
    ptx.waitStores(0, /*readOnly=*/true);
  });
}
