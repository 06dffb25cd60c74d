//===- AttentionForward.cpp - launches of an sdpa -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Forward.h"

#include <cmath>

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

static SdpaOp findSdpa(KernelOp kernel) {
  auto ops = kernel.getBody().front().getOps<SdpaOp>();
  return ops.empty() ? SdpaOp() : *ops.begin();
}

static SmallVector<ForwardTiles> tilesOf(const AttentionProblem &problem) {
  ForwardTiles tiles;
  tiles.head = problem.head;
  tiles.type = problem.type;
  if (tiles.head == 64) {
    tiles.keys = 128;
    tiles.consumers = 3;
    tiles.cluster = 1;
    return {tiles};
  }
  ForwardTiles single = tiles;
  single.cluster = 1;
  return {tiles, single};
}

/// Steps that the device does one after the other, and about four more for the
/// start and end of each block, in 1/32. A cluster saves some 3 % of them, but
/// works on pairs of blocks.
static rt::Formula costOf(const AttentionProblem &problem,
                          const ForwardTiles &tiles,
                          const rt::Formula &blocks) {
  rt::Formula sms = rt::Size::symbol(rt::multiprocessors);
  rt::Formula rounds =
      rt::Formula::ceilDiv(blocks * problem.heads * problem.batch, sms);
  rt::Formula steps = rt::Formula::ceilDiv(problem.keys, tiles.keys) + 4;
  return rounds * steps * (tiles.cluster > 1 ? 31 : 32);
}

rt::Size nvptx::attentionForwardWorkspace(KernelOp) { return 0; }

LogicalResult nvptx::generateAttentionForward(KernelOp kernel, const Options &,
                                              Code &code) {
  SdpaOp op = findSdpa(kernel);
  if (!op)
    return kernel.emitOpError(
        "expected an sdpa in an attention_forward, found none");
  FailureOr<AttentionProblem> problem =
      AttentionProblem::of(kernel, op, op.getQ(), op.getK(), op.getScale());
  if (failed(problem))
    return failure();
  FailureOr<StridedView> q, k, v, o;
  if (failed(q = problem->operand(op.getQ(), "q")) ||
      failed(k = problem->operand(op.getK(), "k")) ||
      failed(v = problem->operand(op.getV(), "v")) ||
      failed(o = problem->result(op.getO(), "o")))
    return failure();
  StridedView lse;
  if (op.getLse()) {
    FailureOr<StridedView> rows = problem->rows(op.getLse(), true, "lse");
    if (failed(rows))
      return failure();
    lse = *rows;
  }

  double scale = problem->log2Scale();
  for (const ForwardTiles &tiles : tilesOf(*problem)) {
    rt::GpuLaunch launch;
    launch.function = code.functions.size();
    launch.gridX = rt::Formula::ceilDiv(problem->queries,
                                        tiles.queries() * tiles.cluster) *
                   tiles.cluster;
    launch.gridY = problem->heads;
    launch.gridZ = problem->batch;
    launch.arguments = {
        problem->map(*q, tiles.queries()), problem->map(*k, tiles.keys),
        problem->map(*v, tiles.keys),
        // A place nobody writes to stands in for o.
        problem->map(o->argument < 0 ? *q : *o, 16), pointerArgument(*o, 2),
        pointerArgument(lse, 4), int32Argument(problem->queries),
        int32Argument(problem->keys), float32Argument(scale),
        float32Argument(std::exp2(std::floor(std::log2(scale))))};
    std::string symbol = problem->symbol("attention_forward");
    rt::Alternative alternative;
    alternative.name = (Twine(tiles.queries()) + "x" + Twine(tiles.keys)).str();
    if (tiles.cluster > 1) {
      symbol += "_cluster2";
      alternative.name += " cluster 2";
    }
    alternative.cost = costOf(*problem, tiles, launch.gridX);
    alternative.launches.push_back(std::move(launch));
    code.functions.push_back(
        makeForwardKernel(kernel.getContext(), kernel.getLoc(), symbol, tiles));
    code.alternatives.push_back(std::move(alternative));
  }
  return success();
}
