// A pre-norm MLP after ckpt-select, four blocks of it. All is frozen; the
// stack's first state is differentiable. The backward reads the state x, the
// norm's statistics and what gelu_dx reads: linear0.

ckpt.size @batch
!x = !ckpt.tensor<batch x 8 x bf16>
!stats = !ckpt.tensor<batch x 2 x f32>
!h = !ckpt.tensor<batch x 32 x bf16>
!w1 = !ckpt.tensor<32 x 8 x bf16>
!w2 = !ckpt.tensor<8 x 32 x bf16>

ckpt.block @mlp
    states(%x : !x differentiable)
    params(
      %w1 "blocks.{i}.w1" frozen : !w1,
      %w2 "blocks.{i}.w2" frozen : !w2) {
  %0 = ckpt.ffn {
    %y = ckpt.layer_norm %x {eps = 1.0e-6} : !x
    %1 = ckpt.linear %y, %w1 : !x, !w1
    %2 = ckpt.gelu %1 {approximate = tanh} : !h
    %3 = ckpt.linear %2, %w2 : !h, !w2
    %4 = ckpt.add %x, %3 : !x
    ckpt.yield %4 : !x
  } : !x
  ckpt.return %0 : !x
}
ckpt.kernel @layer_norm row_wise(%arg0: !x) workspace "0" flops "8*batch" traffic "40*batch" {
  %y, %stats = ckpt.layer_norm %arg0 {eps = 1.0e-6, with_stats} : !x
  ckpt.yield %y, %stats : !x, !stats
}
ckpt.kernel @linear_gelu gemm(%arg0: !x, %arg1: !w1) workspace "62464" flops "544*batch" traffic "144*batch + 512" {
  %0 = ckpt.linear %arg0, %arg1 : !x, !w1
  %1 = ckpt.gelu %0 {approximate = tanh} : !h
  ckpt.yield %1, %0 : !h, !h
}
ckpt.kernel @linear_add gemm(%arg0: !h, %arg1: !w2, %arg2: !x) workspace "75776" flops "520*batch" traffic "96*batch + 512" {
  %0 = ckpt.linear %arg0, %arg1 : !h, !w2
  %1 = ckpt.add %arg2, %0 : !x
  ckpt.yield %1 : !x
}
ckpt.kernel @linear_dx_gelu_dx gemm(%arg0: !x, %arg1: !w2, %arg2: !h) workspace "62464" flops "544*batch" traffic "144*batch + 512" {
  %0 = ckpt.linear_dx %arg0, %arg1 : !x, !w2
  %1 = ckpt.gelu_dx %0, %arg2 {approximate = tanh} : !h
  ckpt.yield %1 : !h
}
ckpt.kernel @linear_dx gemm(%arg0: !h, %arg1: !w1) workspace "75776" flops "512*batch" traffic "80*batch + 512" {
  %0 = ckpt.linear_dx %arg0, %arg1 : !h, !w1
  ckpt.yield %0 : !x
}
ckpt.kernel @layer_norm_dx_add row_wise(%arg0: !x, %arg1: !x, %arg2: !stats, %arg3: !x) workspace "0" flops "16*batch" traffic "72*batch" {
  %0 = ckpt.layer_norm_dx %arg0, %arg1, %arg2 : !x, !x, !stats
  %1 = ckpt.add %0, %arg3 : !x
  ckpt.yield %1 : !x
}
ckpt.step @mlp_step of @mlp
  forward(%arg0: !x, %arg1: !w1, %arg2: !w2) {
    %0:2 = ckpt.launch @layer_norm id "f0"(%arg0) {in_place = array<i64: 0, 0>, scope = "ffn"} : (!x) -> (!x, !stats)
    %1:2 = ckpt.launch @linear_gelu id "f1"(%0#0, %arg1) {scope = "ffn"} : (!x, !w1) -> (!h, !h)
    %2 = ckpt.launch @linear_add id "f2"(%1#0, %arg2, %arg0) {in_place = array<i64: 2, 0>, scope = "ffn"} : (!h, !w2, !x) -> !x
    ckpt.save %arg0 "x" {ffn_operand, state = 0 : i64} : !x
    ckpt.save %0#1 "layer_norm0.stats" {producer = "ffn"} : !stats
    ckpt.save %1#1 "linear0" {producer = "ffn"} : !h
    ckpt.yield %2 : !x
  }
  backward(%arg0: !x, %arg1: !w1, %arg2: !w2) {
    %0 = ckpt.load "linear0" : !h
    %1 = ckpt.load "x" : !x
    %2 = ckpt.load "layer_norm0.stats" : !stats
    %3 = ckpt.launch @linear_dx_gelu_dx id "b0"(%arg0, %arg2, %0) {in_place = array<i64: 2, 0>, scope = "ffn"} : (!x, !w2, !h) -> !h
    %4 = ckpt.launch @linear_dx id "b1"(%3, %arg1) {scope = "ffn"} : (!h, !w1) -> !x
    %5 = ckpt.launch @layer_norm_dx_add id "b2"(%4, %1, %2, %arg0) {in_place = array<i64: 0, 0, 1, 0, 3, 0>, scope = "ffn"} : (!x, !x, !stats, !x) -> !x
    ckpt.yield %5 : !x
  }
ckpt.stack @model {
  ckpt.repeat @mlp, 4
}
