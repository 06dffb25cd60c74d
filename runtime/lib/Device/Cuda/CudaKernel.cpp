//===- CudaKernel.cpp - a launch recipe at certain sizes ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/Cuda/CudaKernel.h"

#include <cstring>

using namespace ckpt::rt;
using namespace ckpt::rt::cuda;

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<CudaKernel>>
CudaKernel::make(const CudaDevice &device, const Program &program,
                 const Kernel &kernel, const Alternative &alternative,
                 const SizeValues &values,
                 const std::vector<std::string> &names,
                 const std::vector<FunctionHandle> &functions) {
  std::unique_ptr<CudaKernel> made(new CudaKernel(device.driver));
  made->label = "kernel '" + kernel.symbol + "' (" + alternative.name + ")";
  for (const GpuLaunch &launch : alternative.launches)
    if (Status status =
            made->add(device, program, launch, values, names, functions);
        !status.ok())
      return Error{made->label + ": " + status.message()};
  return made;
}

/// `tensor 'blocks.0.fc1.weight' (argument 1)`.
static std::string describe(int argument,
                            const std::vector<std::string> &names) {
  if (argument < 0)
    return "the workspace";
  std::string number = "argument " + std::to_string(argument);
  if (size_t(argument) >= names.size() || names[argument].empty())
    return number;
  return "tensor '" + names[argument] + "' (" + number + ")";
}

static Result<int64_t> evaluate(const char *what, const Formula &formula,
                                const SizeValues &values, int64_t least,
                                int64_t most) {
  std::optional<int64_t> value = formula.evaluate(values);
  if (value && *value >= least && *value <= most)
    return *value;
  return Error{std::string(what) + ": expected " + std::to_string(least) +
               " to " + std::to_string(most) + ", found " +
               (value ? std::to_string(*value) : "no value") + " (" +
               formula.str() + "); choose smaller sizes"};
}

Status CudaKernel::add(const CudaDevice &device, const Program &program,
                       const GpuLaunch &launch, const SizeValues &values,
                       const std::vector<std::string> &names,
                       const std::vector<FunctionHandle> &functions) {
  Part part;
  const GpuFunction *function = nullptr;
  if (launch.function >= 0) {
    function = &program.functions[launch.function];
    part.function = functions[launch.function];
    part.threads = unsigned(function->threads);
    part.sharedBytes = unsigned(function->sharedBytes);
    if (function->sharedBytes > device.sharedLimit)
      return Error{"shared memory of " + function->symbol + ": expected " +
                   std::to_string(device.sharedLimit) +
                   " bytes at most, found " +
                   std::to_string(function->sharedBytes)};
  }
  const std::pair<const Formula *, int64_t> dimensions[] = {
      {&launch.gridX, INT32_MAX},
      {&launch.gridY, UINT16_MAX},
      {&launch.gridZ, UINT16_MAX}};
  bool isEmpty = false;
  for (int i = 0; i < 3; ++i) {
    Result<int64_t> blocks =
        evaluate("grid", *dimensions[i].first, values, 0, dimensions[i].second);
    if (!blocks.ok())
      return blocks.takeError();
    part.grid[i] = unsigned(*blocks);
    isEmpty |= *blocks == 0;
  }
  Result<int64_t> fillBytes =
      evaluate("fill", launch.fillBytes, values, 0, INT64_MAX);
  if (!fillBytes.ok())
    return fillBytes.takeError();
  part.fillBytes = *fillBytes;
  // Nothing to do is no launch, which the driver would refuse.
  if (function ? isEmpty : part.fillBytes == 0)
    return {};
  if (function && part.grid[0] % unsigned(function->cluster))
    return Error{"grid of " + function->symbol + ": expected a multiple of " +
                 std::to_string(function->cluster) +
                 " blocks, a cluster, found " + std::to_string(part.grid[0])};

  part.values.resize(launch.arguments.size());
  part.parameters.resize(launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const LaunchArgument &argument = launch.arguments[i];
    part.parameters[i] = &part.values[i];
    switch (argument.kind) {
    case LaunchArgument::Kind::Map: {
      Result<CudaMap> map =
          CudaMap::make(argument, values, describe(argument.argument, names));
      if (!map.ok())
        return map.takeError();
      part.maps.push_back({std::move(*map), i});
      break;
    }
    case LaunchArgument::Kind::Pointer: {
      Result<int64_t> offset =
          evaluate("offset", argument.offset, values, 0, INT64_MAX);
      if (!offset.ok())
        return offset.takeError();
      part.pointers.push_back({argument.argument, *offset, i});
      break;
    }
    case LaunchArgument::Kind::Int32: {
      Result<int64_t> value = evaluate("32-bit argument", argument.value,
                                       values, INT32_MIN, INT32_MAX);
      if (!value.ok())
        return value.takeError();
      int32_t narrow = int32_t(*value);
      std::memcpy(&part.values[i], &narrow, sizeof narrow);
      break;
    }
    case LaunchArgument::Kind::Int64: {
      Result<int64_t> value = evaluate("64-bit argument", argument.value,
                                       values, -INT64_MAX, INT64_MAX);
      if (!value.ok())
        return value.takeError();
      part.values[i] = uint64_t(*value);
      break;
    }
    case LaunchArgument::Kind::Float32: {
      float number = float(argument.number);
      std::memcpy(&part.values[i], &number, sizeof number);
      break;
    }
    }
  }
  // The vectors keep their memory when a part moves.
  parts.push_back(std::move(part));
  return {};
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

static void *tensorOf(const Launch &launch, int argument) {
  return argument < 0 ? launch.workspace : launch.arguments[argument];
}

Status CudaKernel::launchPart(Part &part, const Launch &launch,
                              StreamHandle stream) {
  for (const Pointer &pointer : part.pointers) {
    void *tensor = tensorOf(launch, pointer.argument);
    part.values[pointer.position] =
        tensor ? addressOf(tensor) + uint64_t(pointer.offset) : 0;
  }
  for (auto &[map, position] : part.maps) {
    Result<TensorMap *> encoded =
        map.at(driver, tensorOf(launch, map.argument));
    if (!encoded.ok())
      return Error{encoded.message()};
    part.parameters[position] = *encoded;
  }
  if (!part.function) {
    if (!part.values[0])
      return {};
    if (Code code =
            driver.fill(part.values[0], 0, size_t(part.fillBytes), stream))
      return driver.error(code, "cuMemsetD8Async of " +
                                    std::to_string(part.fillBytes) + " bytes");
    return {};
  }
  if (Code code = driver.launch(
          part.function, part.grid[0], part.grid[1], part.grid[2], part.threads,
          1, 1, part.sharedBytes, stream, part.parameters.data(), nullptr))
    return driver.error(code,
                        "cuLaunchKernel of " + std::to_string(part.grid[0]) +
                            " x " + std::to_string(part.grid[1]) + " x " +
                            std::to_string(part.grid[2]) + " blocks of " +
                            std::to_string(part.threads) + " threads with " +
                            std::to_string(part.sharedBytes) + " bytes shared");
  return {};
}

Status CudaKernel::launch(const Launch &launch, StreamHandle stream) {
  for (Part &part : parts)
    if (Status status = launchPart(part, launch, stream); !status.ok())
      return Error{label + ": " + status.message()};
  return {};
}
