// Stand-ins while the generators are being written: delete a function here when
// the real one lands. Not to be left in the tree.

#include "Generators.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

#define CKPT_PENDING(NAME)                                                     \
  __attribute__((weak)) LogicalResult ckpt::nvptx::generate##NAME(             \
      KernelOp kernel, const Options &, Code &) {                              \
    return kernel.emitError("no GPU kernels of this class yet: " #NAME);       \
  }
CKPT_PENDING(RowWise)

__attribute__((weak)) rt::Size ckpt::nvptx::rowWiseWorkspace(KernelOp) {
  return 0;
}
