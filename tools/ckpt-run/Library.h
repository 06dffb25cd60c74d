//===- Library.h - shared objects beside this program -----------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_TOOLS_CKPT_RUN_LIBRARY_H
#define CKPT_TOOLS_CKPT_RUN_LIBRARY_H

#include "Program/Result.h"

namespace ckpt::run {

/// A library that is opened when it is needed and stays open.
class Library {
public:
  /// Looks in the library directory beside this program's own, of a build and
  /// of an installation, then where the system looks.
  static rt::Result<Library> open(const std::string &fileName);

  /// The function of that name as `Function *`, or null.
  template <typename Function>
  Function *find(const char *name) const {
    return reinterpret_cast<Function *>(findSymbol(name));
  }

private:
  explicit Library(void *handle) : handle(handle) {}
  void *findSymbol(const char *name) const;
  void *handle;
};

} // namespace ckpt::run

#endif // CKPT_TOOLS_CKPT_RUN_LIBRARY_H
