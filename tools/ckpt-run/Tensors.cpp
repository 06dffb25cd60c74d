//===- Tensors.cpp - the memory of the caller's tensors -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include "Progress.h"
#include "Report/TextTable.h"
#include "Tensors/Safetensors.h"
#include "Tensors/Seeds.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace ckpt;
using namespace ckpt::run;

namespace {

// Of host memory; kernels may load whole vectors.
constexpr size_t alignment = 64;

rt::Result<Tensor> allocate(const rt::External &external,
                            const rt::SizeValues &sizes) {
  Tensor tensor;
  tensor.external = external;
  for (const rt::Size &dim : external.type.dims) {
    // A product that fits, checked below, has factors that fit.
    std::optional<int64_t> extent = dim.evaluate(sizes);
    if (!extent || *extent < 1)
      return rt::Error{external.name +
                       ": expected extents of at least 1, "
                       "found " +
                       dim.str() + " = " +
                       (extent ? std::to_string(*extent) : "a huge number")};
    tensor.shape.push_back(*extent);
  }
  std::optional<int64_t> bytes = external.type.bytes().evaluate(sizes);
  if (bytes && *bytes <= INT64_MAX - int64_t(alignment)) {
    tensor.bytes = *bytes;
    size_t rounded = (size_t(*bytes) + alignment - 1) / alignment * alignment;
    tensor.data.reset(std::aligned_alloc(alignment, rounded));
  }
  if (!tensor.data)
    return rt::Error{external.name + ": expected " +
                     (bytes ? rt::formatBytes(*bytes) : "any amount") +
                     " of memory, found less; choose smaller sizes or fewer "
                     "--blocks"};
  return tensor;
}

/// The files that were given, if any.
class Sources {
public:
  static rt::Result<Sources> open(const Options &options) {
    Sources sources;
    sources.seed = options.seed;
    for (auto [path, file] : {std::pair{&options.weights, &sources.weights},
                              std::pair{&options.inputs, &sources.inputs}}) {
      if (path->empty())
        continue;
      rt::Result<rt::SafetensorsFile> opened = rt::SafetensorsFile::open(*path);
      if (!opened.ok())
        return opened.takeError();
      *file = *opened;
    }
    return sources;
  }

  rt::Status fill(Tensor &tensor) const {
    const rt::External &external = tensor.external;
    const std::optional<rt::SafetensorsFile> *file = nullptr;
    switch (external.kind) {
    case rt::ExternalKind::Param:
      file = &weights;
      break;
    case rt::ExternalKind::State:
    case rt::ExternalKind::Input:
      file = &inputs;
      break;
    case rt::ExternalKind::OutputGradient:
      // A file of inputs seldom has them; the seed stands in.
      if (inputs && inputs->entries().count(external.name))
        file = &inputs;
      break;
    case rt::ExternalKind::Output:
    case rt::ExternalKind::Gradient:
      return {};
    }
    if (file && *file)
      return (*file)->read(external.name, tensor.shape, external.type.dtype,
                           tensor.data.get());
    rt::fillTensor(external, tensor.shape, seed, tensor.data.get());
    return {};
  }

private:
  uint64_t seed = 0;
  std::optional<rt::SafetensorsFile> weights, inputs;
};

/// 64 bits that change with any bit of what they are given: multiply and fold,
/// eight bytes at a time.
class Hash {
public:
  void add(const void *data, size_t size) {
    const char *bytes = static_cast<const char *>(data);
    for (; size >= 8; size -= 8, bytes += 8) {
      uint64_t word;
      std::memcpy(&word, bytes, 8);
      mix(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, bytes, size);
    mix(rest ^ (uint64_t(size) << 56));
  }
  std::string str() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", (unsigned long long)state);
    return text;
  }

private:
  void mix(uint64_t word) {
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  }
  uint64_t state = 0x243f6a8885a308d3u;
};

} // namespace

rt::Result<std::vector<Tensor>> run::makeTensors(const rt::Schedule &schedule,
                                                 const Options &options) {
  rt::Result<Sources> sources = Sources::open(options);
  if (!sources.ok())
    return sources.takeError();
  // All memory first: what does not fit is known before work is done.
  std::vector<Tensor> tensors;
  for (const rt::External &external : schedule.externals) {
    rt::Result<Tensor> tensor = allocate(external, schedule.sizeValues);
    if (!tensor.ok())
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  Progress progress("filling tensors");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (rt::Status status = sources->fill(tensors[i]); !status.ok())
      return rt::Error{status.message()};
    progress.set(int64_t(i + 1), int64_t(tensors.size()));
  }
  return tensors;
}

std::string run::digestOf(const std::vector<Tensor> &tensors) {
  Hash hash;
  for (const Tensor &tensor : tensors) {
    if (!tensor.isResult())
      continue;
    hash.add(tensor.external.name.data(), tensor.external.name.size());
    hash.add(tensor.data.get(), size_t(tensor.bytes));
  }
  return hash.str();
}

rt::Status run::readResults(std::vector<Tensor> &tensors,
                            const std::string &path) {
  rt::Result<rt::SafetensorsFile> file = rt::SafetensorsFile::open(path);
  if (!file.ok())
    return rt::Error{file.message()};
  for (Tensor &tensor : tensors)
    if (tensor.isResult())
      if (rt::Status status =
              file->read(tensor.external.name, tensor.shape,
                         tensor.external.type.dtype, tensor.data.get());
          !status.ok())
        return status;
  return {};
}

rt::Status run::saveResults(const std::vector<Tensor> &tensors,
                            const std::string &path) {
  std::vector<rt::SafetensorsTensor> results;
  for (const Tensor &tensor : tensors)
    if (tensor.isResult())
      results.push_back({tensor.external.name, tensor.shape,
                         tensor.external.type.dtype, tensor.data.get()});
  return rt::writeSafetensors(path, results);
}
