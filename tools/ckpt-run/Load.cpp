//===- Load.cpp - a program from an artifact or block IR ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Load.h"

#include "Library.h"
#include "Program/Artifact.h"
#include "Progress.h"
#include "ckpt-c/Compiler.h"

#include <cstdio>

using namespace ckpt;
using namespace ckpt::run;

namespace {

void printDiagnostic(ckpt_severity, const char *text, void *) {
  std::fputs(text, stderr);
}

void passProgress(uint64_t done, uint64_t total, void *progress) {
  static_cast<Progress *>(progress)->set(int64_t(done), int64_t(total));
}

rt::Result<std::vector<uint8_t>> compile(const Options &options,
                                         const std::vector<uint8_t> &source) {
  rt::Result<Library> library = Library::open("libckpt.so");
  if (!library.ok())
    return rt::Error{options.file + ": " + library.message() +
                     "; block IR needs the compiler: run an artifact of "
                     "ckpt-compile where there is none"};
  auto *version = library->find<decltype(ckpt_api_version)>("ckpt_api_version");
  auto *init = library->find<decltype(ckpt_compile_options_init)>(
      "ckpt_compile_options_init");
  auto *compileSource = library->find<decltype(ckpt_compile)>("ckpt_compile");
  auto *freeBytes = library->find<decltype(ckpt_bytes_free)>("ckpt_bytes_free");
  if (!version || !init || !compileSource || !freeBytes ||
      version() != CKPT_API_VERSION)
    return rt::Error{"libckpt.so: expected interface version " +
                     std::to_string(CKPT_API_VERSION) + ", found " +
                     (version ? std::to_string(version()) : "none")};
  ckpt_compile_options compileOptions;
  init(&compileOptions);
  compileOptions.plan_only = options.planOnly;
  if (!options.target.empty())
    compileOptions.target = options.target.c_str();
  compileOptions.deterministic = options.deterministic;
  compileOptions.cubin = CKPT_CUBIN_IF_POSSIBLE;
  compileOptions.diagnostic = printDiagnostic;
  Progress progress("compiling " + options.file);
  compileOptions.progress = passProgress;
  compileOptions.progress_user = &progress;
  ckpt_bytes artifact = {};
  if (compileSource(source.data(), source.size(), options.file.c_str(),
                    &compileOptions, &artifact) != CKPT_OK)
    return rt::Error{options.file + ": expected block IR that compiles, found "
                                    "the errors above"};
  std::vector<uint8_t> bytes(artifact.data, artifact.data + artifact.size);
  freeBytes(&artifact);
  return bytes;
}

} // namespace

rt::Result<Loaded> run::load(const Options &options) {
  rt::Result<std::vector<uint8_t>> bytes = rt::readFile(options.file);
  if (!bytes.ok())
    return bytes.takeError();
  Loaded loaded;
  // An artifact that is cut off before its first word ends is one all the
  // same: by its name.
  const std::string &file = options.file;
  bool isNamedArtifact =
      file.size() > 5 && file.compare(file.size() - 5, 5, ".ckpt") == 0;
  if (isNamedArtifact || rt::isArtifact(bytes->data(), bytes->size())) {
    loaded.artifact = std::move(*bytes);
  } else {
    rt::Result<std::vector<uint8_t>> artifact = compile(options, *bytes);
    if (!artifact.ok())
      return artifact.takeError();
    loaded.artifact = std::move(*artifact);
  }
  rt::Result<rt::Program> program =
      rt::deserialize(loaded.artifact.data(), loaded.artifact.size());
  if (!program.ok())
    return rt::Error{file + ": " + program.message()};
  if (!options.target.empty() && options.target != program->target)
    return rt::Error{file + ": expected an artifact for target " +
                     options.target + ", found one for " + program->target +
                     "; leave --target out or compile it again"};
  if (options.deterministic && !program->deterministic)
    return rt::Error{file + ": expected an artifact that gives the same bits "
                            "every time, found another; compile it again with "
                            "--deterministic"};
  loaded.program = std::make_shared<rt::Program>(std::move(*program));
  return loaded;
}
