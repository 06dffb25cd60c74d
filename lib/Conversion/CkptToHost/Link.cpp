//===- Link.cpp - object files into one shared object ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ObjectFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace ckpt;
using llvm::StringRef;

/// The linker beside the LLVM that this library was built with, else on PATH,
/// the one of that version first.
static llvm::Expected<std::string> findLinker() {
  if (auto path = llvm::sys::findProgramByName("ld.lld", {CKPT_LLVM_TOOLS_DIR}))
    return *path;
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError("kernels for the host need LLVM's linker: "
                                 "expected ld.lld in " CKPT_LLVM_TOOLS_DIR
                                 " or ld.lld-22 or ld.lld on PATH, found none; "
                                 "install lld-22");
}

static llvm::Error writeFile(StringRef path, llvm::ArrayRef<char> bytes) {
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file.write(bytes.data(), bytes.size());
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return llvm::createStringError(code, "cannot write '" + path.str() +
                                             "': " + code.message());
  return llvm::Error::success();
}

llvm::Error
host::linkSharedObject(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                       llvm::SmallVectorImpl<uint8_t> &result) {
  llvm::Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  llvm::SmallString<128> directory;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("ckpt-link", directory))
    return llvm::createStringError(
        code,
        "cannot make a temporary directory for linking: " + code.message());
  llvm::scope_exit cleanUp(
      [&] { llvm::sys::fs::remove_directories(directory); });

  auto inDirectory = [&](const llvm::Twine &name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return std::string(path);
  };
  std::string output = inDirectory("kernels.so");
  std::string messages = inDirectory("messages.txt");
  std::vector<std::string> args = {
      // The driver picks its behaviour by the name it is called by.
      "ld.lld", "-shared", "--build-id=none", "-z", "noexecstack",
      "-o",     output};
  for (auto [i, object] : llvm::enumerate(objects)) {
    args.push_back(inDirectory(llvm::Twine(i) + ".o"));
    if (llvm::Error error = writeFile(args.back(), object))
      return error;
  }
  std::vector<StringRef> views(args.begin(), args.end());
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages),
                                          StringRef(messages)};
  std::string failure;
  int code = llvm::sys::ExecuteAndWait(*linker, views, std::nullopt, redirects,
                                       0, 0, &failure);
  if (code != 0) {
    auto text = llvm::MemoryBuffer::getFile(messages);
    return llvm::createStringError(
        "linking the kernels with " + *linker + " failed: " + failure +
        (text ? (*text)->getBuffer().trim().str() : std::string()));
  }
  auto bytes = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return llvm::createStringError(bytes.getError(),
                                   "cannot read the linked kernels: " +
                                       bytes.getError().message());
  StringRef buffer = (*bytes)->getBuffer();
  result.assign(buffer.bytes_begin(), buffer.bytes_end());
  return llvm::Error::success();
}
