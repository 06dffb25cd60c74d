//===- Ports.h - the arguments of a block by role ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_TRANSFORMS_PORTS_H
#define CKPT_LIB_TRANSFORMS_PORTS_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

namespace ckpt {

/// Reads the arguments of a block: states, inputs, then parameters. A step's
/// forward has the same ones.
class Ports {
public:
  explicit Ports(BlockOp block) : block(block) {}

  unsigned size() const { return block.getBody().getNumArguments(); }
  unsigned numStates() const { return block.getNumStates(); }
  unsigned numInputs() const { return block.getNumInputs(); }
  unsigned firstInput() const { return numStates(); }
  unsigned firstParam() const { return numStates() + numInputs(); }

  bool isState(unsigned port) const { return port < firstInput(); }
  bool isInput(unsigned port) const {
    return !isState(port) && port < firstParam();
  }
  bool isParam(unsigned port) const { return port >= firstParam(); }

  llvm::StringRef name(unsigned port) const {
    return llvm::cast<mlir::StringAttr>(block.getPortNames()[port]).getValue();
  }
  TensorType type(unsigned port) const {
    return llvm::cast<TensorType>(block.getBody().getArgument(port).getType());
  }
  bool needsGradient(unsigned port) const {
    return block.getNeedsGradient()[port];
  }
  /// Its gradient is an f32 sum over the blocks.
  bool isSummed(unsigned port) const {
    return needsGradient(port) &&
           (isInput(port) || (isParam(port) && !name(port).contains("{i}")));
  }
  /// The block makes its gradient alone.
  bool isOwnParam(unsigned port) const {
    return needsGradient(port) && isParam(port) && name(port).contains("{i}");
  }

private:
  mutable BlockOp block;
};

} // namespace ckpt

#endif // CKPT_LIB_TRANSFORMS_PORTS_H
