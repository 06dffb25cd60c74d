//===- Passes.td - from block IR to a planned step ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// In the order in which the pipeline runs them. Each pass ends in IR that
// verifies; `ckpt-verify-<level>` after a phase says what may no longer exist.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TRANSFORMS_PASSES
#define CKPT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Level 1 to 2
//===----------------------------------------------------------------------===//

def DifferentiatePass : Pass<"ckpt-differentiate", "::mlir::ModuleOp"> {
  let summary = "Make the forward and the backward of every block kind";
  let description = [{
    Adds one `ckpt.step @<block>_step` per `ckpt.block`, which stays as it is.

    Requires: block IR (`ckpt-verify-blocks`).

    Guarantees: the forward is the block with its boundary regions flattened,
    ops that no result needs left out. The backward makes the gradient of every
    state, of every differentiable input and of every trainable parameter, and
    nothing that these do not need. `ckpt.save` stands for every state, every
    value that a boundary region captures and every value that the backward
    reads, each once; a view (slice, reshape, transpose) is never saved, what
    lies under it is. A saved value is not a result of the step. Gradients
    that meet are added in the order of the backward; those of a differentiable
    input and of a trainable parameter that all blocks share are added to an
    f32 sum by `ckpt.accumulate`.

    Never: decides what is kept, or changes a block.

    ```mlir
    ckpt.block @b states(%x : !ckpt.tensor<batch x 8 x f32>)
        params(%w "b.{i}.w" frozen : !ckpt.tensor<8 x 8 x f32>) {
      %h = ckpt.linear %x, %w : !ckpt.tensor<batch x 8 x f32>,
                                !ckpt.tensor<8 x 8 x f32>
      %y = ckpt.silu %h : !ckpt.tensor<batch x 8 x f32>
      ckpt.return %y : !ckpt.tensor<batch x 8 x f32>
    }
    ```

    becomes a forward that saves `x` (a state) and `linear0` (what `silu_dx`
    reads), and a backward

    ```mlir
    %h = ckpt.load "linear0" : !ckpt.tensor<batch x 8 x f32>
    %0 = ckpt.silu_dx %dy, %h : ...
    %1 = ckpt.linear_dx %0, %w : ...
    ```

    (test/Transforms/ckpt-differentiate.mlir).
  }];
  let dependentDialects = ["::ckpt::CkptDialect"];
}

//===----------------------------------------------------------------------===//
// Level 2 to 3
//===----------------------------------------------------------------------===//

