//===- LaunchArguments.cpp - what a function is given ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "LaunchArguments.h"

using namespace ckpt;
using Kind = rt::LaunchArgument::Kind;

rt::LaunchArgument nvptx::pointerArgument(int argument, rt::Formula offset) {
  rt::LaunchArgument made;
  made.kind = Kind::Pointer;
  made.argument = argument;
  made.offset = std::move(offset);
  return made;
}

rt::LaunchArgument nvptx::workspaceArgument(rt::Formula offset) {
  return pointerArgument(-1, std::move(offset));
}

static rt::LaunchArgument numberArgument(Kind kind, rt::Formula value) {
  rt::LaunchArgument made;
  made.kind = kind;
  made.value = std::move(value);
  return made;
}

rt::LaunchArgument nvptx::int32Argument(rt::Formula value) {
  return numberArgument(Kind::Int32, std::move(value));
}

rt::LaunchArgument nvptx::int64Argument(rt::Formula value) {
  return numberArgument(Kind::Int64, std::move(value));
}

rt::LaunchArgument nvptx::float32Argument(double number) {
  rt::LaunchArgument made;
  made.kind = Kind::Float32;
  made.number = number;
  return made;
}
