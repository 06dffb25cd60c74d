// Wan 2.1 T2V 1.3B: 30 blocks of width 1536, 12 heads of 128, RMS norm of q and
// k over the full width, rotary embedding, cross-attention to the text, GELU
// (tanh) FFN of 8960, modulation by table + time embedding. Norms and modulation
// are f32 islands as in the published model. Parameter names are those of its
// diffusers file.
//
//   ckpt-run examples/wan-1.3b.mlir --dim image=64 --dim text=16 --blocks=6 --backend=unsloth-ffn --interval=2 --check

ckpt.size @batch default 1
ckpt.size @image
ckpt.size @text

!x = !ckpt.tensor<batch x image x 1536 x bf16>
!xf = !ckpt.tensor<batch x image x 1536 x f32>
!text = !ckpt.tensor<batch x text x 1536 x bf16>
!heads = !ckpt.tensor<batch x image x 12 x 128 x bf16>
!text_heads = !ckpt.tensor<batch x text x 12 x 128 x bf16>
!hidden = !ckpt.tensor<batch x image x 8960 x bf16>
!mod = !ckpt.tensor<batch x 6 x 1536 x f32>
!mod3 = !ckpt.tensor<batch x 3 x 1536 x f32>
!row = !ckpt.tensor<batch x 1 x 1536 x f32>
!table = !ckpt.tensor<1 x 6 x 1536 x f32>
!table3 = !ckpt.tensor<1 x 3 x 1536 x f32>
!freqs = !ckpt.tensor<image x 64 x f32>
!w = !ckpt.tensor<1536 x 1536 x bf16>
!b = !ckpt.tensor<1536 x bf16>
!bf = !ckpt.tensor<1536 x f32>

