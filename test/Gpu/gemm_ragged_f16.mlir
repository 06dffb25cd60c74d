// In f16: products whose sizes are no multiple of any tile: 328 and 776 columns, and
// 1000, 1 or 129 rows as the user says. Forward, dX and dW, bias, GELU, a
// residual; the hidden value is read again by the backward (two results).

ckpt.size @rows

!x = !ckpt.tensor<rows x 328 x f16>
!h = !ckpt.tensor<rows x 776 x f16>
!w1 = !ckpt.tensor<776 x 328 x f16>
!w2 = !ckpt.tensor<328 x 776 x f16>

ckpt.block @ragged_half states(%x : !x differentiable)
    params(%w1 "b.{i}.w1" trainable : !w1,
           %b1 "b.{i}.b1" trainable : !ckpt.tensor<776 x f16>,
           %w2 "b.{i}.w2" trainable : !w2,
           %b2 "b.{i}.b2" frozen : !ckpt.tensor<328 x f16>) {
  %y = ckpt.ffn {
    %h = ckpt.linear %x, %w1, %b1 : !x, !w1, !ckpt.tensor<776 x f16>
    %a = ckpt.gelu %h {approximate = erf} : !h
    %o = ckpt.linear %a, %w2, %b2 : !h, !w2, !ckpt.tensor<328 x f16>
    %r = ckpt.add %x, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @ragged_half, 2 }
