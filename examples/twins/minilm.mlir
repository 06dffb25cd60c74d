// minilm.mlir at 1/8 of its width; made by scripts/make-twins.

ckpt.size @batch default 1
ckpt.size @tokens

!x = !ckpt.tensor<batch x tokens x 48 x f32>
!heads = !ckpt.tensor<batch x tokens x 12 x 4 x f32>
!hidden = !ckpt.tensor<batch x tokens x 192 x f32>
!w = !ckpt.tensor<48 x 48 x f32>
!b = !ckpt.tensor<48 x f32>

ckpt.block @bert
    states(%x : !x differentiable)
    params(%wq "encoder.layer.{i}.attention.self.query.weight" frozen : !w,
           %bq "encoder.layer.{i}.attention.self.query.bias" frozen : !b,
           %wk "encoder.layer.{i}.attention.self.key.weight" frozen : !w,
           %bk "encoder.layer.{i}.attention.self.key.bias" frozen : !b,
           %wv "encoder.layer.{i}.attention.self.value.weight" frozen : !w,
           %bv "encoder.layer.{i}.attention.self.value.bias" frozen : !b,
           %wo "encoder.layer.{i}.attention.output.dense.weight" frozen : !w,
           %bo "encoder.layer.{i}.attention.output.dense.bias" frozen : !b,
           %g1 "encoder.layer.{i}.attention.output.LayerNorm.weight" frozen : !b,
           %c1 "encoder.layer.{i}.attention.output.LayerNorm.bias" frozen : !b,
           %w1 "encoder.layer.{i}.intermediate.dense.weight" frozen : !ckpt.tensor<192 x 48 x f32>,
           %b1 "encoder.layer.{i}.intermediate.dense.bias" frozen : !ckpt.tensor<192 x f32>,
           %w2 "encoder.layer.{i}.output.dense.weight" frozen : !ckpt.tensor<48 x 192 x f32>,
           %b2 "encoder.layer.{i}.output.dense.bias" frozen : !b,
           %g2 "encoder.layer.{i}.output.LayerNorm.weight" frozen : !b,
           %c2 "encoder.layer.{i}.output.LayerNorm.bias" frozen : !b) {
  %x1 = ckpt.attention {
    %q0 = ckpt.linear %x, %wq, %bq : !x, !w, !b
    %k0 = ckpt.linear %x, %wk, %bk : !x, !w, !b
    %v0 = ckpt.linear %x, %wv, %bv : !x, !w, !b
    %q = ckpt.reshape %q0 {shape = ["batch", "tokens", "12", "4"]} : !x
    %k = ckpt.reshape %k0 {shape = ["batch", "tokens", "12", "4"]} : !x
    %v = ckpt.reshape %v0 {shape = ["batch", "tokens", "12", "4"]} : !x
    %o0 = ckpt.sdpa %q, %k, %v : !heads, !heads, !heads
    %o = ckpt.reshape %o0 {shape = ["batch", "tokens", "48"]} : !heads
    %p = ckpt.linear %o, %wo, %bo : !x, !w, !b
    %r = ckpt.add %p, %x : !x, !x
    %n = ckpt.layer_norm %r, %g1, %c1 {eps = 1.0e-12} : !x, !b, !b
    ckpt.yield %n : !x
  } : !x
  %y = ckpt.ffn {
    %h = ckpt.linear %x1, %w1, %b1 : !x, !ckpt.tensor<192 x 48 x f32>, !ckpt.tensor<192 x f32>
    %a = ckpt.gelu %h {approximate = erf} : !hidden
    %o = ckpt.linear %a, %w2, %b2 : !hidden, !ckpt.tensor<48 x 192 x f32>, !b
    %r = ckpt.add %o, %x1 : !x, !x
    %n = ckpt.layer_norm %r, %g2, %c2 {eps = 1.0e-12} : !x, !b, !b
    ckpt.yield %n : !x
  } : !x
  ckpt.return %y : !x
}

ckpt.stack @model {
  ckpt.repeat @bert, 6
}
