//===- Library.cpp - shared objects beside this program -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include <climits>
#include <dlfcn.h>
#include <unistd.h>

using namespace ckpt;
using namespace ckpt::run;

namespace {

/// The directory of this program, with links resolved, or empty.
std::string programDirectory() {
  char path[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0)
    return "";
  std::string text(path, size_t(size));
  return text.substr(0, text.rfind('/'));
}

} // namespace

rt::Result<Library> Library::open(const std::string &fileName) {
  std::string directory = programDirectory();
  std::string beside = directory + "/../lib/" + fileName;
  std::string firstError;
  for (const std::string &path :
       {beside, directory + "/../" CKPT_INSTALL_LIBDIR "/" + fileName,
        fileName}) {
    // Now, so that a library that lacks something is refused here.
    if (void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return Library(handle);
    const char *error = dlerror();
    // A library that is there and does not open is the reason to tell.
    bool exists = access(path.c_str(), F_OK) == 0;
    if (firstError.empty() || exists)
      firstError = error;
    if (exists)
      break;
  }
  return rt::Error{"expected the library " + fileName + " as " + beside +
                   ", found: " + firstError};
}

void *Library::findSymbol(const char *name) const {
  return dlsym(handle, name);
}
