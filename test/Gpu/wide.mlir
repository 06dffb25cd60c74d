// A hidden value of more than 2^31 elements at 32769 rows (field case K1).

ckpt.size @rows

!x = !ckpt.tensor<rows x 64 x bf16>
!hidden = !ckpt.tensor<rows x 65536 x bf16>

ckpt.block @wide states(%x : !x differentiable)
    params(%w1 "w1" frozen : !ckpt.tensor<65536 x 64 x bf16>,
           %b1 "b1" frozen : !ckpt.tensor<65536 x bf16>,
           %w2 "w2" frozen : !ckpt.tensor<64 x 65536 x bf16>) {
  %y = ckpt.ffn {
    %h = ckpt.linear %x, %w1, %b1 : !x, !ckpt.tensor<65536 x 64 x bf16>, !ckpt.tensor<65536 x bf16>
    %n = ckpt.layer_norm %h {eps = 1.0e-6} : !hidden
    %a = ckpt.gelu %n {approximate = tanh} : !hidden
    %o = ckpt.linear %a, %w2 : !hidden, !ckpt.tensor<64 x 65536 x bf16>
    %r = ckpt.add %x, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @wide, 1 }
