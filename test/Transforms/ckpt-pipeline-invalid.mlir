// Controls and modules that the pipeline refuses, with one message each.
//
// RUN: not ckpt-opt %s --ckpt-pipeline="backend=slothful" 2>&1 | FileCheck %s --check-prefix=BACKEND
// RUN: not ckpt-opt %s --ckpt-pipeline="backend=torch interval=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ckpt-opt %s --ckpt-pipeline="backend=torch-ffn" 2>&1 | FileCheck %s --check-prefix=FFN
// RUN: not ckpt-opt %s --ckpt-pipeline="intervals=2" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not ckpt-opt %s --ckpt-differentiate --ckpt-pipeline 2>&1 | FileCheck %s --check-prefix=STEP

// BACKEND: error: --backend: {{.*}}found slothful
// ZERO: error: --interval: expected a positive integer, found '0'
// FFN: error: {{.*}}torch-ffn{{.*}}@plain
// OPTION: no such option intervals
// STEP: error: 'ckpt.step' op expected sizes, blocks and stacks only at this level

ckpt.size @n
ckpt.block @plain states(%x : !ckpt.tensor<n x 8 x f32> differentiable) {
  %y = ckpt.silu %x : !ckpt.tensor<n x 8 x f32>
  ckpt.return %y : !ckpt.tensor<n x 8 x f32>
}
ckpt.stack @model { ckpt.repeat @plain, 2 }
