//===- Safetensors.cpp - files of named tensors ---------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Tensors/Safetensors.h"

#include "Program/OutputFile.h"
#include "Tensors/Convert.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ckpt::rt;
using Json = nlohmann::json;

struct SafetensorsFile::Mapping {
  std::string path;
  std::map<std::string, SafetensorsEntry> entries;
  void *base = nullptr;
  size_t bytes = 0;
  const unsigned char *data = nullptr;
  ~Mapping() {
    if (base)
      munmap(base, bytes);
  }
};

namespace {
/// A file descriptor that closes itself.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
};
} // namespace

static std::string quoted(const std::string &text) { return "'" + text + "'"; }

static std::string printShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// As files spell it.
static const char *fileNameOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "F32";
  case DType::BF16:
    return "BF16";
  case DType::F16:
    return "F16";
  }
  return "";
}

/// Bytes of an element, 0 for a type that this reader does not know.
static uint64_t elementBytes(const std::string &dtype) {
  static const std::map<std::string, uint64_t> sizes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2},     {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  auto it = sizes.find(dtype);
  return it == sizes.end() ? 0 : it->second;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// One entry of the header; the message starts after "tensor 'name': ".
static std::optional<std::string> parseEntry(const Json &json,
                                             SafetensorsEntry &entry) {
  if (!json.is_object())
    return "expected an object with dtype, shape and data_offsets";
  auto dtype = json.find("dtype"), shape = json.find("shape"),
       offsets = json.find("data_offsets");
  if (dtype == json.end() || !dtype->is_string())
    return "expected a string 'dtype'";
  if (shape == json.end() || !shape->is_array())
    return "expected an array 'shape'";
  if (offsets == json.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned())
    return "expected two byte positions as 'data_offsets'";
  entry.dtype = dtype->get<std::string>();
  entry.begin = (*offsets)[0].get<uint64_t>();
  entry.end = (*offsets)[1].get<uint64_t>();
  uint64_t elements = 1;
  for (const Json &extent : *shape) {
    if (!extent.is_number_unsigned() ||
        extent.get<uint64_t>() > uint64_t(INT64_MAX))
      return "expected extents of at least 0 in 'shape', found " +
             extent.dump(-1, ' ', true, Json::error_handler_t::replace);
    entry.shape.push_back(static_cast<int64_t>(extent.get<uint64_t>()));
    if (__builtin_mul_overflow(elements, extent.get<uint64_t>(), &elements))
      return "shape " + printShape(entry.shape) + " has too many elements";
  }
  if (entry.begin > entry.end)
    return "data_offsets end before they begin: " +
           std::to_string(entry.begin) + " to " + std::to_string(entry.end);
  uint64_t size = elementBytes(entry.dtype), bytes = 0;
  if (size && (__builtin_mul_overflow(elements, size, &bytes) ||
               bytes != entry.end - entry.begin))
    return "expected " + std::to_string(elements) + " elements of " +
           entry.dtype + ", found " + std::to_string(entry.end - entry.begin) +
           " bytes";
  return std::nullopt;
}

/// No two entries share bytes and the data reaches as far as they do.
static std::optional<std::string>
checkLayout(const std::map<std::string, SafetensorsEntry> &entries,
            uint64_t dataBytes) {
  std::vector<std::pair<uint64_t, const std::string *>> order;
  for (const auto &[name, entry] : entries) {
    if (entry.end > dataBytes)
      return "the file is cut off: tensor " + quoted(name) + " ends at byte " +
             std::to_string(entry.end) + " of the data, found " +
             std::to_string(dataBytes) + " bytes of data";
    if (entry.begin != entry.end)
      order.push_back({entry.begin, &name});
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 1; i < order.size(); ++i)
    if (entries.at(*order[i - 1].second).end > order[i].first)
      return "tensors " + quoted(*order[i - 1].second) + " and " +
             quoted(*order[i].second) + " overlap at byte " +
             std::to_string(order[i].first) + " of the data";
  return std::nullopt;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0)
    return Error{"cannot open " + quoted(path) + ": " + strerror(errno)};
  auto fail = [&](const std::string &text) {
    return Error{quoted(path) + " is not a safetensors file: " + text};
  };
  if (!S_ISREG(info.st_mode))
    return fail("expected a regular file");
  auto size = static_cast<uint64_t>(info.st_size);
  if (size < 8)
    return fail("expected at least 8 bytes, found " + std::to_string(size));
  void *base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (base == MAP_FAILED)
    return Error{"cannot map " + quoted(path) + ": " + strerror(errno)};
  auto mapping = std::make_shared<Mapping>();
  mapping->path = path;
  mapping->base = base;
  mapping->bytes = size;

  auto *bytes = static_cast<const unsigned char *>(base);
  uint64_t header = 0;
  for (int i = 7; i >= 0; --i)
    header = header << 8 | bytes[i];
  if (header > size - 8)
    return fail("expected a header of " + std::to_string(header) +
                " bytes, found " + std::to_string(size - 8) +
                " bytes after its length");
  mapping->data = bytes + 8 + header;
  Json json = Json::parse(bytes + 8, mapping->data, nullptr,
                          /*allow_exceptions=*/false);
  if (!json.is_object())
    return fail("expected a JSON object as header");
  for (const auto &[name, value] : json.items()) {
    if (name == "__metadata__")
      continue;
    if (auto text = parseEntry(value, mapping->entries[name]))
      return fail("tensor " + quoted(name) + ": " + *text);
  }
  if (auto text = checkLayout(mapping->entries, size - 8 - header))
    return fail(*text);
  return SafetensorsFile(std::move(mapping));
}

