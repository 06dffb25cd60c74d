//===- Program.cpp - what an artifact holds -------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Program/Program.h"

using namespace ckpt::rt;

int64_t ckpt::rt::bytesOf(DType dtype) { return dtype == DType::F32 ? 4 : 2; }

const char *ckpt::rt::nameOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  }
  return "";
}

Size TensorType::elements() const {
  Size product = 1;
  for (const Size &dim : dims)
    product *= dim;
  return product;
}

Size TensorType::bytes() const { return elements() * bytesOf(dtype); }

std::string TensorType::str() const {
  std::string text;
  for (const Size &dim : dims)
    text += dim.str() + " x ";
  return text + nameOf(dtype);
}

const char *ckpt::rt::nameOf(Scope scope) {
  switch (scope) {
  case Scope::None:
    return "none";
  case Scope::Attention:
    return "attention";
  case Scope::Ffn:
    return "ffn";
  }
  return "";
}

const char *ckpt::rt::nameOf(KernelClass cls) {
  switch (cls) {
  case KernelClass::Gemm:
    return "gemm";
  case KernelClass::AttentionForward:
    return "attention_forward";
  case KernelClass::AttentionBackward:
    return "attention_backward";
  case KernelClass::RowWise:
    return "row_wise";
  }
  return "";
}

const char *ckpt::rt::nameOf(Fate fate) {
  switch (fate) {
  case Fate::Unused:
    return "unused";
  case Fate::Keep:
    return "keep";
  case Fate::Recompute:
    return "recompute";
  case Fate::Offload:
    return "offload";
  }
  return "";
}

const char *ckpt::rt::nameOf(Backend backend) {
  switch (backend) {
  case Backend::None:
    return "none";
  case Backend::Torch:
    return "torch";
  case Backend::TorchFfn:
    return "torch-ffn";
  case Backend::Unsloth:
    return "unsloth";
  case Backend::UnslothFfn:
    return "unsloth-ffn";
  }
  return "";
}
