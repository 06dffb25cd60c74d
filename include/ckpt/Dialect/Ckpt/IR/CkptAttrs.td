//===- CkptAttrs.td - enumerations -------------------------*- tablegen -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_ATTRS
#define CKPT_ATTRS

include "ckpt/Dialect/Ckpt/IR/CkptDialect.td"
include "mlir/IR/EnumAttr.td"

def Ckpt_Gelu : I32EnumAttr<"GeluKind", "which GELU", [
  I32EnumAttrCase<"Tanh", 0, "tanh">, I32EnumAttrCase<"Erf", 1, "erf">]> {
  let cppNamespace = "::ckpt";
  let genSpecializedAttr = 0;
}
def Ckpt_GeluAttr : EnumAttr<Ckpt_Dialect, Ckpt_Gelu, "gelu_kind">;

def Ckpt_KernelClass : I32EnumAttr<"KernelClass", "family of a kernel", [
  I32EnumAttrCase<"Gemm", 0, "gemm">,
  I32EnumAttrCase<"AttentionForward", 1, "attention_forward">,
  I32EnumAttrCase<"AttentionBackward", 2, "attention_backward">,
  I32EnumAttrCase<"RowWise", 3, "row_wise">]> {
  let cppNamespace = "::ckpt";
  let genSpecializedAttr = 0;
}
def Ckpt_KernelClassAttr : EnumAttr<Ckpt_Dialect, Ckpt_KernelClass, "kernel_class">;

def Ckpt_Fate : I32EnumAttr<"Fate", "what becomes of a saved value", [
  I32EnumAttrCase<"Unused", 0, "unused">, I32EnumAttrCase<"Keep", 1, "keep">,
  I32EnumAttrCase<"Recompute", 2, "recompute">,
  I32EnumAttrCase<"Offload", 3, "offload">]> {
  let cppNamespace = "::ckpt";
  let genSpecializedAttr = 0;
}
def Ckpt_FateAttr : EnumAttr<Ckpt_Dialect, Ckpt_Fate, "fate">;

#endif // CKPT_ATTRS
