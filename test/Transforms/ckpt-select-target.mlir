// The same kernels for every target; only the workspace differs. A sum over
// named rows takes 4*3072 bytes on the host, and on the GPU 128 parts of that
// and 12 bytes for alignment.
//
// RUN: ckpt-opt %s --ckpt-differentiate --ckpt-select | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: ckpt-opt %s --ckpt-differentiate --ckpt-select=target=nvptx | FileCheck %s --check-prefixes=CHECK,NVPTX

ckpt.size @n
!x = !ckpt.tensor<n x 3072 x f32>
!w = !ckpt.tensor<3072 x f32>
ckpt.block @b states(%x : !x differentiable) params(%w "b.{i}.w" trainable : !w) {
  %y = ckpt.mul %x, %w : !x, !w
  ckpt.return %y : !x
}
// CHECK-LABEL: ckpt.kernel @mul_reduce_sum row_wise
// HOST-SAME:     workspace "12288"
// NVPTX-SAME:    workspace "1572876"
