// Bad input ends in one message, exit code 2 and no file.
//
// REQUIRES: ckpt-compile
// RUN: rm -f %t.ckpt
// RUN: not ckpt-compile %s -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not ckpt-compile %S/missing.mlir -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not ckpt-compile %examples/dit-3072.mlir --target=cuda -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not ckpt-compile %examples/dit-3072.mlir --target=nvptx --chip=sm_80 -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not ckpt-compile %examples/dit-3072.mlir --deterministic -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: env CKPT_PTXAS=%t.none not ckpt-compile %examples/dit-3072.mlir --target=nvptx --cubin -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: not ckpt-compile %examples/dit-3072.mlir --backend=slothful -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=BACKEND
// RUN: not ckpt-compile %examples/dit-3072.mlir --backend=torch --interval=0 -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ckpt-compile %examples/dit-3072.mlir --backend=torch --interval=two -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not ckpt-compile %examples/dit-3072.mlir --interval=2 -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ckpt-compile %examples/dit-3072.mlir 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not ckpt-compile %examples/dit-3072.mlir --plan-only -o %t.d/no/such.ckpt 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: not ckpt-compile %examples/dit-3072.mlir --plan-only -o %S 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// RUN: cp %examples/twins/minilm.mlir %t.mlir
// RUN: ln -sf %t.mlir %t.link.mlir
// RUN: not ckpt-compile %t.mlir --plan-only -o %t.link.mlir 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: cmp %t.mlir %examples/twins/minilm.mlir
// RUN: head -c 900 %examples/dit-3072.mlir | not ckpt-compile - -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: ckpt-opt %examples/dit-3072.mlir --emit-bytecode -o %t.mlirbc
// RUN: head -c 500 %t.mlirbc | not ckpt-compile - -o %t.ckpt 2>&1 | FileCheck %s --check-prefix=BYTECODE
// The exit code itself.
// RUN: sh -c 'ckpt-compile %s -o %t.ckpt 2>/dev/null; test $? -eq 2'
// RUN: not ls %t.ckpt

// OP: ckpt-compile-invalid.mlir:[[#@LINE+19]]:{{[0-9]+}}: error: use of value '%x' expects different type than prior uses
// FILE: error: {{.*}}missing.mlir: expected a file that can be read
// TARGET: error: --target: expected host or nvptx, found 'cuda'
// CHIP: error: --chip: expected sm_90a, found 'sm_80'
// HOST: error: --deterministic: the host target has no such choice; add --target=nvptx
// PTXAS: error: CKPT_PTXAS: expected a program, found '{{.*}}.none'
// BACKEND: error: --backend: {{.*}}slothful
// ZERO: error: --interval: expected at least 1, found 0
// TEXT: error: --interval: expected an integer, found 'two'
// NONE: error: --interval: {{.*}}--backend=none
// OUTPUT: -o is required
// PLACE: error: -o: expected a file that can be written, found {{.*}}such.ckpt (No such file or directory)
// DIRECTORY: error: -o: expected a file that can be written, found {{.*}} (Is a directory)
// INPUT: error: -o: expected a file of its own, found {{.*}}.mlir also given as FILE; give one of them another path
// CUT: <stdin>:{{[0-9]+}}:{{[0-9]+}}: error:
// BYTECODE: error:

ckpt.size @n
ckpt.block @b states(%x : !ckpt.tensor<n x f32> differentiable) {
  %y = ckpt.silu %x : i32
  ckpt.return %y : !ckpt.tensor<n x f32>
}
