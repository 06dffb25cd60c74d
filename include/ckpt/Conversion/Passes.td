//===- Passes.td - from kernels to code --------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_CONVERSION_PASSES
#define CKPT_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def CkptToHostPass : Pass<"ckpt-to-host", "::mlir::ModuleOp"> {
  let summary = "Make each kernel a function for the host";
  let description = [{
    Replaces each `ckpt.kernel @k` by `llvm.func @k(args, sizes, workspace)`:
    `args` holds the addresses of what is read, then of what is written (null:
    left out), `sizes` the values of the module's `ckpt.size` ops in their
    order, `workspace` as many bytes as the kernel's `workspace` says.

    Requires: selected steps (`ckpt-select`).

    Guarantees: bodies of the llvm, scf, arith, math and vector dialects, 8
    lanes wide; fused multiply-adds stand where they are meant, so that the
    bits do not depend on the machine.

    Never: keeps anything else. Sizes, blocks, steps, variants and the table
    are dropped, since launches would have no kernel to name: what they say is
    read before (`buildProblem`).

    ```mlir
    ckpt.size @n
    ckpt.kernel @twice row_wise(%x : !ckpt.tensor<n x f32>)
        workspace "0" flops "n" traffic "8*n" {
      %y = ckpt.scale %x {factor = 2.0} : !ckpt.tensor<n x f32>
      ckpt.yield %y : !ckpt.tensor<n x f32>
    }
    ```

    becomes `llvm.func @twice` with a loop over n in steps of 8 and one over the
    rest, left out when the address of y is null
    (test/Conversion/CkptToHost/ckpt-to-host.mlir).
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def CkptToNVVMPass : Pass<"ckpt-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Make each kernel functions for an NVIDIA GPU";
  let description = [{
    Replaces each `ckpt.kernel @k` by the entry points `@k$0`, `@k$1`, ... of its
    code for sm_90a. `ckpt.launches` says how each is launched: in which of the
    ways to run the kernel, with which grid and which arguments, as formulas in
    the named sizes and `$sms`, the device's number of multiprocessors.

    Requires: selected steps (`ckpt-select`).

    Guarantees: bodies of the llvm, nvvm, scf, arith, math and vector dialects.

    Never: keeps anything else, like `ckpt-to-host`; the artifact's code is made
    of the same functions, one module each.

    Before and after: test/Conversion/CkptToNVVM/row-wise.mlir.
  }];
  let options = [
    Option<"deterministic", "deterministic", "bool", "false",
           "The same bits from run to run">,
  ];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // CKPT_CONVERSION_PASSES
