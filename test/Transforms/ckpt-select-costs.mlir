// Workspace, operations and bytes of each kernel, as formulas in the sizes. The
// arithmetic stands beside each.
//
// RUN: ckpt-opt %s --ckpt-differentiate --ckpt-select | FileCheck %s

ckpt.size @b
ckpt.size @n
ckpt.size @m
!x = !ckpt.tensor<b x n x 8 x bf16>
!c = !ckpt.tensor<b x m x 8 x bf16>
!q = !ckpt.tensor<b x n x 2 x 4 x bf16>
!k = !ckpt.tensor<b x m x 2 x 4 x bf16>
!w = !ckpt.tensor<24 x 8 x bf16>
ckpt.block @costs states(%x : !x) inputs(%c : !c)
    params(%w "{i}.w" frozen : !w, %v "{i}.v" trainable : !w) {
  %n = ckpt.layer_norm %x {eps = 1.0e-6} : !x
  %h = ckpt.linear %n, %w : !x, !w
  %s = ckpt.slice %h {dim = 2, offset = "0", extent = "8"} : !ckpt.tensor<b x n x 24 x bf16>
  %q = ckpt.reshape %s {shape = ["b", "n", "2", "4"]} : !x
  %kv = ckpt.linear %c, %v : !c, !w
  %k0 = ckpt.slice %kv {dim = 2, offset = "0", extent = "8"} : !ckpt.tensor<b x m x 24 x bf16>
  %v0 = ckpt.slice %kv {dim = 2, offset = "8", extent = "8"} : !ckpt.tensor<b x m x 24 x bf16>
  %k = ckpt.reshape %k0 {shape = ["b", "m", "2", "4"]} : !c
  %vv = ckpt.reshape %v0 {shape = ["b", "m", "2", "4"]} : !c
  %o = ckpt.sdpa %q, %k, %vv : !q, !k, !k
  %y = ckpt.reshape %o {shape = ["b", "n", "8"]} : !q
  %z = ckpt.add %x, %y : !x, !x
  ckpt.return %z : !x
}
ckpt.stack @model { ckpt.repeat @costs, 2 }

// One operation an element: b n 8. Bytes: x and y 2 b n 16, two f32 statistics
// a row b n 8.
// CHECK: ckpt.kernel @layer_norm row_wise{{.*}} flops "8*b*n" traffic "40*b*n"

// 2 M N K = 2 (b n) 24 8. Bytes: x b n 16, w 24 16 = 384, y b n 48.
// CHECK: ckpt.kernel @linear gemm{{.*}} flops "384*b*n" traffic "64*b*n + 384"
// CHECK: ckpt.kernel @linear_0 gemm{{.*}} flops "384*b*m" traffic "64*b*m + 384"

// 4 b heads n m d = 4 2 4 b n m. Bytes: the slices that are read, q b n 16 of h
// and k, v 2 b m 16 of kv; o b n 16; lse b 2 n 4.
// CHECK: ckpt.kernel @sdpa attention_forward{{.*}} flops "32*b*m*n" traffic "32*b*m + 40*b*n"

// The backward: 10 b heads n m d. Reads q, k, v as above, do b n 16, o b n 16,
// lse b n 8; writes dq b n 16 and dk, dv 2 b m 16.
// CHECK: ckpt.kernel @sdpa_dx attention_backward{{.*}} flops "80*b*m*n" traffic "64*b*m + 72*b*n"

// A weight's gradient, 2 (b m) 24 8, and its rounding, one an element: 192.
// Bytes: dy b m 48, x b m 16, dw 384.
// CHECK: ckpt.kernel @linear_dw_cast gemm{{.*}} flops "384*b*m + 192" traffic "64*b*m + 384"