const std::map<std::string, SafetensorsEntry> &
SafetensorsFile::entries() const {
  return mapping->entries;
}

const std::string &SafetensorsFile::path() const { return mapping->path; }

/// `load(i)` is element i as f32; `i` counts elements of the stored type.
template <typename Load>
static void convert(int64_t count, DType dtype, void *dst, Load load) {
  for (int64_t i = 0; i < count; ++i)
    store(dst, i, dtype, load(i));
}

/// Unaligned: data may start anywhere in the file.
template <typename T>
static T loadAt(const unsigned char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

Status SafetensorsFile::read(const std::string &name,
                             const std::vector<int64_t> &shape, DType dtype,
                             void *dst) const {
  auto it = mapping->entries.find(name);
  if (it == mapping->entries.end())
    return Error{"no tensor " + quoted(name) + " in " + quoted(mapping->path)};
  const SafetensorsEntry &entry = it->second;
  if (entry.shape != shape)
    return Error{"tensor " + quoted(name) + " in " + quoted(mapping->path) +
                 ": expected shape " + printShape(shape) + ", found " +
                 printShape(entry.shape)};
  if (entry.begin == entry.end)
    return {};
  const unsigned char *data = mapping->data + entry.begin;
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  if (entry.dtype == fileNameOf(dtype))
    std::memcpy(dst, data, entry.end - entry.begin);
  else if (entry.dtype == "F32")
    convert(count, dtype, dst,
            [&](int64_t i) { return loadAt<float>(data, i); });
  else if (entry.dtype == "BF16")
    convert(count, dtype, dst,
            [&](int64_t i) { return fromBf16(loadAt<uint16_t>(data, i)); });
  else if (entry.dtype == "F16")
    convert(count, dtype, dst,
            [&](int64_t i) { return fromF16(loadAt<uint16_t>(data, i)); });
  else if (entry.dtype == "F64")
    convert(count, dtype, dst, [&](int64_t i) {
      return static_cast<float>(loadAt<double>(data, i));
    });
  else
    return Error{"tensor " + quoted(name) + " in " + quoted(mapping->path) +
                 ": expected F32, BF16, F16 or F64, found " + entry.dtype};
  return {};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Status
ckpt::rt::writeSafetensors(const std::string &path,
                           const std::vector<SafetensorsTensor> &tensors) {
  Json json = Json::object();
  std::vector<uint64_t> sizes;
  uint64_t offset = 0;
  for (const SafetensorsTensor &tensor : tensors) {
    auto bytes = static_cast<uint64_t>(bytesOf(tensor.dtype));
    for (int64_t extent : tensor.shape)
      bytes *= static_cast<uint64_t>(extent);
    if (json.contains(tensor.name))
      return Error{"cannot write " + quoted(path) + ": two tensors are named " +
                   quoted(tensor.name)};
    json[tensor.name] = {{"dtype", fileNameOf(tensor.dtype)},
                         {"shape", tensor.shape},
                         {"data_offsets", {offset, offset + bytes}}};
    sizes.push_back(bytes);
    offset += bytes;
  }
  std::string header = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  // The data starts at a multiple of 8.
  header.append((8 - header.size() % 8) % 8, ' ');
  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<unsigned char>(uint64_t(header.size()) >> (8 * i));

  OutputFile file(path);
  file.write(length, sizeof length);
  file.write(header.data(), header.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    file.write(tensors[i].data, sizes[i]);
  return file.commit();
}
