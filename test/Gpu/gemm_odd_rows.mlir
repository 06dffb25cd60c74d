// K = 2040, no multiple of a tile's depth but of 16 bytes (field case C1: with
// ones everywhere each element of the product is 2040, exactly), and a narrow
// product at whatever number of rows: adapters of rank 16 and 40.

ckpt.size @rows

!x = !ckpt.tensor<rows x 2040 x bf16>
!low = !ckpt.tensor<rows x 16 x bf16>
!mid = !ckpt.tensor<rows x 40 x bf16>

ckpt.block @adapters states(%x : !x differentiable)
    params(%w "b.{i}.w" frozen : !ckpt.tensor<2040 x 2040 x bf16>,
           %a "b.{i}.a" trainable : !ckpt.tensor<16 x 2040 x bf16>,
           %b "b.{i}.b" trainable : !ckpt.tensor<2040 x 16 x bf16>,
           %c "b.{i}.c" trainable : !ckpt.tensor<40 x 2040 x bf16>,
           %d "b.{i}.d" trainable : !ckpt.tensor<2040 x 40 x bf16>) {
  %base = ckpt.linear %x, %w : !x, !ckpt.tensor<2040 x 2040 x bf16>
  %down = ckpt.linear %x, %a : !x, !ckpt.tensor<16 x 2040 x bf16>
  %up = ckpt.linear %down, %b : !low, !ckpt.tensor<2040 x 16 x bf16>
  %s = ckpt.scale %up {factor = 2.0} : !x
  %y = ckpt.add %base, %s : !x, !x
  %down2 = ckpt.linear %y, %c : !x, !ckpt.tensor<40 x 2040 x bf16>
  %up2 = ckpt.linear %down2, %d : !mid, !ckpt.tensor<2040 x 40 x bf16>
  %z = ckpt.add %y, %up2 : !x, !x
  ckpt.return %z : !x
}
ckpt.stack @model { ckpt.repeat @adapters, 1 }
