// The sweep's second shape: as examples/dit-3072.mlir, but 32 blocks of width
// 4096 with 32 heads of 128.
//
//   ckpt-run bench/ops/dit-4096.mlir --dim image=3072 --plan-only --profile=h200

ckpt.size @batch default 1
ckpt.size @image

!x = !ckpt.tensor<batch x image x 4096 x bf16>
!heads = !ckpt.tensor<batch x image x 32 x 128 x bf16>
!qkv = !ckpt.tensor<batch x image x 12288 x bf16>
!hidden = !ckpt.tensor<batch x image x 16384 x bf16>

ckpt.block @dit
    states(%x : !x differentiable)
    params(%wqkv "blocks.{i}.attn.qkv.weight" frozen : !ckpt.tensor<12288 x 4096 x bf16>,
           %bqkv "blocks.{i}.attn.qkv.bias" frozen : !ckpt.tensor<12288 x bf16>,
           %wo "blocks.{i}.attn.proj.weight" frozen : !ckpt.tensor<4096 x 4096 x bf16>,
           %bo "blocks.{i}.attn.proj.bias" frozen : !ckpt.tensor<4096 x bf16>,
           %w1 "blocks.{i}.mlp.fc1.weight" frozen : !ckpt.tensor<16384 x 4096 x bf16>,
           %b1 "blocks.{i}.mlp.fc1.bias" frozen : !ckpt.tensor<16384 x bf16>,
           %w2 "blocks.{i}.mlp.fc2.weight" frozen : !ckpt.tensor<4096 x 16384 x bf16>,
           %b2 "blocks.{i}.mlp.fc2.bias" frozen : !ckpt.tensor<4096 x bf16>) {
  %x1 = ckpt.attention {
    %n = ckpt.layer_norm %x {eps = 1.0e-6} : !x
    %qkv = ckpt.linear %n, %wqkv, %bqkv : !x, !ckpt.tensor<12288 x 4096 x bf16>, !ckpt.tensor<12288 x bf16>
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "4096"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "4096", extent = "4096"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "8192", extent = "4096"} : !qkv
    %q = ckpt.reshape %q0 {shape = ["batch", "image", "32", "128"]} : !x
    %k = ckpt.reshape %k0 {shape = ["batch", "image", "32", "128"]} : !x
    %v = ckpt.reshape %v0 {shape = ["batch", "image", "32", "128"]} : !x
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "image", "4096"]} : !heads
    %p = ckpt.linear %o, %wo, %bo : !x, !ckpt.tensor<4096 x 4096 x bf16>, !ckpt.tensor<4096 x bf16>
    %r = ckpt.add %x, %p : !x, !x
    ckpt.yield %r : !x
  } : !x
  %y = ckpt.ffn {
    %n = ckpt.layer_norm %x1 {eps = 1.0e-6} : !x
    %h = ckpt.linear %n, %w1, %b1 : !x, !ckpt.tensor<16384 x 4096 x bf16>, !ckpt.tensor<16384 x bf16>
    %a = ckpt.gelu %h {approximate = tanh} : !hidden
    %o = ckpt.linear %a, %w2, %b2 : !hidden, !ckpt.tensor<4096 x 16384 x bf16>, !ckpt.tensor<4096 x bf16>
    %r = ckpt.add %x1, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model {
  ckpt.repeat @dit, 32
}
