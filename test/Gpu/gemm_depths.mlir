// Products of 1, 2, 3, 7 and 8 blocks of depth 64, some fewer than a ring has
// stages (field case C5), and narrow results; SiLU and its gradient. At 64 rows
// most of the tiles are not there.

ckpt.size @rows

!x = !ckpt.tensor<rows x 64 x bf16>
!a = !ckpt.tensor<rows x 128 x bf16>
!b = !ckpt.tensor<rows x 192 x bf16>
!c = !ckpt.tensor<rows x 448 x bf16>
!d = !ckpt.tensor<rows x 512 x bf16>
!wa = !ckpt.tensor<128 x 64 x bf16>
!wb = !ckpt.tensor<192 x 128 x bf16>
!wc = !ckpt.tensor<448 x 192 x bf16>
!wd = !ckpt.tensor<512 x 448 x bf16>
!wx = !ckpt.tensor<64 x 512 x bf16>

ckpt.block @depths states(%x : !x differentiable)
    params(%wa "b.{i}.a" trainable : !wa, %wb "b.{i}.b" trainable : !wb,
           %wc "b.{i}.c" trainable : !wc, %wd "b.{i}.d" trainable : !wd,
           %wx "b.{i}.x" trainable : !wx) {
  %a = ckpt.linear %x, %wa : !x, !wa
  %b = ckpt.linear %a, %wb : !a, !wb
  %s = ckpt.silu %b : !b
  %c = ckpt.linear %s, %wc : !b, !wc
  %d = ckpt.linear %c, %wd : !c, !wd
  %o = ckpt.linear %d, %wx : !d, !wx
  %y = ckpt.add %x, %o : !x, !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @depths, 1 }