ckpt.block @wan
    states(%x : !x differentiable)
    inputs(%text : !text, %temb : !mod, %cos : !freqs, %sin : !freqs)
    params(%table "blocks.{i}.scale_shift_table" frozen : !table,
           %wq "blocks.{i}.attn1.to_q.weight" frozen : !w,
           %bq "blocks.{i}.attn1.to_q.bias" frozen : !b,
           %wk "blocks.{i}.attn1.to_k.weight" frozen : !w,
           %bk "blocks.{i}.attn1.to_k.bias" frozen : !b,
           %wv "blocks.{i}.attn1.to_v.weight" frozen : !w,
           %bv "blocks.{i}.attn1.to_v.bias" frozen : !b,
           %gq "blocks.{i}.attn1.norm_q.weight" frozen : !b,
           %gk "blocks.{i}.attn1.norm_k.weight" frozen : !b,
           %wo "blocks.{i}.attn1.to_out.0.weight" frozen : !w,
           %bo "blocks.{i}.attn1.to_out.0.bias" frozen : !b,
           %g2 "blocks.{i}.norm2.weight" frozen : !bf,
           %c2 "blocks.{i}.norm2.bias" frozen : !bf,
           %cwq "blocks.{i}.attn2.to_q.weight" frozen : !w,
           %cbq "blocks.{i}.attn2.to_q.bias" frozen : !b,
           %cwk "blocks.{i}.attn2.to_k.weight" frozen : !w,
           %cbk "blocks.{i}.attn2.to_k.bias" frozen : !b,
           %cwv "blocks.{i}.attn2.to_v.weight" frozen : !w,
           %cbv "blocks.{i}.attn2.to_v.bias" frozen : !b,
           %cgq "blocks.{i}.attn2.norm_q.weight" frozen : !b,
           %cgk "blocks.{i}.attn2.norm_k.weight" frozen : !b,
           %cwo "blocks.{i}.attn2.to_out.0.weight" frozen : !w,
           %cbo "blocks.{i}.attn2.to_out.0.bias" frozen : !b,
           %w1 "blocks.{i}.ffn.net.0.proj.weight" frozen : !ckpt.tensor<8960 x 1536 x bf16>,
           %b1 "blocks.{i}.ffn.net.0.proj.bias" frozen : !ckpt.tensor<8960 x bf16>,
           %w2 "blocks.{i}.ffn.net.2.weight" frozen : !ckpt.tensor<1536 x 8960 x bf16>,
           %b2 "blocks.{i}.ffn.net.2.bias" frozen : !b) {
  %x2 = ckpt.attention {
    // Modulation: table + time embedding; rows shift, scale, gate.
    %t3 = ckpt.slice %table {dim = 1, offset = "0", extent = "3"} : !table
    %e3 = ckpt.slice %temb {dim = 1, offset = "0", extent = "3"} : !mod
    %m = ckpt.add %t3, %e3 : !table3, !mod3
    %shift = ckpt.slice %m {dim = 1, offset = "0", extent = "1"} : !mod3
    %scale0 = ckpt.slice %m {dim = 1, offset = "1", extent = "1"} : !mod3
    %scale = ckpt.scale %scale0 {offset = 1.0} : !row
    %gate = ckpt.slice %m {dim = 1, offset = "2", extent = "1"} : !mod3
    %xf = ckpt.cast %x {to = f32} : !x
    %n0 = ckpt.layer_norm %xf {eps = 1.0e-6} : !xf
    %n1 = ckpt.mul %n0, %scale : !xf, !row
    %n2 = ckpt.add %n1, %shift : !xf, !row
    %n = ckpt.cast %n2 {to = bf16} : !xf

    %q0 = ckpt.linear %n, %wq, %bq : !x, !w, !b
    %k0 = ckpt.linear %n, %wk, %bk : !x, !w, !b
    %v0 = ckpt.linear %n, %wv, %bv : !x, !w, !b
    %q1 = ckpt.rms_norm %q0, %gq {eps = 1.0e-6} : !x, !b
    %k1 = ckpt.rms_norm %k0, %gk {eps = 1.0e-6} : !x, !b
    %q2 = ckpt.reshape %q1 {shape = ["batch", "image", "12", "128"]} : !x
    %k2 = ckpt.reshape %k1 {shape = ["batch", "image", "12", "128"]} : !x
    %v = ckpt.reshape %v0 {shape = ["batch", "image", "12", "128"]} : !x
    %q = ckpt.rope %q2, %cos, %sin : !heads, !freqs, !freqs
    %k = ckpt.rope %k2, %cos, %sin : !heads, !freqs, !freqs
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "image", "1536"]} : !heads
    %p = ckpt.linear %o, %wo, %bo : !x, !w, !b
    %pf = ckpt.cast %p {to = f32} : !x
    %pg = ckpt.mul %pf, %gate : !xf, !row
    %r = ckpt.add %xf, %pg : !xf, !xf
    %x1 = ckpt.cast %r {to = bf16} : !xf

    %x1f = ckpt.cast %x1 {to = f32} : !x
    %cn0 = ckpt.layer_norm %x1f, %g2, %c2 {eps = 1.0e-6} : !xf, !bf, !bf
    %cn = ckpt.cast %cn0 {to = bf16} : !xf
    %cq0 = ckpt.linear %cn, %cwq, %cbq : !x, !w, !b
    %ck0 = ckpt.linear %text, %cwk, %cbk : !text, !w, !b
    %cv0 = ckpt.linear %text, %cwv, %cbv : !text, !w, !b
    %cq1 = ckpt.rms_norm %cq0, %cgq {eps = 1.0e-6} : !x, !b
    %ck1 = ckpt.rms_norm %ck0, %cgk {eps = 1.0e-6} : !text, !b
    %cq = ckpt.reshape %cq1 {shape = ["batch", "image", "12", "128"]} : !x
    %ck = ckpt.reshape %ck1 {shape = ["batch", "text", "12", "128"]} : !text
    %cv = ckpt.reshape %cv0 {shape = ["batch", "text", "12", "128"]} : !text
    %co0 = ckpt.sdpa %cq, %ck, %cv : !heads, !text_heads, !text_heads
    %co = ckpt.reshape %co0 {shape = ["batch", "image", "1536"]} : !heads
    %cp = ckpt.linear %co, %cwo, %cbo : !x, !w, !b
    %cr = ckpt.add %x1, %cp : !x, !x
    ckpt.yield %cr : !x
  } : !x
  %y = ckpt.ffn {
    %t3 = ckpt.slice %table {dim = 1, offset = "3", extent = "3"} : !table
    %e3 = ckpt.slice %temb {dim = 1, offset = "3", extent = "3"} : !mod
    %m = ckpt.add %t3, %e3 : !table3, !mod3
    %shift = ckpt.slice %m {dim = 1, offset = "0", extent = "1"} : !mod3
    %scale0 = ckpt.slice %m {dim = 1, offset = "1", extent = "1"} : !mod3
    %scale = ckpt.scale %scale0 {offset = 1.0} : !row
    %gate = ckpt.slice %m {dim = 1, offset = "2", extent = "1"} : !mod3
    %xf = ckpt.cast %x2 {to = f32} : !x
    %n0 = ckpt.layer_norm %xf {eps = 1.0e-6} : !xf
    %n1 = ckpt.mul %n0, %scale : !xf, !row
    %n2 = ckpt.add %n1, %shift : !xf, !row
    %n = ckpt.cast %n2 {to = bf16} : !xf
    %h = ckpt.linear %n, %w1, %b1 : !x, !ckpt.tensor<8960 x 1536 x bf16>, !ckpt.tensor<8960 x bf16>
    %a = ckpt.gelu %h {approximate = tanh} : !hidden
    %o = ckpt.linear %a, %w2, %b2 : !hidden, !ckpt.tensor<1536 x 8960 x bf16>, !b
    %of = ckpt.cast %o {to = f32} : !x
    %og = ckpt.mul %of, %gate : !xf, !row
    %r = ckpt.add %xf, %og : !xf, !xf
    %z = ckpt.cast %r {to = bf16} : !xf
    ckpt.yield %z : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model {
  ckpt.repeat @wan, 30
}
