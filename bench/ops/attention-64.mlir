// Self attention alone, 48 heads of 64: one launch forward, one backward.
//
//   ckpt-run bench/ops/attention-64.mlir --dim tokens=4096 --plan-only

ckpt.size @tokens

!heads = !ckpt.tensor<1 x tokens x 48 x 64 x bf16>

ckpt.block @attention
    states(%q : !heads differentiable)
    inputs(%k : !heads differentiable, %v : !heads differentiable) {
  %o = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
  ckpt.return %o : !heads
}

ckpt.stack @model {
  ckpt.repeat @attention, 1
}
