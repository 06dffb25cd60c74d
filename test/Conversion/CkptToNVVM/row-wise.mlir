// Row-wise kernels as functions for the GPU, and how they are launched.
// RUN: ckpt-opt %s --ckpt-to-nvvm --split-input-file | FileCheck %s

// A norm whose row needs a block: 384 vectors of 8 are 96 threads times 4, all
// read before the first sum, each sum with a barrier of its own. Sizes with a
// name are arguments; left-out results are found at run time.

// CHECK-NOT: ckpt.kernel
// CHECK-LABEL: llvm.func @layer_norm$0(
// CHECK-SAME:    %[[X:.*]]: !llvm.ptr<1>, %[[Y:.*]]: !llvm.ptr<1>, %[[STATS:.*]]: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32)
// CHECK-SAME:    arguments = ["read 0", "write 0", "write 1", "i32 batch", "i32 image"]
// CHECK-SAME:    grid = ["batch*image", "1", "1"]
// CHECK-SAME:    ckpt.shared_bytes = 24
// CHECK-SAME:    nvvm.kernel
// CHECK-SAME:    nvvm.reqntid = array<i32: 96, 1, 1>
// CHECK:         llvm.icmp "ne" %[[Y]]
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-NOT:     -> vector<8xbf16>
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK:         nvvm.barrier
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK:         nvvm.barrier
// CHECK-NOT:     nvvm.barrier
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT:     vector<8xbf16>, !llvm.ptr<1>
ckpt.size @batch
ckpt.size @image
!x = !ckpt.tensor<batch x image x 3072 x bf16>
!s = !ckpt.tensor<batch x image x 2 x f32>
ckpt.kernel @layer_norm row_wise(%x : !x)
    workspace "0" flops "0" traffic "0" {
  %y, %stats = ckpt.layer_norm %x {eps = 1.0e-6, with_stats} : !x
  ckpt.yield %y, %stats : !x, !s
}

// -----

// A row that fits a warp: four in a block, no barrier, and a test for the last
// rows. The number that tells a kernel from others is not in the name.

// CHECK-LABEL: llvm.func @rms_norm_7$0(
// CHECK-SAME:    grid = ["ceildiv(rows, 4)", "1", "1"]
// CHECK-SAME:    nvvm.reqntid = array<i32: 128, 1, 1>
// CHECK:         scf.if
// CHECK-COUNT-3: llvm.load %{{.*}} -> vector<4xf32>
// CHECK-NOT:     nvvm.barrier
ckpt.size @rows
!x = !ckpt.tensor<rows x 384 x f32>
ckpt.kernel @rms_norm_7 row_wise(%x : !x)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.rms_norm %x {eps = 1.0e-6} : !x
  ckpt.yield %y : !x
}

// -----

// A row that is too long for registers, and one of a length that is known at
// run time alone, are read again in a loop.

// CHECK-LABEL: llvm.func @long$0(
// CHECK-SAME:    nvvm.reqntid = array<i32: 512, 1, 1>
// CHECK-COUNT-2: scf.for
// CHECK-LABEL: llvm.func @named$0(
// CHECK-SAME:    nvvm.reqntid = array<i32: 512, 1, 1>
// CHECK:         scf.for
// CHECK:           llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
ckpt.size @rows
ckpt.size @width
!x = !ckpt.tensor<rows x 131072 x bf16>
!n = !ckpt.tensor<rows x width x bf16>
ckpt.kernel @long row_wise(%x : !x)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.rms_norm %x {eps = 1.0e-6} : !x
  ckpt.yield %y : !x
}
ckpt.kernel @named row_wise(%x : !n)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.rms_norm %x {eps = 1.0e-6} : !n
  ckpt.yield %y : !n
}

// -----

// Element by element: blocks of 4 rows of 192 vectors, the row of a sample
// beside them. One result: nobody leaves it out. A tensor of more than 2^31
// elements has offsets of 64 bits, and blocks along y share its rows.

// CHECK-LABEL: llvm.func @scale_rows$0(
// CHECK-SAME:    grid = ["ceildiv(batch*image, 4)", "1", "1"]
// CHECK-SAME:    nvvm.reqntid = array<i32: 192, 1, 1>
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-LABEL: llvm.func @huge$0(
// CHECK-SAME:    grid = ["32769", "6", "1"]
// CHECK:         arith.muli %{{.*}}, %c65536_i64
ckpt.size @batch
ckpt.size @image
!x = !ckpt.tensor<batch x image x 1536 x bf16>
!m = !ckpt.tensor<batch x 1 x 1536 x bf16>
!h = !ckpt.tensor<32769 x 65536 x bf16>
ckpt.kernel @scale_rows row_wise(%x : !x, %m : !m)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.mul %x, %m : !x, !m
  ckpt.yield %y : !x
}
ckpt.kernel @huge row_wise(%x : !h)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.silu %x : !h
  ckpt.yield %y : !h
}

// -----

// A sum over rows in two launches: parts of it to the workspace, then the parts
// in order, added to what was there.

// CHECK-LABEL: llvm.func @sum$0(
// CHECK-SAME:    arguments = ["read 1", "workspace", "i32 ceildiv(batch*image, min(ceildiv(batch*image, 32), 128))", "i32 batch", "i32 image"]
// CHECK-SAME:    grid = ["6", "ceildiv(batch*image, ceildiv(batch*image, min(ceildiv(batch*image, 32), 128)))", "1"]
// CHECK:         scf.for
// CHECK:         llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<1>
// CHECK-LABEL: llvm.func @sum$1(
// CHECK-SAME:    arguments = ["read 0", "write 0", "workspace", "i32 ceildiv(batch*image, ceildiv(batch*image, min(ceildiv(batch*image, 32), 128)))"]
// CHECK:         scf.for
ckpt.size @batch
ckpt.size @image
!x = !ckpt.tensor<batch x image x 3072 x f32>
!w = !ckpt.tensor<3072 x f32>
ckpt.kernel @sum row_wise(%sum : !w, %x : !x)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.accumulate %sum, %x : !w, !x
  ckpt.yield %y : !w
}
