//===- GpuProgram.cpp - programs for the CUDA device, by hand -------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "GpuProgram.h"
#include "TestProgram.h"

#include "GpuKernelsPtx.h"

using namespace ckpt::rt;
using namespace ckpt::rt::test;

static constexpr int threads = 128;

std::string ckpt::rt::test::gpuKernels(int variant) {
  std::string text = gpuKernelsPtx;
  const std::string one = "stub_variant = 1";
  return text.replace(text.find(one), one.size(),
                      "stub_variant = " + std::to_string(variant));
}

LaunchArgument ckpt::rt::test::pointerTo(int argument, Formula offset) {
  LaunchArgument made;
  made.argument = argument;
  made.offset = offset;
  return made;
}

LaunchArgument ckpt::rt::test::number64(Formula value) {
  LaunchArgument made;
  made.kind = LaunchArgument::Kind::Int64;
  made.value = value;
  return made;
}

LaunchArgument ckpt::rt::test::number32(Formula value) {
  LaunchArgument made;
  made.kind = LaunchArgument::Kind::Int32;
  made.value = value;
  return made;
}

int ckpt::rt::test::addFunction(Program &program, const std::string &symbol,
                                const std::string &ptx) {
  GpuFunction function;
  function.symbol = symbol;
  function.ptx = ptx;
  function.threads = threads;
  program.functions.push_back(function);
  return int(program.functions.size()) - 1;
}

GpuLaunch ckpt::rt::test::launchOf(int function, Formula count,
                                   std::vector<LaunchArgument> arguments) {
  GpuLaunch launch;
  launch.function = function;
  launch.gridX = Formula::ceilDiv(count, threads);
  launch.arguments = std::move(arguments);
  return launch;
}

void ckpt::rt::test::addStubCode(Program &program, int variant) {
  program.target = "nvptx";
  program.chip = "sm_90a";
  Formula bytes = Size::symbol("bytes");
  for (Kernel &kernel : program.kernels) {
    int function = addFunction(program, kernel.symbol, gpuKernels(variant));
    std::vector<LaunchArgument> arguments = {pointerTo(0), pointerTo(1)};
    if (kernel.symbol == "stub_reverse")
      arguments.push_back(pointerTo(-1));
    arguments.push_back(number64(bytes));
    kernel.alternatives = {
        {"only", 1, {launchOf(function, bytes, std::move(arguments))}}};
  }
}

Program ckpt::rt::test::makeGpuAdapterProgram(int blocks) {
  Program program = makeAdapterProgram(blocks);
  program.target = "nvptx";
  program.chip = "sm_90a";
  Formula rows = Size::symbol("rows");
  for (Kernel &kernel : program.kernels) {
    std::vector<LaunchArgument> arguments;
    for (int i = 0; i < kernel.numReads + kernel.numWrites; ++i)
      arguments.push_back(pointerTo(i));
    if (kernel.symbol != "cast")
      arguments.push_back(number64(rows));
    // An element of a row each, or of the weight.
    bool isByRows =
        kernel.symbol == "gemm_bias_add" || kernel.symbol == "gemm_dx";
    int function = addFunction(program, kernel.symbol, gpuKernels());
    kernel.alternatives = {
        {"only",
         1,
         {launchOf(function, isByRows ? rows * 8 : 64, std::move(arguments))}}};
  }
  return program;
}
