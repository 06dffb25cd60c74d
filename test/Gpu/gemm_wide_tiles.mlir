// Shapes at which every tile of a product is full, and several waves of them:
// 2048 rows and more. Gate rows per batch and a residual in f32 arithmetic.

ckpt.size @batch
ckpt.size @tokens

!x = !ckpt.tensor<batch x tokens x 1024 x bf16>
!xf = !ckpt.tensor<batch x tokens x 1024 x f32>
!h = !ckpt.tensor<batch x tokens x 2048 x bf16>
!gates = !ckpt.tensor<batch x 3 x 1024 x f32>
!w1 = !ckpt.tensor<2048 x 1024 x bf16>
!w2 = !ckpt.tensor<1024 x 2048 x bf16>

ckpt.block @gated states(%x : !x differentiable)
    inputs(%gates : !gates)
    params(%w1 "b.{i}.w1" frozen : !w1,
           %b1 "b.{i}.b1" frozen : !ckpt.tensor<2048 x bf16>,
           %w2 "b.{i}.w2" frozen : !w2,
           %b2 "b.{i}.b2" frozen : !ckpt.tensor<1024 x bf16>) {
  %h = ckpt.linear %x, %w1, %b1 : !x, !w1, !ckpt.tensor<2048 x bf16>
  %a = ckpt.gelu %h {approximate = tanh} : !h
  %o = ckpt.linear %a, %w2, %b2 : !h, !w2, !ckpt.tensor<1024 x bf16>
  %of = ckpt.cast %o {to = f32} : !x
  %gate = ckpt.slice %gates {dim = 1, offset = "2", extent = "1"} : !gates
  %og = ckpt.mul %of, %gate : !xf, !ckpt.tensor<batch x 1 x 1024 x f32>
  %xf = ckpt.cast %x {to = f32} : !x
  %sum = ckpt.add %xf, %og : !xf, !xf
  %y = ckpt.cast %sum {to = bf16} : !xf
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @gated, 2 }
