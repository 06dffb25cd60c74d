//===- LaunchArguments.h - what a function is given -------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_LIB_CONVERSION_CKPTTONVVM_LAUNCHARGUMENTS_H
#define CKPT_LIB_CONVERSION_CKPTTONVVM_LAUNCHARGUMENTS_H

#include "Program/Program.h"

namespace ckpt::nvptx {

/// `offset` bytes into the read or write at this position.
rt::LaunchArgument pointerArgument(int argument, rt::Formula offset = 0);
/// `offset` bytes into the workspace.
rt::LaunchArgument workspaceArgument(rt::Formula offset = 0);
rt::LaunchArgument int32Argument(rt::Formula value);
rt::LaunchArgument int64Argument(rt::Formula value);
rt::LaunchArgument float32Argument(double number);

} // namespace ckpt::nvptx

#endif // CKPT_LIB_CONVERSION_CKPTTONVVM_LAUNCHARGUMENTS_H
