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
// consumers (head 64, 128 keys): 32, 64, 32.
//
// The exponent of a weight is x = s scale - m scale, one fma with m scale
// rounded: off by the same up to 2^3 for all keys of a row, which cancels.
// Above 2^28 it would overflow. There, neighbours of the maximum are at least
// 16 away, and any power of two for a scale, whose product with m is exact,
// says so too.
//
//===----------------------------------------------------------------------===//

#include "Forward.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

namespace {

/// What is known of a thread's two rows (`rowOf`).
struct Softmax {
  Values maximum, sum;
};

class ForwardKernel {
public:
  ForwardKernel(PtxBuilder &ptx, ValueRange parameters,
                const ForwardTiles &tiles);
  void emit();

private:
  void initBarriers();
  Value stageBarrier(Value first, Value stage) {
    return ptx.at(first, ptx.mul(stage, 8));
  }

  // Producer.
  void produce();
  void loadKeys(const SharedTile &tile, Value map, Value full, Value empty,
                Ring ring, Value row);

  // Consumers.
  void consume();
  void release(Value empty, Value stage);
  void takeTurn();
  void passTurn();
  Values scores(Value stage);
  Values addWeighted(Value stage, ArrayRef<Value> p, ArrayRef<Value> o,
                     Value first);
  Values maskKeys(ArrayRef<Value> s);
  Values softmax(ArrayRef<Value> s, Softmax &state, Values *shrink);
  Values step(Ring ring, Ring last, Value accumulate, Softmax &state,
              ArrayRef<Value> p, ArrayRef<Value> o);
  void finish(ArrayRef<Value> o, const Softmax &state);

  PtxBuilder &ptx;
  const ForwardTiles tiles;
  Value mapQ, mapK, mapV, mapO, pointerO, pointerLse, queries, keys, scale,
      powerScale;
  Threads threads;
  Value shared, head, batch, firstQuery, keyBlocks;
  Value fullQ, fullK, emptyK, fullV, emptyV, rank;

  // Of a consumer.
  Value consumer, warp, thread, base, remoteEmptyK, remoteEmptyV, releases;
  Value myTurn, nextTurn, hugeExponent;
};

} // namespace

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

/// A warpgroup's named barrier and that of the next one.
static constexpr int turnThreads = 256;

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
    ptx.syncCluster();
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
    ptx.syncCluster();
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
  // Each block of the pair loads half of it for both: a chunk, or half the
  // rows.
  Value column = ptx.constant(0);
  if (tile.chunks() == 2)
    column = ptx.mul(rank, 64);
  else
    row = ptx.add(row, ptx.mul(rank, tile.rows / 2));
  ptx.loadTileMulticast(ptx.at(to, ptx.mul(rank, tile.bytes() / 2)), map,
                        barrier, {column, row, head, batch}, 3);
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

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
  finishKernel(ptx);
  Function function;
  function.module = std::move(kernel.module);
  function.launch.symbol = symbol;
  function.launch.threads = tiles.threads();
  function.launch.cluster = tiles.cluster;
  function.launch.sharedBytes = tiles.sharedBytes();
  return function;
}
