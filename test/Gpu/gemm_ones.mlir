// A product whose K is no multiple of a tile (field case C1).

ckpt.size @rows

!x = !ckpt.tensor<rows x 2040 x bf16>
!y = !ckpt.tensor<rows x 1024 x bf16>

ckpt.block @ones states(%x : !x differentiable)
    params(%w "w" frozen : !ckpt.tensor<1024 x 2040 x bf16>) {
  %y = ckpt.linear %x, %w : !x, !ckpt.tensor<1024 x 2040 x bf16>
  ckpt.return %y : !y
}
ckpt.stack @model { ckpt.repeat @ones, 1 }
