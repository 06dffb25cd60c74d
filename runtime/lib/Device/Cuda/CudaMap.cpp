//===- CudaMap.cpp - TMA descriptors --------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Cuda/CudaKernel.h"

#include <cstring>

using namespace ckpt::rt;
using namespace ckpt::rt::cuda;

/// Places for descriptors; a power of two. More than the blocks of most models
/// times the launches of one kernel in a block.
static constexpr size_t numEntries = 256;
/// What TMA asks of addresses, strides and the rows of a box, bytes.
static constexpr int64_t granule = 16;

// The driver's numbers.
static int numberOf(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return 6;
  case DType::F32:
    return 7;
  case DType::BF16:
    return 9;
  }
  return 0;
}

static int numberOfSwizzle(int bytes) {
  return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

Result<CudaMap> CudaMap::make(const LaunchArgument &argument,
                              const SizeValues &values,
                              const std::string &tensor) {
  CudaMap map;
  map.argument = argument.argument;
  map.tensor = tensor;
  map.dtype = numberOf(argument.dtype);
  map.swizzle = numberOfSwizzle(argument.swizzle);
  auto number = [&](const char *what, const Formula &formula, int64_t least,
                    int64_t end) -> Result<int64_t> {
    std::optional<int64_t> value = formula.evaluate(values);
    if (value && *value >= least && *value < end)
      return *value;
    return Error{tensor + ": " + what + " of " +
                 (value ? std::to_string(*value)
                        : formula.str() + ", which has no value") +
                 "; expected " + std::to_string(least) + " to less than " +
                 std::to_string(end)};
  };
  Result<int64_t> offset = number("an offset", argument.offset, 0, INT64_MAX);
  if (!offset.ok())
    return offset.takeError();
  map.offset = *offset;
  for (const Formula &formula : argument.extents) {
    Result<int64_t> extent =
        number("an extent", formula, 1, (INT64_C(1) << 32) + 1);
    if (!extent.ok())
      return extent.takeError();
    map.extents.push_back(uint64_t(*extent));
  }
  for (const Formula &formula : argument.strides) {
    bool isRow = map.strides.empty();
    Result<int64_t> stride =
        number(isRow ? "rows" : "a stride", formula, 1, INT64_C(1) << 40);
    if (!stride.ok())
      return stride.takeError();
    if (*stride % granule)
      return Error{tensor + ": " + (isRow ? "rows of " : "a stride of ") +
                   std::to_string(*stride) +
                   " bytes; expected a multiple of 16, which the GPU's copy "
                   "unit asks for"};
    map.strides.push_back(uint64_t(*stride));
  }
  map.box.assign(argument.box.begin(), argument.box.end());
  int64_t row = argument.box[0] * bytesOf(argument.dtype);
  if (row % granule || (argument.swizzle && row > argument.swizzle))
    return Error{tensor + ": box rows of " + std::to_string(row) +
                 " bytes; expected a multiple of 16 that the swizzle of " +
                 std::to_string(argument.swizzle) + " bytes holds"};
  map.entries.assign(numEntries, {});
  return map;
}

Result<TensorMap *> CudaMap::at(const Driver &driver, void *address) {
  static TensorMap zeros = {};
  if (!address)
    return &zeros;
  // Allocations are multiples of 256 apart.
  uint64_t hash = uint64_t(addressOf(address)) * 0x9e3779b97f4a7c15;
  Entry &entry = entries[(hash >> 32) % numEntries];
  if (entry.address == address)
    return &entry.map;
  entry.address = nullptr;
  if (Status status = encode(driver, address, entry.map); !status.ok())
    return Error{status.message()};
  entry.address = address;
  return &entry.map;
}

Status CudaMap::encode(const Driver &driver, void *address,
                       TensorMap &map) const {
  char *from = static_cast<char *>(address) + offset;
  if (addressOf(from) % granule)
    return Error{tensor + ": an address that is no multiple of 16; expected "
                          "one, which the GPU's copy unit asks for"};
  constexpr uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  constexpr int interleaveNone = 0, promotion256 = 3, zerosOutside = 0;
  Code code = driver.encodeMap(&map, dtype, unsigned(extents.size()), from,
                               extents.data(), strides.data(), box.data(),
                               elementStrides, interleaveNone, swizzle,
                               promotion256, zerosOutside);
  if (!code)
    return {};
  auto list = [](const auto &numbers) {
    std::string text;
    for (auto number : numbers)
      text += (text.empty() ? "" : " ") + std::to_string(number);
    return text;
  };
  return driver.error(code, tensor + ": cuTensorMapEncodeTiled of extents " +
                                list(extents) + ", strides " + list(strides) +
                                ", box " + list(box));
}
