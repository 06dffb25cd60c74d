// Self-attention whose q, k and v are parts of one product, and whose gradients
// are written as one; then cross-attention to keys that need no gradient, so
// that dq is computed in parts. Heads of 128, a scale of its own.
//
//   ckpt-run test/Gpu/attention_qkv.mlir --target=nvptx --dim batch=2
//     --dim image=1400 --dim text=77 --blocks=2 --check

ckpt.size @batch default 1
ckpt.size @image
ckpt.size @text

!x = !ckpt.tensor<batch x image x 256 x bf16>
!qkv = !ckpt.tensor<batch x image x 768 x bf16>
!heads = !ckpt.tensor<batch x image x 2 x 128 x bf16>
!text = !ckpt.tensor<batch x text x 2 x 128 x bf16>

ckpt.block @qkv states(%x : !x differentiable) inputs(%k : !text, %v : !text)
    params(%w "b.{i}.w" trainable : !ckpt.tensor<768 x 256 x bf16>) {
  %y = ckpt.attention {
    %qkv = ckpt.linear %x, %w : !x, !ckpt.tensor<768 x 256 x bf16>
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "256"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "256", extent = "256"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "512", extent = "256"} : !qkv
    %q = ckpt.reshape %q0 {shape = ["batch", "image", "2", "128"]} : !x
    %k1 = ckpt.reshape %k0 {shape = ["batch", "image", "2", "128"]} : !x
    %v1 = ckpt.reshape %v0 {shape = ["batch", "image", "2", "128"]} : !x
    %o = ckpt.sdpa %q, %k1, %v1 {scale = 0.2 : f64} : !heads, !heads, !heads
    %c = ckpt.sdpa %o, %k, %v : !heads, !text, !text
    %p = ckpt.reshape %c {shape = ["batch", "image", "256"]} : !heads
    %r = ckpt.add %x, %p : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @qkv, 2 }
