// `ckpt.size`: with and without a default.
//
// RUN: ckpt-opt %s | FileCheck %s
// RUN: ckpt-opt %s --mlir-print-op-generic | ckpt-opt | FileCheck %s
// RUN: ckpt-opt %s --emit-bytecode | ckpt-opt | FileCheck %s

// CHECK: ckpt.size @batch default 1{{$}}
ckpt.size @batch default 1
// CHECK: ckpt.size @image{{$}}
ckpt.size @image
