// `!ckpt.tensor`: extents come out in canonical form, so that equal types are
// the same type.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK-LABEL: ckpt.kernel @extents
// CHECK-SAME: (%{{.*}}: !ckpt.tensor<f32>, %{{.*}}: !ckpt.tensor<3072 x bf16>
// CHECK-SAME: %{{.*}}: !ckpt.tensor<batch x image + text x 3072 x bf16>
// CHECK-SAME: %{{.*}}: !ckpt.tensor<2*a*b + 4 x f32>
// CHECK-SAME: %{{.*}}: !ckpt.tensor<image - 4 x f32>
// CHECK-SAME: %{{.*}}: !ckpt.tensor<f64 x i8 x index x bf16>
// CHECK-SAME: %{{.*}}: !ckpt.tensor<8 x f16>
ckpt.kernel @extents row_wise(%0: !ckpt.tensor<f32>, %1: !ckpt.tensor<3072 x bf16>,
    %2: !ckpt.tensor<batch x text + image x 3*1024 x bf16>,
    %3: !ckpt.tensor<b*a + 5 + b*a - 1 x f32>,
    %4: !ckpt.tensor<-4 + image x f32>,
    %5: !ckpt.tensor<f64 x i8 x index x bf16>,
    %6: !ckpt.tensor<8 x f16>) workspace "0" flops "0" traffic "0" {
  // The type of the yield is written otherwise than that of the argument.
  // CHECK: ckpt.yield %{{.*}} : !ckpt.tensor<2*a*b + 4 x f32>
  ckpt.yield %3 : !ckpt.tensor<4 + a*2*b x f32>
}
