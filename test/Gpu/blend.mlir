// A masked blend of two views of one norm: row-wise kernels alone, so that a
// step is nearly all copies (field cases X1, X3, M1, M3).

ckpt.size @batch default 1
ckpt.size @image

!x = !ckpt.tensor<batch x image x 4096 x bf16>
!half = !ckpt.tensor<batch x image x 2048 x bf16>
!mask = !ckpt.tensor<batch x image x 1 x bf16>

ckpt.block @blend states(%x : !x differentiable) inputs(%mask : !mask) params() {
  %y = ckpt.ffn {
    %n = ckpt.rms_norm %x {eps = 1.0e-6} : !x
    %u = ckpt.slice %n {dim = 2, offset = "0", extent = "2048"} : !x
    %v = ckpt.slice %n {dim = 2, offset = "2048", extent = "2048"} : !x
    %g = ckpt.gelu %u {approximate = tanh} : !half
    %t = ckpt.mul %g, %v : !half, !half
    %c = ckpt.concat %t, %g {dim = 2} : !half, !half
    %m = ckpt.mul %c, %mask : !x, !mask
    %r = ckpt.add %x, %m : !x, !x
    ckpt.yield %r : !x
  } : !x
  ckpt.return %y : !x
}
ckpt.stack @model { ckpt.repeat @blend, 8 }
