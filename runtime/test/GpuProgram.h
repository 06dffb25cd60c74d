//===- GpuProgram.h - programs for the CUDA device, by hand -----*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launch recipes over GpuKernels.ptx, which a GPU's driver compiles and the
/// fake driver (FakeCuda.cpp) knows by name.
///
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_TEST_GPUPROGRAM_H
#define CKPT_RT_TEST_GPUPROGRAM_H

#include "Program/Program.h"

namespace ckpt::rt::test {

/// Every kernel of GpuKernels.c; `variant` is what stub_add adds.
std::string gpuKernels(int variant = 1);

/// Pointers and numbers as launch arguments.
LaunchArgument pointerTo(int argument, Formula offset = 0);
LaunchArgument number64(Formula value);
LaunchArgument number32(Formula value);

/// A function of 128 threads that is added to `program`, by index.
int addFunction(Program &program, const std::string &symbol,
                const std::string &ptx);
/// A launch of it on enough blocks for `threads` threads.
GpuLaunch launchOf(int function, Formula threads,
                   std::vector<LaunchArgument> arguments);

/// Target nvptx for a program with the kernels stub_add and stub_reverse over
/// the size `bytes`.
void addStubCode(Program &program, int variant);

/// makeAdapterProgram for target nvptx.
Program makeGpuAdapterProgram(int blocks);

} // namespace ckpt::rt::test

#endif // CKPT_RT_TEST_GPUPROGRAM_H
