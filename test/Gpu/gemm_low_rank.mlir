// Products of low rank added up beside their bases, ranks 16 and 40, sizes that
// are no multiple of a tile: forward with GELU and a residual, dX with GELU's
// gradient.

ckpt.size @rows

!x = !ckpt.tensor<rows x 328 x bf16>
!h = !ckpt.tensor<rows x 776 x bf16>
!low = !ckpt.tensor<rows x 16 x bf16>
!mid = !ckpt.tensor<rows x 40 x bf16>
!w1 = !ckpt.tensor<776 x 328 x bf16>
!w2 = !ckpt.tensor<328 x 776 x bf16>
!a1 = !ckpt.tensor<16 x 328 x bf16>
!b1 = !ckpt.tensor<776 x 16 x bf16>
!a2 = !ckpt.tensor<40 x 776 x bf16>
!b2 = !ckpt.tensor<328 x 40 x bf16>

ckpt.block @adapters states(%x : !x differentiable)
    params(%w1 "b.{i}.w1" frozen : !w1, %c1 "b.{i}.c1" frozen : !ckpt.tensor<776 x bf16>,
           %w2 "b.{i}.w2" frozen : !w2, %c2 "b.{i}.c2" frozen : !ckpt.tensor<328 x bf16>,
           %a1 "b.{i}.a1" trainable : !a1, %b1 "b.{i}.b1" trainable : !b1,
           %a2 "b.{i}.a2" trainable : !a2, %b2 "b.{i}.b2" trainable : !b2) {
  %y = ckpt.ffn {
    %p = ckpt.linear %x, %w1, %c1 : !x, !w1, !ckpt.tensor<776 x bf16>
    %t = ckpt.linear %x, %a1 : !x, !a1
    %u = ckpt.linear %t, %b1 : !low, !b1
    %s = ckpt.scale %u {factor = 0.75} : !h
    %h = ckpt.add %p, %s : !h, !h
    %g = ckpt.gelu %h {approximate = tanh} : !h
    %q = ckpt.linear %g, %w2, %c2 : !h, !w2, !ckpt.tensor<328 x bf16>
    %v = ckpt.linear %g, %a2 : !h, !a2
    %z = ckpt.linear %v, %b2 : !mid, !b2
    %o = ckpt.add %q, %z : !x, !x
    %r = ckpt.add %x, %o : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @adapters, 2 }
