// The sweep's block with LoRA of rank 16 on attention and FFN: the base is
// frozen, the factors a and b train, and the stack's input needs no gradient.
//
//   ckpt-run examples/dit-lora.mlir --dim image=1024 --blocks=2 --backend=torch --check

ckpt.size @batch default 1
ckpt.size @image

!x = !ckpt.tensor<batch x image x 3072 x bf16>
!heads = !ckpt.tensor<batch x image x 24 x 128 x bf16>
!qkv = !ckpt.tensor<batch x image x 9216 x bf16>
!hidden = !ckpt.tensor<batch x image x 12288 x bf16>
!low = !ckpt.tensor<batch x image x 16 x bf16>

ckpt.block @dit_lora
    states(%x : !x)
    params(%wqkv "blocks.{i}.attn.qkv.weight" frozen : !ckpt.tensor<9216 x 3072 x bf16>,
           %bqkv "blocks.{i}.attn.qkv.bias" frozen : !ckpt.tensor<9216 x bf16>,
           %wo "blocks.{i}.attn.proj.weight" frozen : !ckpt.tensor<3072 x 3072 x bf16>,
           %bo "blocks.{i}.attn.proj.bias" frozen : !ckpt.tensor<3072 x bf16>,
           %w1 "blocks.{i}.mlp.fc1.weight" frozen : !ckpt.tensor<12288 x 3072 x bf16>,
           %b1 "blocks.{i}.mlp.fc1.bias" frozen : !ckpt.tensor<12288 x bf16>,
           %w2 "blocks.{i}.mlp.fc2.weight" frozen : !ckpt.tensor<3072 x 12288 x bf16>,
           %b2 "blocks.{i}.mlp.fc2.bias" frozen : !ckpt.tensor<3072 x bf16>,
           %aqkv "blocks.{i}.attn.qkv.lora_A.weight" trainable : !ckpt.tensor<16 x 3072 x bf16>,
           %lqkv "blocks.{i}.attn.qkv.lora_B.weight" trainable : !ckpt.tensor<9216 x 16 x bf16>,
           %ao "blocks.{i}.attn.proj.lora_A.weight" trainable : !ckpt.tensor<16 x 3072 x bf16>,
           %lo "blocks.{i}.attn.proj.lora_B.weight" trainable : !ckpt.tensor<3072 x 16 x bf16>,
           %a1 "blocks.{i}.mlp.fc1.lora_A.weight" trainable : !ckpt.tensor<16 x 3072 x bf16>,
           %l1 "blocks.{i}.mlp.fc1.lora_B.weight" trainable : !ckpt.tensor<12288 x 16 x bf16>,
           %a2 "blocks.{i}.mlp.fc2.lora_A.weight" trainable : !ckpt.tensor<16 x 12288 x bf16>,
           %l2 "blocks.{i}.mlp.fc2.lora_B.weight" trainable : !ckpt.tensor<3072 x 16 x bf16>) {
  %x1 = ckpt.attention {
    %n = ckpt.layer_norm %x {eps = 1.0e-6} : !x
    %qkv_base = ckpt.linear %n, %wqkv, %bqkv : !x, !ckpt.tensor<9216 x 3072 x bf16>, !ckpt.tensor<9216 x bf16>
    %tqkv = ckpt.linear %n, %aqkv : !x, !ckpt.tensor<16 x 3072 x bf16>
    %uqkv = ckpt.linear %tqkv, %lqkv : !low, !ckpt.tensor<9216 x 16 x bf16>
    %sqkv = ckpt.scale %uqkv {factor = 2.0} : !qkv
    %qkv = ckpt.add %qkv_base, %sqkv : !qkv, !qkv
    %q0 = ckpt.slice %qkv {dim = 2, offset = "0", extent = "3072"} : !qkv
    %k0 = ckpt.slice %qkv {dim = 2, offset = "3072", extent = "3072"} : !qkv
    %v0 = ckpt.slice %qkv {dim = 2, offset = "6144", extent = "3072"} : !qkv
    %q = ckpt.reshape %q0 {shape = ["batch", "image", "24", "128"]} : !x
    %k = ckpt.reshape %k0 {shape = ["batch", "image", "24", "128"]} : !x
    %v = ckpt.reshape %v0 {shape = ["batch", "image", "24", "128"]} : !x
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "image", "3072"]} : !heads
    %p_base = ckpt.linear %o, %wo, %bo : !x, !ckpt.tensor<3072 x 3072 x bf16>, !ckpt.tensor<3072 x bf16>
    %to = ckpt.linear %o, %ao : !x, !ckpt.tensor<16 x 3072 x bf16>
    %uo = ckpt.linear %to, %lo : !low, !ckpt.tensor<3072 x 16 x bf16>
    %so = ckpt.scale %uo {factor = 2.0} : !x
    %p = ckpt.add %p_base, %so : !x, !x
    %r = ckpt.add %x, %p : !x, !x
    ckpt.yield %r : !x
  } : !x
  %y = ckpt.ffn {
    %n = ckpt.layer_norm %x1 {eps = 1.0e-6} : !x
    %h_base = ckpt.linear %n, %w1, %b1 : !x, !ckpt.tensor<12288 x 3072 x bf16>, !ckpt.tensor<12288 x bf16>
    %t1 = ckpt.linear %n, %a1 : !x, !ckpt.tensor<16 x 3072 x bf16>
    %u1 = ckpt.linear %t1, %l1 : !low, !ckpt.tensor<12288 x 16 x bf16>
    %s1 = ckpt.scale %u1 {factor = 2.0} : !hidden
    %h = ckpt.add %h_base, %s1 : !hidden, !hidden
    %a = ckpt.gelu %h {approximate = tanh} : !hidden
    %o_base = ckpt.linear %a, %w2, %b2 : !hidden, !ckpt.tensor<3072 x 12288 x bf16>, !ckpt.tensor<3072 x bf16>
    %t2 = ckpt.linear %a, %a2 : !hidden, !ckpt.tensor<16 x 12288 x bf16>
    %u2 = ckpt.linear %t2, %l2 : !low, !ckpt.tensor<3072 x 16 x bf16>
    %s2 = ckpt.scale %u2 {factor = 2.0} : !x
    %o = ckpt.add %o_base, %s2 : !x, !x
    %r = ckpt.add %x1, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model {
  ckpt.repeat @dit_lora, 16
}
