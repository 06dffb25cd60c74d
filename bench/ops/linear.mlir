// One frozen linear, alone: a GEMM y = x w^T in the forward and dx = dy w in
// the backward. Widths are counted in 64s, so that rows are known to be
// multiples of 16 bytes, as TMA wants them.
//
//   ckpt-run bench/ops/linear.mlir --dim rows=1024 --dim out64=48 --dim in64=48 --plan-only

ckpt.size @rows
ckpt.size @in64
ckpt.size @out64

!x = !ckpt.tensor<rows x 64*in64 x bf16>
!w = !ckpt.tensor<64*out64 x 64*in64 x bf16>

ckpt.block @linear
    states(%x : !x differentiable)
    params(%w "weight" frozen : !w) {
  %y = ckpt.linear %x, %w : !x, !w
  ckpt.return %y : !ckpt.tensor<rows x 64*out64 x bf16>
}

ckpt.stack @model {
  ckpt.repeat @linear, 1
}
