//===- StepBackward.h - the backward of a step ------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_STEPBACKWARD_H
#define CKPT_LIB_TRANSFORMS_STEPBACKWARD_H

#include "StepForward.h"

#include "mlir/IR/Builders.h"

namespace ckpt {

/// Makes the backward region of a step whose forward is built.
class StepBackward {
public:
  StepBackward(BlockOp block, StepOp step, const StepForward &forward);

  /// Fills the region; emits a diagnostic on failure.
  mlir::LogicalResult build();

private:
  /// The gradient of a slice of a value.
  struct SliceGradient {
    int64_t dim;
    rt::Size offset, extent;
    mlir::Value gradient;
    mlir::Location loc;
  };
  /// What has come in for one forward value.
  struct Gradient {
    mlir::Value sum;
    llvm::SmallVector<SliceGradient> slices;
    /// Uses whose contribution is still to come, and all of them.
    unsigned pending = 0, uses = 0;
  };

  void addArguments();
  void countUses();
  mlir::LogicalResult differentiate(DifferentiableOpInterface op);
  mlir::LogicalResult finish();

  /// The backward's value of a forward value that an op reads.
  mlir::Value read(mlir::Value value);
  /// Adds what one use contributes; `only`: nothing else will come.
  void contribute(mlir::Value target, mlir::Value contribution, bool only,
                  mlir::Location loc);
  /// One contribution less to wait for; after the last, the gradient stands.
  void useDone(mlir::Value target, mlir::Location loc);
  /// The slices' gradients as one value, or one each where they do not tile.
  llvm::SmallVector<mlir::Value>
  joinSlices(TensorType type, llvm::ArrayRef<SliceGradient> slices);
  /// `value` summed down and cast to `type`.
  mlir::Value fit(mlir::Value value, TensorType type, mlir::Location loc);

  Ports ports;
  BlockOp block;
  StepOp step;
  const StepForward &forward;
  mlir::OpBuilder builder;
  /// Scope of the op that is being differentiated; null outside of one.
  mlir::Attribute scope;
  mlir::Block *body = nullptr;
  /// Of inputs and parameters, by port; null for states.
  llvm::SmallVector<mlir::Value> portArguments;
  llvm::DenseMap<mlir::Value, Gradient> gradients;
  llvm::DenseMap<mlir::Value, mlir::Value> loaded;
};

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_STEPBACKWARD_H
