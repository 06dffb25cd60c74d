//===- Pipeline.cpp - the ring between producer and consumers -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Pipeline.h"

using namespace ckpt::nvptx;
using namespace ckpt::nvptx::gemm;

Pipeline::Pipeline(PtxBuilder &ptx, const TileShape &shape)
    : ptx(ptx), shape(shape), shared(ptx.sharedMemory()) {
  full = ptx.at(shared, shape.fullBarriers());
  empty = ptx.at(shared, shape.emptyBarriers());
}

void Pipeline::init() {
  for (int stage = 0; stage < shape.stages; ++stage) {
    ptx.barrierInit(ptx.at(full, 8 * stage), 1);
    ptx.barrierInit(ptx.at(empty, 8 * stage), shape.consumers * shape.cluster);
  }
  ptx.fenceBarrierInit();
}

Value Pipeline::fullBarrier(Value stage) {
  return ptx.at(full, ptx.mul(stage, 8));
}
Value Pipeline::emptyBarrier(Value stage) {
  return ptx.at(empty, ptx.mul(stage, 8));
}
Value Pipeline::stageBase(Value stage) {
  return ptx.at(shared, ptx.mul(stage, shape.stageBytes()));
}

void Pipeline::waitEmpty(const Ring &ring) {
  // A fresh barrier is past its phase of parity 1: the first round passes.
  ptx.wait(emptyBarrier(ring.stage), ptx.bitXor(ring.parity, 1));
}

void Pipeline::acquire(const Ring &ring, int64_t bytes) {
  waitEmpty(ring);
  ptx.expectBytes(fullBarrier(ring.stage), bytes);
}

void Pipeline::enterConsumer(Value thread) {
  if (shape.cluster == 1) {
    reports = ptx.equal(thread, 0);
    return;
  }
  reports = ptx.less(thread, ptx.constant(shape.cluster));
  remoteEmpty = ptx.mapToRank(empty, thread);
}

void Pipeline::waitFull(const Ring &ring) {
  ptx.wait(fullBarrier(ring.stage), ring.parity);
}

void Pipeline::release(Value stage) {
  ptx.ifThen(reports, [&] {
    if (shape.cluster == 1)
      ptx.arrive(emptyBarrier(stage));
    else
      ptx.arriveRemote(ptx.at(remoteEmpty, ptx.mul(stage, 8)));
  });
}
