//===- StepForward.h - the forward of a step --------------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_STEPFORWARD_H
#define CKPT_LIB_TRANSFORMS_STEPFORWARD_H

#include "Ports.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace ckpt {

/// Makes the forward region of a step from a block and says what has to cross
/// to the backward.
class StepForward {
public:
  StepForward(BlockOp block, StepOp step)
      : ports(block), block(block), step(step) {}

  /// Fills the region; emits a diagnostic on failure.
  mlir::LogicalResult build();

  /// One flag per operand: a gradient of it is needed.
  llvm::SmallVector<bool> neededOf(mlir::Operation *op) const;
  /// Ops that have a backward, in program order.
  llvm::ArrayRef<DifferentiableOpInterface> getDifferentiated() const {
    return differentiated;
  }
  /// The value that is saved in place of `value`: what lies under its views.
  static mlir::Value baseOf(mlir::Value value);
  /// The name under which a base is saved; empty for inputs and parameters,
  /// which the backward has as arguments.
  llvm::StringRef nameOf(mlir::Value base) const;

private:
  void flatten();
  void eraseDead();
  void findActive();
  mlir::LogicalResult findDifferentiated();
  void addStatistics();
  void collectSaved();
  void keepResultsApart();
  void insertSaves();

  /// What policies may ask about a value.
  struct Facts {
    bool scopeResult = false, attentionOperand = false, ffnOperand = false;
  };
  mlir::Block *body() { return &step.getForward().front(); }
  mlir::Operation *rebuildWithStatistics(mlir::Operation *op);

  Ports ports;
  BlockOp block;
  StepOp step;
  llvm::DenseMap<mlir::Value, Facts> facts;
  /// Bases of captured values.
  llvm::SetVector<mlir::Value> captured;
  /// Values that depend on something whose gradient is needed.
  llvm::DenseSet<mlir::Value> active;
  llvm::SmallVector<DifferentiableOpInterface> differentiated;
  /// States first, then op results in program order.
  llvm::MapVector<mlir::Value, std::string> saved;
};

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_STEPFORWARD_H
