//===- ArtifactJson.h - a program as a JSON value ---------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_RT_PROGRAM_ARTIFACTJSON_H
#define CKPT_RT_PROGRAM_ARTIFACTJSON_H

#include "Program/Program.h"

#include <nlohmann/json.hpp>

namespace ckpt::rt {

/// Everything but the object.
nlohmann::json programToJson(const Program &program);

/// Throws a std::exception on a value that is missing or of another type.
Program programFromJson(const nlohmann::json &json);

} // namespace ckpt::rt

#endif // CKPT_RT_PROGRAM_ARTIFACTJSON_H
