// The order in which attention issues its products and waits for them; what it
// computes is checked on a GPU (test/Gpu).
// RUN: ckpt-opt %s --ckpt-to-nvvm | FileCheck %s
// RUN: ckpt-opt %s --ckpt-to-nvvm=deterministic | FileCheck %s --check-prefix=ORDERED

ckpt.size @queries
ckpt.size @keys
!q = !ckpt.tensor<1 x queries x 3 x 64 x bf16>
!k = !ckpt.tensor<1 x keys x 3 x 64 x bf16>
!lse = !ckpt.tensor<1 x 3 x queries x f32>

// One producer; S = Q K^T of the first keys, then in the loop S of the next and
// O += P V under one wait.
// CHECK-LABEL: llvm.func @forward$0(
// CHECK-SAME:    nvvm.reqntid = array<i32: 512, 1, 1>
// CHECK:         nvvm.setmaxregister decrease 32
// CHECK:         nvvm.setmaxregister increase 160
// CHECK-COUNT-4: m64n128k16.f32.bf16.bf16
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK:         scf.for
// CHECK-COUNT-4:   m64n128k16.f32.bf16.bf16
// CHECK:           nvvm.wgmma.commit
// CHECK-COUNT-8:   m64n64k16.f32.bf16.bf16
// CHECK:           nvvm.wgmma.commit
// CHECK:           wgmma.wait_group.sync.aligned 1;
// CHECK:           llvm.nvvm.ex2.approx.ftz
// CHECK:           wgmma.wait_group.sync.aligned 0;
// CHECK:           scf.yield
// CHECK-COUNT-8: m64n64k16.f32.bf16.bf16
// CHECK:         nvvm.cp.async.bulk.tensor.global.shared.cta
ckpt.kernel @forward attention_forward(%q: !q, %k: !k, %v: !k)
    workspace "0" flops "0" traffic "0" {
  %o, %lse = ckpt.sdpa %q, %k, %v {with_lse} : !q, !k, !k
  ckpt.yield %o, %lse : !q, !lse
}

// Before and after it, kernels of their own. In the loop: S, dP; half of dV
// under the wait for dP; then dQ of the step before, the rest of dV, dK.
// CHECK-LABEL: llvm.func @backward$0(
// CHECK-LABEL: llvm.func @backward$1(
// CHECK:         nvvm.setmaxregister decrease 24
// CHECK:         nvvm.setmaxregister increase 240
// CHECK:         scf.for
// CHECK-COUNT-8:   m64n128k16.f32.bf16.bf16
// CHECK:           wgmma.wait_group.sync.aligned 1;
// CHECK-COUNT-4:   m64n64k16.f32.bf16.bf16
// CHECK:           wgmma.wait_group.sync.aligned 1;
// CHECK-COUNT-8:   nvvm.stmatrix
// CHECK-COUNT-8:   m64n64k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1, 0;
// CHECK:           nvvm.wgmma.commit
// CHECK-COUNT-4:   m64n64k16.f32.bf16.bf16
// CHECK:           nvvm.wgmma.commit
// CHECK-COUNT-8:   m64n64k16.f32.bf16.bf16
// CHECK:           nvvm.wgmma.commit
// CHECK:           wgmma.wait_group.sync.aligned 2;
// CHECK:           cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32
// CHECK:           wgmma.wait_group.sync.aligned 0;
// CHECK:           scf.yield
// CHECK-LABEL: llvm.func @backward$2(
// CHECK-NOT:     red.release

// A ticket for each block; additions of dQ take turns.
// ORDERED-LABEL: llvm.func @backward$1(
// ORDERED:         atom.global.add.u32
// ORDERED:         ld.acquire.gpu.global.b32
// ORDERED:         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32
// ORDERED:         red.release.gpu.global.add.u32
// ORDERED:         nvvm.setmaxregister increase 240
// ORDERED-NOT:     cp.reduce
// ORDERED-LABEL: llvm.func @backward$2(
ckpt.kernel @backward attention_backward(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q)
    workspace "0" flops "0" traffic "0" {
  %dq, %dk, %dv = ckpt.sdpa_dx %q, %k, %v, %o, %lse, %do : !q, !k, !k, !q, !lse, !q
  ckpt.yield %dq, %dk, %dv : !q, !k, !k
}
