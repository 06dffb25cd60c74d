// The schedule of a planned step for given sizes: what runs where, what waits
// for what, and where in the arena results lie.
//
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=4 profile=h200" -o /dev/null | FileCheck %s
// RUN: ckpt-opt %S/Inputs/mlp.mlir --ckpt-plan="backend=unsloth blocks=2" --ckpt-rematerialize --ckpt-offload-insertion --ckpt-segment-schedule --ckpt-print-schedule="sizes=batch=4 pin-memory-max-buckets=0" -o /dev/null | FileCheck %s --check-prefix=PAGEABLE
// RUN: ckpt-opt %s --ckpt-pipeline="blocks=2" --ckpt-print-schedule="sizes=n=3" | FileCheck %s --check-prefix=STACKS
// RUN: ckpt-opt %s --ckpt-pipeline="blocks=2" --ckpt-print-schedule | FileCheck %s --check-prefix=DEFAULT

// With batch = 4 a state is 4 * 8 * 2 = 64 bytes, linear0 4 * 32 * 2 = 256 and
// the statistics 4 * 2 * 4 = 32. Block 0's state is the caller's x; block 1's
// is copied out while block 1 runs and back before its replay.
//
// CHECK:      # stream command
// CHECK:      compute f0 b0 x -> b0.f0.0 - {{.*}} layer_norm
// CHECK:      [[#MADE:]] compute record e0
// CHECK-NEXT: out wait e0 after [[#MADE]]
// CHECK-NEXT: out copy b1.x -> slot 0 pinned
// CHECK-NEXT: [[#OUT:]] out record e1
// CHECK:      compute wait e1 after [[#OUT]]
// CHECK:      ---- the forward ends, the gradients of the outputs come in ----
// CHECK:      in copy slot 0 -> b1.x' b1.x'@{{.*}} (64 B)
// CHECK-NEXT: [[#IN:]] in record
// CHECK-NEXT: compute wait {{.*}} after [[#IN]]
// CHECK-NEXT: compute f0 b1 b1.x' -> b1.f0.0' b1.layer_norm0.stats'
// CHECK-SAME:   b1.layer_norm0.stats'@{{.*}} (32 B) layer_norm, replay
// CHECK-NEXT: compute f1 b1 b1.f0.0' blocks.1.w1 -> - b1.linear0'
// CHECK-SAME:   b1.linear0'@{{.*}} (256 B)
// CHECK-NEXT: compute b0 b1
//
// It is fullest at b1 of block 0, with four values at 256 bytes each (its
// statistics, the gradient that came in, what b0 made and what b1 makes) and
// the workspace of linear_dx: 4 * 256 + 75776.
//
// CHECK:      compute b1 b0 b0.b0 blocks.0.w1 -> b0.b1
// CHECK-NEXT: compute b2 b0
// CHECK-NEXT: arena 76800 bytes (75 KiB), 1 host slots, 4 events

// PAGEABLE: out copy b1.x -> slot 0 pageable

// Two blocks of each stack, of which the first has but one; the parameters of
// each stack count from 0. The module is printed as it was.
//
// STACKS:      compute f0 b0 x blocks.0.w -> b1.x b1.x@0..24 (24 B)
// STACKS-NEXT: compute f0 b1 b1.x blocks.0.w -> b2.x
// STACKS-NEXT: compute f0 b2 b2.x blocks.1.w -> out.x
// STACKS-NEXT: ---- the forward ends
// STACKS:      arena {{[0-9]+}} bytes
// STACKS-NEXT: module {
// STACKS:        ckpt.table [@a_v0, @a_v0, @a_v0]

// The size's default: 5 * 2 * 4.
// DEFAULT: compute f0 b0 x blocks.0.w -> b1.x b1.x@0..40 (40 B)

ckpt.size @n default 5
!t = !ckpt.tensor<n x 2 x f32>
ckpt.block @a states(%x : !t differentiable) params(%w "blocks.{i}.w" frozen : !ckpt.tensor<1 x 2 x f32>) {
  %y = ckpt.mul %x, %w : !t, !ckpt.tensor<1 x 2 x f32>
  ckpt.return %y : !t
}
ckpt.stack @first { ckpt.repeat @a, 1 }
ckpt.stack @second { ckpt.repeat @a, 3 }
