//===- CodeCache.cpp - compiled functions on disk -------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CodeCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace ckpt::nvptx;

static std::string hash(ArrayRef<StringRef> parts) {
  SHA256 sha;
  for (StringRef part : parts) {
    // Lengths too, so that no two lists of parts run into the same bytes.
    sha.update(std::to_string(part.size()) + ":");
    sha.update(part);
  }
  return toHex(sha.final(), /*LowerCase=*/true);
}

std::string CodeCache::keyOf(ArrayRef<StringRef> parts) { return hash(parts); }

CodeCache::CodeCache() {
  SmallString<128> path;
  if (const char *given = std::getenv("CKPT_CACHE_DIR")) {
    path = given;
  } else {
    // XDG_CACHE_HOME, or .cache in the home directory.
    if (!sys::path::cache_directory(path))
      return;
    sys::path::append(path, "ckpt");
  }
  if (!path.empty() && !sys::fs::create_directories(path))
    directory = path.str().str();
}

std::string CodeCache::fileOf(StringRef key) const {
  SmallString<128> path(directory);
  sys::path::append(path, key);
  return path.str().str();
}

// A file holds the hash of the bytes that follow.
static constexpr size_t hashLength = 64;

std::optional<std::string> CodeCache::find(StringRef key) const {
  if (directory.empty())
    return std::nullopt;
  auto buffer = MemoryBuffer::getFile(fileOf(key));
  if (!buffer || (*buffer)->getBufferSize() < hashLength)
    return std::nullopt;
  StringRef text = (*buffer)->getBuffer();
  StringRef bytes = text.drop_front(hashLength);
  if (hash(bytes) != text.take_front(hashLength))
    return std::nullopt;
  return bytes.str();
}

void CodeCache::insert(StringRef key, StringRef bytes) const {
  if (directory.empty())
    return;
  Expected<sys::fs::TempFile> file =
      sys::fs::TempFile::create(fileOf(key) + ".%%%%%%%%");
  if (!file)
    return consumeError(file.takeError());
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << hash(bytes) << bytes;
  stream.flush();
  if (stream.has_error()) {
    stream.clear_error();
    return consumeError(file->discard());
  }
  consumeError(file->keep(fileOf(key)));
}
