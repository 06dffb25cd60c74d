// The shape of the code that each kernel class becomes; what it computes is
// checked by unittests/HostKernels.
// RUN: ckpt-opt %s --ckpt-to-host --split-input-file | FileCheck %s

// One size, one argument, one result; 8 lanes, then one. Launches are dropped
// with everything else that is no code.

// CHECK-NOT: ckpt.
// CHECK-LABEL: llvm.func @twice(
// CHECK-SAME:    %[[ARGS:.*]]: !llvm.ptr, %[[SIZES:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK:         %[[SIZE:.*]] = llvm.getelementptr %[[SIZES]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         llvm.load %[[SIZE]]
// CHECK:         %[[X:.*]] = llvm.getelementptr %[[ARGS]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.load %[[X]]
// CHECK:         %[[Y:.*]] = llvm.getelementptr %[[ARGS]][1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.load %[[Y]]
// CHECK:         %[[WANTED:.*]] = llvm.icmp "ne"
// CHECK:         scf.if %[[WANTED]]
// CHECK:           scf.for
// CHECK:             arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK:           scf.for
// CHECK:             arith.mulf %{{.*}}, %{{.*}} : f32
ckpt.size @n
ckpt.kernel @twice row_wise(%x : !ckpt.tensor<n x f32>)
    workspace "0" flops "n" traffic "8*n" {
  %y = ckpt.scale %x {factor = 2.0} : !ckpt.tensor<n x f32>
  ckpt.yield %y : !ckpt.tensor<n x f32>
}

// -----

// A row whose length is a constant multiple of 8 has no rest. bf16 is widened
// by a shift.

// CHECK-LABEL: llvm.func @whole(
// CHECK:         llvm.load %{{.*}} : !llvm.ptr -> vector<8xi16>
// CHECK:         arith.extui %{{.*}} : vector<8xi16> to vector<8xi32>
// CHECK:         arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK-NOT:     arith.mulf %{{.*}} : f32
// CHECK:         llvm.return
ckpt.kernel @whole row_wise(%x : !ckpt.tensor<4 x 64 x bf16>)
    workspace "0" flops "256" traffic "1024" {
  %y = ckpt.scale %x {factor = 2.0} : !ckpt.tensor<4 x 64 x bf16>
  ckpt.yield %y : !ckpt.tensor<4 x 64 x bf16>
}

// -----

// All products of a module share one function; its tile is 12 accumulators.

// CHECK:         llvm.func private @ckpt_block_gemm(
// CHECK-COUNT-12: math.fma %{{.*}} : vector<8xf32>
// CHECK-NOT:     math.fma
// CHECK-LABEL: llvm.func @linear(
// CHECK:         llvm.call @ckpt_block_gemm(
// CHECK-LABEL: llvm.func @attention(
// CHECK-COUNT-2: llvm.call @ckpt_block_gemm(
// CHECK-NOT:     llvm.call
ckpt.size @rows
ckpt.kernel @linear gemm(%x : !ckpt.tensor<rows x 32 x f32>,
                         %w : !ckpt.tensor<64 x 32 x f32>)
    workspace "0" flops "0" traffic "0" {
  %y = ckpt.linear %x, %w : !ckpt.tensor<rows x 32 x f32>,
                            !ckpt.tensor<64 x 32 x f32>
  ckpt.yield %y : !ckpt.tensor<rows x 64 x f32>
}
ckpt.kernel @attention attention_forward(%q : !ckpt.tensor<1 x rows x 2 x 16 x f32>)
    workspace "0" flops "0" traffic "0" {
  %o = ckpt.sdpa %q, %q, %q : !ckpt.tensor<1 x rows x 2 x 16 x f32>
  ckpt.yield %o : !ckpt.tensor<1 x rows x 2 x 16 x f32>
}