def SelectPass : Pass<"ckpt-select", "::mlir::ModuleOp"> {
  let summary = "Fuse the ops of every step into kernels and launch them";
  let description = [{
    Replaces the tensor ops of each `ckpt.step` by `ckpt.launch`es of
    `ckpt.kernel`s, whose bodies are the fused ops. Equal groups share a kernel.

    Requires: step IR (`ckpt-verify-steps`).

    Guarantees: regions of a step hold loads, then launches, then saves. Every
    launch has an id, `f0`, `f1`, ... in the forward and `b0`, `b1`, ... in the
    backward, and every kernel its class, workspace and costs. Which ops share a
    kernel depends on their structure alone: not on the target, the sizes or a
    fate. The `target` (`host` or `nvptx`) says how much workspace a kernel needs. Views and widening casts are in the kernels of their readers; what no
    reader can take as strides is copied. A factor on the operand of a
    contraction is applied to its result. Ops of different boundary regions stay
    apart in the forward, so that a region can run again by itself. A running
    sum is updated in place. One kernel per type of gradient sum rounds it,
    marked by `gradient_casts`.

    Never: changes what is saved.

    ```mlir
    %0 = ckpt.linear_dx %dy, %w : ...
    %h = ckpt.load "linear0" : ...
    %1 = ckpt.gelu_dx %0, %h {approximate = tanh} : ...
    ```

    becomes a `ckpt.kernel @linear_dx_gelu_dx gemm` and

    ```mlir
    %h = ckpt.load "linear0" : ...
    %1 = ckpt.launch @linear_dx_gelu_dx id "b0"(%dy, %w, %h)
         {in_place = array<i64: 2, 0>} : ...
    ```

    (test/Transforms/ckpt-select.mlir).
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"", "host or nvptx">,
  ];
  let dependentDialects = ["::ckpt::CkptDialect"];
}

//===----------------------------------------------------------------------===//
// Level 3 to 4
//===----------------------------------------------------------------------===//

def PlanPass : Pass<"ckpt-plan", "::mlir::ModuleOp"> {
  let summary = "Decide what becomes of every saved value of every block";
  let description = [{
    Asks the policies of `runtime/lib/Plan` for a fate per saved value and
    block, and writes the answer: one `ckpt.variant` per distinct demand, its
    three regions still empty, and the `ckpt.table` of blocks.

    Requires: a selected step per block kind (`ckpt-verify-selected`), a
    `ckpt.stack`, and no `ckpt.table` yet.

    Guarantees: every block of the table names a variant of its own kind.
    Controls that cannot act are errors. Decisions are remarks of the category
    `ckpt-plan`.

    Never: looks at sizes or memory, or changes a step.

    Before and after: test/Transforms/ckpt-plan.mlir.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"none\"",
           "none, torch, torch-ffn, unsloth or unsloth-ffn">,
    Option<"interval", "interval", "std::string", "\"\"",
           "Blocks that are checkpointed together">,
    Option<"segmentStride", "segment-stride", "std::string", "\"\"",
           "From each multiple of this, `interval` blocks are checkpointed, "
           "the others not">,
    Option<"attentionOnce", "attention-once", "bool", "false",
           "Keep or offload O and LSE, so that attention runs once">,
    Option<"offloadAttention", "offload-attention", "bool", "false",
           "Move to the host what attention produces and would be kept">,
    Option<"pinMemoryMaxBuckets", "pin-memory-max-buckets", "std::string",
           "\"\"", "Distinct sizes of pinned host buffers; 0 pins nothing">,
    Option<"menu", "menu", "bool", "false",
           "Emit a variant for every demand that legal controls can make, not "
           "only for those of the table">,
    Option<"blocks", "blocks", "std::string", "\"\"",
           "Only the first N blocks of each stack">,
  ];
  let dependentDialects = ["::ckpt::CkptDialect"];
}

def RematerializePass : Pass<"ckpt-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Fill the forward, the replay and the backward of every variant";
  let description = [{
    Requires: variants with empty regions, as `ckpt-plan` writes them.

    Guarantees: the forward is the step's, with outputs that nobody reads left
    out. The replay holds, in the step's order, what must run again to make the
    values that the backward reads and the results that are asked for, starting
    from what is kept, offloaded or the caller's. The backward is the step's
    without the gradients that nobody asks for. Values cross between regions by
    `ckpt.save` and `ckpt.load`; a state that the previous block's replay makes
    is an argument of the replay.

    Never: copies (`ckpt-offload-insertion` does), or decides a fate.

    Before and after: test/Transforms/ckpt-rematerialize.mlir.
  }];
  let dependentDialects = ["::ckpt::CkptDialect"];
}

def OffloadInsertionPass : Pass<"ckpt-offload-insertion", "::mlir::ModuleOp"> {
  let summary = "Copy offloaded values to the host and back";
  let description = [{
    Requires: filled variants (`ckpt-rematerialize`).

    Guarantees: an offloaded value that is read has one `ckpt.copy_out` in the
    forward, right after what makes it (a state: at the start), and one
    `ckpt.copy_in` before its first reader after the forward; later readers in
    the same region use that copy, in the backward after a replay they load it.

    Never: says when a copy runs; the schedule does.

    Before and after: test/Transforms/ckpt-offload-insertion.mlir.
  }];
  let dependentDialects = ["::ckpt::CkptDialect"];
}

def SegmentSchedulePass : Pass<"ckpt-segment-schedule", "::mlir::ModuleOp"> {
  let summary = "Order the forwards, replays and backwards of the table";
  let description = [{
    Writes `order` on the `ckpt.table`: forwards in order; then, from the last
    segment to the first, the replays of its blocks in order and their backwards
    in reverse. The order is `ckpt::rt::scheduleSegments`'s.

    Requires: a table whose variants are filled.

    Guarantees: every block of the table has one forward and one backward, and
    one replay exactly if its segment is checkpointed.

    Never: changes a variant.

    Before and after: test/Transforms/ckpt-segment-schedule.mlir.
  }];
  let dependentDialects = ["::ckpt::CkptDialect"];
}

def PrintSchedulePass : Pass<"ckpt-print-schedule", "::mlir::ModuleOp"> {
  let summary = "Print the schedule of a planned step for given sizes";
  let description = [{
    Writes to standard output what `ckpt-run --print-schedule` prints: every
    launch and copy, its stream, what it waits for, and where in the arena its
    results lie. The schedule is `ckpt::rt::instantiate`'s and is verified
    before it is printed. Which blocks there are and what becomes of their
    values is as `ckpt-plan` wrote it.

    Requires: a planned step (`ckpt-verify-planned`).

    Never: changes the module.

    Example: test/Transforms/ckpt-print-schedule.mlir.
  }];
  let options = [
    ListOption<"sizes", "sizes", "std::string",
               "name=value of every named size without a default">,
    Option<"profile", "profile", "std::string", "\"host\"",
           "The machine that copies are timed for: host or h200">,
    Option<"pinMemoryMaxBuckets", "pin-memory-max-buckets", "std::string",
           "\"\"", "Distinct sizes of pinned host buffers; 0 pins nothing">,
  ];
}

//===----------------------------------------------------------------------===//
// What may no longer exist
//===----------------------------------------------------------------------===//

def VerifyBlocksPass : Pass<"ckpt-verify-blocks", "::mlir::ModuleOp"> {
  let summary = "Check that a module is block IR: blocks and stacks, no steps";
}

def VerifyStepsPass : Pass<"ckpt-verify-steps", "::mlir::ModuleOp"> {
  let summary = "Check that every block has a step of tensor ops";
}

def VerifySelectedPass : Pass<"ckpt-verify-selected", "::mlir::ModuleOp"> {
  let summary = "Check that steps hold launches, saves and loads only";
}

def VerifyPlannedPass : Pass<"ckpt-verify-planned", "::mlir::ModuleOp"> {
  let summary = "Check that variants are filled, what they load is there and "
                "the table is ordered";
}

#endif // CKPT_TRANSFORMS_PASSES
