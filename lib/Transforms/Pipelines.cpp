//===- Pipelines.cpp - whole levels at once -------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Transforms/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace ckpt;

namespace {
/// The target, as `ckpt-select`, and the controls, as `ckpt-plan` has them.
struct ControlOptions : public PassPipelineOptions<ControlOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("host or nvptx"),
                             llvm::cl::init("host")};
  Option<std::string> backend{
      *this, "backend",
      llvm::cl::desc("none, torch, torch-ffn, unsloth or unsloth-ffn"),
      llvm::cl::init("none")};
  Option<std::string> interval{*this, "interval",
                               llvm::cl::desc("Blocks checkpointed together")};
  Option<std::string> segmentStride{
      *this, "segment-stride",
      llvm::cl::desc("From each multiple of this, `interval` blocks are "
                     "checkpointed, the others not")};
  Option<bool> attentionOnce{
      *this, "attention-once",
      llvm::cl::desc("Keep or offload O and LSE, so that attention runs once")};
  Option<bool> offloadAttention{
      *this, "offload-attention",
      llvm::cl::desc("Move to the host what attention produces and would be "
                     "kept")};
  Option<std::string> pinMemoryMaxBuckets{
      *this, "pin-memory-max-buckets",
      llvm::cl::desc("Distinct sizes of pinned host buffers; 0 pins nothing")};
  Option<bool> menu{*this, "menu",
                    llvm::cl::desc("Variants for all legal controls")};
  Option<std::string> blocks{
      *this, "blocks", llvm::cl::desc("Only the first N blocks of a stack")};
};
} // namespace

void ckpt::buildSelectPipeline(OpPassManager &pm,
                               const SelectPassOptions &options) {
  // Level 1: nothing but blocks and stacks.
  pm.addPass(createVerifyBlocksPass());
  // Level 2: a forward and a backward per block kind, and what may cross.
  pm.addPass(createDifferentiatePass());
  pm.addPass(createVerifyStepsPass());
  // Level 3: ops become launches of kernels; planning sees what will run.
  pm.addPass(createSelectPass(options));
  pm.addPass(createVerifySelectedPass());
}

void ckpt::buildPlanPipeline(OpPassManager &pm,
                             const PlanPassOptions &options) {
  // Level 4: a fate per saved value and block, a variant per distinct demand.
  pm.addPass(createPlanPass(options));
  // What each variant runs forward, again and backward.
  pm.addPass(createRematerializePass());
  // Copies of what goes to the host.
  pm.addPass(createOffloadInsertionPass());
  // The order of the table.
  pm.addPass(createSegmentSchedulePass());
  pm.addPass(createVerifyPlannedPass());
}

void ckpt::registerPipelines() {
  PassPipelineRegistration<ControlOptions>(
      "ckpt-pipeline", "From block IR to a planned step",
      [](OpPassManager &pm, const ControlOptions &options) {
        SelectPassOptions select;
        select.target = options.target;
        PlanPassOptions plan;
        plan.backend = options.backend;
        plan.interval = options.interval;
        plan.segmentStride = options.segmentStride;
        plan.attentionOnce = options.attentionOnce;
        plan.offloadAttention = options.offloadAttention;
        plan.pinMemoryMaxBuckets = options.pinMemoryMaxBuckets;
        plan.menu = options.menu;
        plan.blocks = options.blocks;
        buildSelectPipeline(pm, select);
        buildPlanPipeline(pm, plan);
      });
}
