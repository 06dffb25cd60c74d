//===- AttentionBackward.cpp - launches of an sdpa_dx ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Backward.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

static SdpaDxOp findSdpaDx(KernelOp kernel) {
  auto ops = kernel.getBody().front().getOps<SdpaDxOp>();
  return ops.empty() ? SdpaDxOp() : *ops.begin();
}

static BackwardTiles tilesOf(int64_t head) {
  BackwardTiles tiles;
  tiles.head = head;
  if (head == 64) {
    tiles.queries = 128;
    tiles.earlySteps = 4;
  }
  return tiles;
}

/// dQ in f32, two vectors over the queries, and if deterministic the counters.
rt::Size nvptx::attentionBackwardWorkspace(KernelOp kernel) {
  SdpaDxOp op = findSdpaDx(kernel);
  if (!op)
    return 0;
  auto q = cast<ckpt::TensorType>(op.getQ().getType());
  BackwardTiles tiles = tilesOf(q.getDim(3).asConstant().value_or(0));
  rt::Size heads = q.getDim(2);
  // Not less than whole steps, which a polynomial cannot say.
  rt::Size rows = q.getDim(1) + rt::Size(tiles.queries - 1);
  // Two semaphores for every step and a ticket.
  rt::Size perRow = heads * 8;
  if (std::optional<int64_t> count = heads.asConstant())
    perRow = (*count * 8 + tiles.queries - 1) / tiles.queries;
  return q.getDim(0) *
         (heads * rows * (4 * tiles.head + 8) + perRow * rows + heads * 4);
}

namespace {

/// Where the operands and results of an sdpa_dx lie.
struct Places {
  StridedView q, k, v, o, dout, lse, dq, dk, dv;

  LogicalResult find(const AttentionProblem &problem, SdpaDxOp op) {
    auto take = [](StridedView &to, FailureOr<StridedView> view) {
      if (succeeded(view))
        to = *view;
      return view;
    };
    return success(
        succeeded(take(q, problem.operand(op.getQ(), "q"))) &&
        succeeded(take(k, problem.operand(op.getK(), "k"))) &&
        succeeded(take(v, problem.operand(op.getV(), "v"))) &&
        succeeded(take(o, problem.operand(op.getO(), "o"))) &&
        succeeded(take(dout, problem.operand(op.getDout(), "dout"))) &&
        succeeded(take(lse, problem.rows(op.getLse(), false, "lse"))) &&
        succeeded(take(dq, problem.result(op.getDq(), "dq"))) &&
        succeeded(take(dk, problem.result(op.getDk(), "dk"))) &&
        succeeded(take(dv, problem.result(op.getDv(), "dv"))));
  }
};

} // namespace

/// With few blocks of keys, as many parts of the queries as fill the device
/// some times over, of 16 steps at least.
static rt::Formula partsOf(const rt::Formula &blocks,
                           const rt::Formula &steps) {
  rt::Formula sms = rt::Size::symbol(rt::multiprocessors);
  return rt::Formula::min(rt::Formula::ceilDiv(sms * 8, blocks),
                          rt::Formula::ceilDiv(steps, 16));
}

LogicalResult nvptx::generateAttentionBackward(KernelOp kernel,
                                               const Options &options,
                                               Code &code) {
  SdpaDxOp op = findSdpaDx(kernel);
  if (!op)
    return kernel.emitOpError(
        "expected an sdpa_dx in an attention_backward, found none");
  FailureOr<AttentionProblem> problem =
      AttentionProblem::of(kernel, op, op.getQ(), op.getK(), op.getScale());
  Places at;
  if (failed(problem) || failed(at.find(*problem, op)))
    return failure();
  BackwardTiles tiles = tilesOf(problem->head);
  tiles.type = problem->type;
  tiles.deterministic = options.deterministic;

  rt::Formula steps = rt::Formula::ceilDiv(problem->queries, tiles.queries);
  rt::Formula heads = problem->batch * problem->heads;
  rt::Formula rows = heads * steps * tiles.queries;
  rt::LaunchArgument dq = workspaceArgument(0),
                     lse = workspaceArgument(rows * (4 * tiles.head)),
                     delta = workspaceArgument(rows * (4 * tiles.head + 4)),
                     counters = int64Argument(0);
  if (tiles.deterministic)
    counters = workspaceArgument(rows * (4 * tiles.head + 8));

  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  StringRef suffix = tiles.deterministic ? "_deterministic" : "";
  auto symbol = [&](const char *base) {
    return problem->symbol(base) + suffix.str();
  };
  rt::Alternative alternative;
  alternative.name = (Twine(tiles.queries) + "x" + Twine(tiles.keys)).str();
  auto launch = [&](Function function, const rt::Formula &blocks,
                    std::vector<rt::LaunchArgument> arguments) {
    rt::GpuLaunch launch;
    launch.function = code.functions.size();
    launch.gridX = blocks;
    launch.gridY = problem->heads;
    launch.gridZ = problem->batch;
    launch.arguments = std::move(arguments);
    code.functions.push_back(std::move(function));
    alternative.launches.push_back(std::move(launch));
  };

  std::vector<rt::LaunchArgument> prepare{pointerArgument(at.o, 2),
                                          pointerArgument(at.dout, 2)};
  for (const StridedView &view : {at.o, at.dout})
    for (int dim = 0; dim < 3; ++dim)
      prepare.push_back(int64Argument(view.strides[dim] * 2));
  llvm::append_range(prepare, std::initializer_list<rt::LaunchArgument>{
                                  pointerArgument(at.lse, 4), lse, delta, dq,
                                  counters, int32Argument(problem->queries)});
  launch(
      makeBackwardPrepareKernel(context, loc,
                                symbol("attention_backward_prepare"), tiles),
      rt::Formula::ceilDiv(steps * tiles.queries, backwardPrepareRows(tiles)),
      prepare);

  rt::Formula keyBlocks = rt::Formula::ceilDiv(problem->keys, tiles.keys);
  rt::Formula parts = 1;
  if (at.dk.argument < 0 && at.dv.argument < 0)
    parts = partsOf(keyBlocks * heads, steps);
  // Of a result that is not yielded, a map nobody stores through.
  auto resultMap = [&](const StridedView &view, int boxRows) {
    return problem->map(view.argument < 0 ? at.k : view, boxRows);
  };
  launch(makeBackwardKernel(context, loc, symbol("attention_backward"), tiles),
         keyBlocks * parts,
         {problem->map(at.q, tiles.queries), problem->map(at.k, tiles.keys),
          problem->map(at.v, tiles.keys), problem->map(at.dout, tiles.queries),
          resultMap(at.dk, 16), resultMap(at.dv, 16), pointerArgument(at.dk, 2),
          pointerArgument(at.dv, 2), lse, delta, dq, counters,
          int32Argument(problem->queries), int32Argument(problem->keys),
          int32Argument(parts), float32Argument(problem->log2Scale()),
          float32Argument(problem->scale)});

  if (at.dq.argument >= 0)
    launch(
        makeBackwardFinishKernel(
            context, loc, problem->symbol("attention_backward_finish"), tiles),
        steps,
        {problem->map(at.dq, tiles.queries), pointerArgument(at.dq, 2), dq,
         float32Argument(problem->scale)});
  code.alternatives.push_back(std::move(alternative));
  return success();
}
