// The shape of a product's pipeline: who loads, in which order products, waits
// and releases are issued, and how results leave. What it computes is checked
// on a GPU (test/Gpu), the launches in unittests/Nvptx.
// RUN: ckpt-opt %s --ckpt-to-nvvm | FileCheck %s

ckpt.size @rows
!x = !ckpt.tensor<rows x 1024 x bf16>
!h = !ckpt.tensor<rows x 2048 x bf16>
!w = !ckpt.tensor<2048 x 1024 x bf16>

// The producer loads A for itself and half of B for both blocks. A consumer
// loads the bias, peels the first k block, and then releases each stage one
// block late. Both results leave chunk by chunk; one that nobody wants is not
// stored.
// CHECK-LABEL: llvm.func @two_results$0(
// CHECK-SAME:    "map of read 0 [1024, rows] [2048] [64, 128]", "map of read 1 [1024, 2048] [2048] [64, 128]", "map of write 0 [2048, rows] [4096] [64, 16]"
// CHECK-SAME:    nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME:    nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK:         nvvm.cluster.arrive.relaxed
// CHECK:         nvvm.setmaxregister decrease 40
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK:         nvvm.mbarrier.arrive.expect_tx
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-SAME:      isCTAOnly = true
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-SAME:      multicast_mask
// CHECK:         nvvm.setmaxregister increase 232
// CHECK-COUNT-4: llvm.load {{.*}} -> i32
// CHECK:         nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: m64n256k16.f32.bf16.bf16
// CHECK:         nvvm.wgmma.commit
// CHECK:         scf.for
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:           nvvm.wgmma.fence.aligned
// CHECK-COUNT-4:   m64n256k16.f32.bf16.bf16
// CHECK:           nvvm.wgmma.commit
// CHECK:           nvvm.wgmma.wait.group.sync.aligned 1
// CHECK:           nvvm.mbarrier.arrive
// CHECK:           scf.yield
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK:         nvvm.mbarrier.arrive
// CHECK:         tanh.approx.f32
// CHECK:         nvvm.stmatrix
// CHECK:         nvvm.fence.proxy
// CHECK:         scf.if
// CHECK:           scf.if
// CHECK:             nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:           scf.if
// CHECK:             nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:           nvvm.cp.async.bulk.commit.group
ckpt.kernel @two_results gemm(%x: !x, %w: !w, %b: !ckpt.tensor<2048 x bf16>)
    workspace "0" flops "0" traffic "0" {
  %h = ckpt.linear %x, %w, %b : !x, !w, !ckpt.tensor<2048 x bf16>
  %a = ckpt.gelu %h {approximate = tanh} : !h
  ckpt.yield %a, %h : !h, !h
}

// The saved value arrives through the ring behind the k blocks: four tiles of
// 64 columns, three in a stage. A stage is released when the four warps of the
// warpgroup have read it. W is N-major: the transpose bit of B.
// CHECK-LABEL: llvm.func @saved$0(
// CHECK:         nvvm.setmaxregister decrease
// CHECK:         scf.yield
// CHECK:         nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-3: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:         nvvm.mbarrier.arrive.expect_tx
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:         nvvm.setmaxregister increase
// CHECK-COUNT-8: m64n256k16.f32.bf16.bf16 {{.*}} p, 1, 1, 0, 1;
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-12: ldmatrix.sync.aligned.m8n8.x4
// CHECK:         nvvm.barrier id
// CHECK:         nvvm.mbarrier.arrive
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4
// CHECK:         nvvm.barrier id
// CHECK:         nvvm.mbarrier.arrive
ckpt.kernel @saved gemm(%dy: !h, %w: !w, %s: !x)
    workspace "0" flops "0" traffic "0" {
  %dx = ckpt.linear_dx %dy, %w : !h, !w
  %ds = ckpt.silu_dx %dx, %s : !x, !x
  ckpt.yield %ds : !x
}

// A narrow product of a long K: both operands run along M and N, parts of K go
// to memory in f32 and are added up in order by a second function.
// CHECK-LABEL: llvm.func @adapter$1(
// CHECK:         m64n16k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1, 1;
// CHECK-NOT:     nvvm.stmatrix
// CHECK-LABEL: llvm.func @adapter$2(
// CHECK-SAME:    nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK:         scf.for
// CHECK:           arith.addf
// CHECK:           scf.yield
// CHECK:         llvm.store {{.*}} vector<4xbf16>
ckpt.kernel @adapter gemm(%dy: !h, %x: !ckpt.tensor<rows x 16 x bf16>)
    workspace "0" flops "0" traffic "0" {
  %dw = ckpt.linear_dw %dy, %x {to = f32} : !h, !ckpt.tensor<rows x 16 x bf16>
  %y = ckpt.cast %dw {to = bf16} : !ckpt.tensor<2048 x 16 x f32>
  ckpt.yield %y : !ckpt.tensor<2048 x 16 x bf16>
}

// A tensor without extents, read through its pointer: the same everywhere.
// CHECK-LABEL: llvm.func @scalar$0(
// CHECK-SAME:    "read 2"
// CHECK:         llvm.load {{.*}} -> bf16
// CHECK:         nvvm.stmatrix
ckpt.kernel @scalar gemm(%x: !x, %w: !w, %s: !ckpt.tensor<bf16>)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.linear %x, %w : !x, !w
  %z = ckpt.mul %y, %s : !h, !ckpt.tensor<bf16>
  ckpt.yield %z : !h
}
