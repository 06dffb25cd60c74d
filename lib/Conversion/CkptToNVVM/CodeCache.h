//===- CodeCache.h - compiled functions on disk -----------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_CODECACHE_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_CODECACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace ckpt::nvptx {

/// Files named by a hash of everything that their contents depend on, in
/// `CKPT_CACHE_DIR`, `XDG_CACHE_HOME/ckpt` or `~/.cache/ckpt`. Any number of
/// processes may share it: a file appears whole or not at all, and one that is
/// damaged counts as absent. A cache that cannot be used only costs time.
class CodeCache {
public:
  CodeCache();

  /// What the bytes depend on -> a key.
  static std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts);

  /// Nothing is ever found under an empty key.
  std::optional<std::string> find(llvm::StringRef key) const;
  void insert(llvm::StringRef key, llvm::StringRef bytes) const;

private:
  std::string fileOf(llvm::StringRef key) const;
  /// Empty: no cache.
  std::string directory;
};

/// The linker's hash of the library that this code is in: what the compiler
/// makes of an input depends on it. Empty where the linker was told to leave it
/// out.
std::string buildId();

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_CODECACHE_H
