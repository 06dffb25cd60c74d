// Two low-rank linears after ckpt-select, two blocks of them. A and B are
// trained, the input c is differentiable, the stack's first state is not.

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x bf16>
!low = !ckpt.tensor<batch x 2 x bf16>
!a = !ckpt.tensor<2 x 8 x bf16>
!b = !ckpt.tensor<8 x 2 x bf16>
!c = !ckpt.tensor<8 x bf16>
!sum = !ckpt.tensor<8 x f32>

ckpt.block @lora
    states(%x : !x)
    inputs(%c : !c differentiable)
    params(
      %a "blocks.{i}.a" trainable : !a,
      %b "blocks.{i}.b" trainable : !b) {
  %0 = ckpt.silu %x : !x
  %1 = ckpt.linear %0, %a : !x, !a
  %2 = ckpt.linear %1, %b : !low, !b
  %3 = ckpt.mul %2, %c : !x, !c
  %4 = ckpt.add %x, %3 : !x
  ckpt.return %4 : !x
}
ckpt.kernel @silu row_wise(%arg0: !x) workspace "0" flops "8*batch" traffic "32*batch" {
  %0 = ckpt.silu %arg0 : !x
  ckpt.yield %0 : !x
}
ckpt.kernel @linear gemm(%arg0: !x, %arg1: !a) workspace "37376" flops "32*batch" traffic "20*batch + 32" {
  %0 = ckpt.linear %arg0, %arg1 : !x, !a
  ckpt.yield %0 : !low
}
ckpt.kernel @linear_mul_add gemm(%arg0: !low, %arg1: !b, %arg2: !c, %arg3: !x) workspace "37376" flops "48*batch" traffic "52*batch + 48" {
  %0 = ckpt.linear %arg0, %arg1 : !low, !b
  %1 = ckpt.mul %0, %arg2 : !x, !c
  %2 = ckpt.add %arg3, %1 : !x
  ckpt.yield %2, %0 : !x, !x
}
ckpt.kernel @mul row_wise(%arg0: !x, %arg1: !c) workspace "0" flops "8*batch" traffic "32*batch + 16" {
  %0 = ckpt.mul %arg0, %arg1 : !x, !c
  ckpt.yield %0 : !x
}
ckpt.kernel @mul_accumulate row_wise(%arg0: !x, %arg1: !x, %arg2: !sum) workspace "32" flops "16*batch" traffic "32*batch + 64" {
  %0 = ckpt.mul %arg0, %arg1 : !x
  %1 = ckpt.accumulate %arg2, %0 : !sum, !x
  ckpt.yield %1 : !sum
}
ckpt.kernel @linear_dx gemm(%arg0: !x, %arg1: !b) workspace "37376" flops "32*batch" traffic "20*batch + 32" {
  %0 = ckpt.linear_dx %arg0, %arg1 : !x, !b
  ckpt.yield %0 : !low
}
ckpt.kernel @linear_dw_cast gemm(%arg0: !x, %arg1: !low) workspace "66304" flops "32*batch + 16" traffic "20*batch + 32" {
  %0 = ckpt.linear_dw %arg0, %arg1 {to = f32} : !x, !low
  %1 = ckpt.cast %0 {to = bf16} : !ckpt.tensor<8 x 2 x f32>
  ckpt.yield %1 : !b
}
ckpt.kernel @linear_dw_cast_0 gemm(%arg0: !low, %arg1: !x) workspace "65920" flops "32*batch + 16" traffic "20*batch + 32" {
  %0 = ckpt.linear_dw %arg0, %arg1 {to = f32} : !low, !x
  %1 = ckpt.cast %0 {to = bf16} : !ckpt.tensor<2 x 8 x f32>
  ckpt.yield %1 : !a
}
ckpt.kernel @linear_dx_silu_dx_add gemm(%arg0: !low, %arg1: !a, %arg2: !x, %arg3: !x) workspace "37376" flops "48*batch" traffic "52*batch + 32" {
  %0 = ckpt.linear_dx %arg0, %arg1 : !low, !a
  %1 = ckpt.silu_dx %0, %arg2 : !x
  %2 = ckpt.add %1, %arg3 : !x
  ckpt.yield %2 : !x
}
ckpt.kernel @cast row_wise(%arg0: !sum) workspace "0" flops "8" traffic "48" attributes {gradient_casts = ["grad.c"]} {
  %0 = ckpt.cast %arg0 {to = bf16} : !sum
  ckpt.yield %0 : !c
}
ckpt.step @lora_step of @lora
  forward(%arg0: !x, %arg1: !c, %arg2: !a, %arg3: !b) {
    %0 = ckpt.launch @silu id "f0"(%arg0) {in_place = array<i64: 0, 0>} : (!x) -> !x
    %1 = ckpt.launch @linear id "f1"(%0, %arg2) : (!x, !a) -> !low
    %2:2 = ckpt.launch @linear_mul_add id "f2"(%1, %arg3, %arg1, %arg0) {in_place = array<i64: 3, 0, 3, 1>} : (!low, !b, !c, !x) -> (!x, !x)
    ckpt.save %arg0 "x" {state = 0 : i64} : !x
    ckpt.save %0 "silu0" : !x
    ckpt.save %1 "linear0" : !low
    ckpt.save %2#1 "linear1" : !x
    ckpt.yield %2#0 : !x
  }
  backward(%arg0: !x, %arg1: !sum, %arg2: !c, %arg3: !a, %arg4: !b) {
    %0 = ckpt.load "linear1" : !x
    %1 = ckpt.load "linear0" : !low
    %2 = ckpt.load "silu0" : !x
    %3 = ckpt.load "x" : !x
    %4 = ckpt.launch @mul id "b0"(%arg0, %arg2) {in_place = array<i64: 0, 0>} : (!x, !c) -> !x
    %5 = ckpt.launch @mul_accumulate id "b1"(%arg0, %0, %arg1) {in_place = array<i64: 2, 0>} : (!x, !x, !sum) -> !sum
    %6 = ckpt.launch @linear_dx id "b2"(%4, %arg4) : (!x, !b) -> !low
    %7 = ckpt.launch @linear_dw_cast id "b3"(%4, %1) : (!x, !low) -> !b
    %8 = ckpt.launch @linear_dw_cast_0 id "b4"(%6, %2) : (!low, !x) -> !a
    %9 = ckpt.launch @linear_dx_silu_dx_add id "b5"(%6, %arg3, %3, %arg0) {in_place = array<i64: 2, 0, 3, 0>} : (!low, !a, !x, !x) -> !x
    ckpt.yield %9, %5, %8, %7 : !x, !sum, !a, !b
  }
ckpt.stack @model {
  ckpt.repeat @lora, 2
}
