// Attention alone, three heads of 64, queries and keys of any number: what
// attention_cases.py runs (field cases A3, N1, A9), and
//
//   ckpt-run test/Gpu/attention_d64.mlir --target=nvptx --dim batch=2
//     --dim queries=1400 --dim keys=1400 --check

ckpt.size @batch default 1
ckpt.size @queries
ckpt.size @keys

!q = !ckpt.tensor<batch x queries x 3 x 64 x bf16>
!k = !ckpt.tensor<batch x keys x 3 x 64 x bf16>

ckpt.block @attention states(%q : !q differentiable)
    inputs(%k : !k differentiable, %v : !k differentiable) {
  %o = ckpt.sdpa %q, %k, %v : !q, !k, !k
  ckpt.return %o : !q
}
ckpt.stack @model { ckpt.repeat @attention, 1 }
