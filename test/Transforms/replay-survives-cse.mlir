// A replay computes what the forward computed: to common subexpression
// elimination it looks redundant. It is not merged with the forward, because
// the phases of a variant are regions isolated from each other: after the last
// pass the launches are those of the pipeline alone, and so are what crosses
// and the peak.
//
// RUN: ckpt-opt %examples/dit-3072.mlir --ckpt-pipeline="backend=torch blocks=4" -o %t.mlir
// RUN: ckpt-opt %t.mlir -cse -canonicalize -loop-invariant-code-motion -o %t.after.mlir
// RUN: diff %t.mlir %t.after.mlir
// RUN: FileCheck %s < %t.after.mlir
//
// Nor does it help between the levels, where the forward and the backward of a
// step are one op.
//
// RUN: ckpt-opt %examples/dit-3072.mlir --ckpt-differentiate -cse -canonicalize --ckpt-select -cse -canonicalize \
// RUN:   --ckpt-plan="backend=torch blocks=4" -cse --ckpt-rematerialize -cse -canonicalize --ckpt-offload-insertion --ckpt-segment-schedule \
// RUN:   -cse -canonicalize -loop-invariant-code-motion | FileCheck %s

// Of the forward's seven launches all but the last, which makes the result
// alone, run again. Four blocks, each a segment of its own.
// CHECK-LABEL: ckpt.variant @dit_v0
// CHECK: forward(
// CHECK-COUNT-7: ckpt.launch @{{.*}} id "f{{[0-9]}}"
// CHECK-NOT: ckpt.launch
// CHECK: replay(
// CHECK-COUNT-6: ckpt.launch @{{.*}} id "f{{[0-9]}}"
// CHECK-NOT: ckpt.launch
// CHECK: backward(
// CHECK-COUNT-7: ckpt.launch @{{.*}} id "b{{[0-9]}}"
// CHECK-NOT: ckpt.launch
// CHECK: ckpt.table [@dit_v0, @dit_v0, @dit_v0, @dit_v0] segments [0, 1, 1, 1, 1, 1, 2, 1, 1, 3, 1, 1]
// CHECK-SAME: order [0, 0, 0, 1, 0, 2, 0, 3, 1, 3, 2, 3, 1, 2, 2, 2, 1, 1, 2, 1, 1, 0, 2, 0]
