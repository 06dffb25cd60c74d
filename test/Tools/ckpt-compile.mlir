// Text, bytecode and standard input give the same artifact; the controls only
// set its defaults; a plan needs no kernels.
//
// REQUIRES: ckpt-compile, ckpt-run
// RUN: ckpt-compile %s -o %t.ckpt
// RUN: ckpt-compile - -o %t-stdin.ckpt < %s
// RUN: cmp %t.ckpt %t-stdin.ckpt
// RUN: ckpt-opt %s --emit-bytecode -o %t.mlirbc
// RUN: ckpt-compile %t.mlirbc -o %t-bytecode.ckpt
// RUN: cmp %t.ckpt %t-bytecode.ckpt
// RUN: ckpt-run %t.ckpt --dim n=5 | FileCheck %s --check-prefix=NONE
// A default, and a run that asks otherwise.
// RUN: ckpt-compile %s --backend=torch --interval=2 -o %t-torch.ckpt
// RUN: ckpt-run %t-torch.ckpt --dim n=5 | FileCheck %s --check-prefix=TORCH
// RUN: ckpt-run %t-torch.ckpt --dim n=5 --backend=unsloth --offload-attention | FileCheck %s --check-prefix=UNSLOTH
// RUN: ckpt-compile %s --plan-only -o %t-plan.ckpt
// RUN: ckpt-run %t-plan.ckpt --dim n=5 --plan-only | FileCheck %s --check-prefix=NONE
// Nothing but the artifacts is left behind.
// RUN: not ls %t.ckpt.tmp*
// RUN: ckpt-compile --help | FileCheck %s --check-prefix=HELP
// RUN: ckpt-compile --version | FileCheck %s --check-prefix=VERSION

// NONE: policy none
// TORCH: policy torch
// UNSLOTH: policy unsloth
// HELP: --backend
// HELP: --segment-stride
// HELP: Examples:
// VERSION: ckpt-compile {{[0-9]+\.[0-9]+\.[0-9]+}}

ckpt.size @n
!x = !ckpt.tensor<1 x n x 6 x f32>
!q = !ckpt.tensor<1 x n x 1 x 6 x f32>
ckpt.block @b states(%x : !x differentiable) params(%w "{i}.w" trainable : !ckpt.tensor<6 x 6 x f32>) {
  %y = ckpt.attention {
    %h = ckpt.linear %x, %w : !x, !ckpt.tensor<6 x 6 x f32>
    %q = ckpt.reshape %h {shape = ["1", "n", "1", "6"]} : !x
    %o = ckpt.sdpa %q, %q, %q : !q, !q, !q
    %r = ckpt.reshape %o {shape = ["1", "n", "6"]} : !q
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @b, 3 }
