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
#include <cstring>
#include <link.h>

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
  if (directory.empty() || key.empty())
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
  if (directory.empty() || key.empty())
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

//===----------------------------------------------------------------------===//
// Build id
//===----------------------------------------------------------------------===//

namespace {
struct BuildIdSearch {
  uintptr_t address;
  std::string id;
};
} // namespace

static bool holds(const dl_phdr_info &library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = library.dlpi_phdr[i];
    uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin &&
        address - begin < segment.p_memsz)
      return true;
  }
  return false;
}

/// Looks through a segment of notes: a header, a name and a text each, padded
/// to 4 bytes.
static std::string buildIdOf(StringRef notes) {
  auto padded = [](size_t size) { return (size + 3) & ~size_t(3); };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes = notes.drop_front(sizeof header);
    StringRef name = notes.take_front(header.n_namesz);
    notes = notes.drop_front(std::min(padded(header.n_namesz), notes.size()));
    if (header.n_type == NT_GNU_BUILD_ID && name == StringRef("GNU\0", 4))
      return toHex(notes.take_front(header.n_descsz), /*LowerCase=*/true);
    notes = notes.drop_front(std::min(padded(header.n_descsz), notes.size()));
  }
  return "";
}

std::string ckpt::nvptx::buildId() {
  BuildIdSearch search = {reinterpret_cast<uintptr_t>(&buildIdOf), ""};
  dl_iterate_phdr(
      [](dl_phdr_info *library, size_t, void *data) {
        auto &search = *static_cast<BuildIdSearch *>(data);
        if (!holds(*library, search.address))
          return 0;
        for (int i = 0; i < library->dlpi_phnum && search.id.empty(); ++i) {
          const ElfW(Phdr) &segment = library->dlpi_phdr[i];
          if (segment.p_type == PT_NOTE)
            search.id =
                buildIdOf(StringRef(reinterpret_cast<const char *>(
                                        library->dlpi_addr + segment.p_vaddr),
                                    segment.p_memsz));
        }
        return 1;
      },
      &search);
  return search.id;
}
