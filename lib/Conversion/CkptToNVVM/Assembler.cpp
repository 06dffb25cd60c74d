//===- Assembler.cpp - from PTX to machine code, by ptxas -----------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace ckpt::nvptx;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

namespace {
/// A file that goes when the object does.
struct TemporaryFile {
  explicit TemporaryFile(StringRef suffix) {
    error = sys::fs::createTemporaryFile("ckpt", suffix, path);
    remover.setFile(path);
  }
  std::error_code error;
  SmallString<128> path;
  FileRemover remover;
};
} // namespace

static std::string contentsOf(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Runs ptxas; what it prints goes to `log`.
static Error run(StringRef path, ArrayRef<StringRef> arguments,
                 std::string &log) {
  TemporaryFile output("log");
  if (output.error)
    return makeError("no temporary file can be made: " +
                     output.error.message());
  std::optional<StringRef> redirects[] = {StringRef(""), output.path.str(),
                                          output.path.str()};
  std::string message;
  int status =
      sys::ExecuteAndWait(path, arguments, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  log = contentsOf(output.path);
  if (status == 0)
    return Error::success();
  if (!message.empty())
    return makeError(path + " cannot be run: " + message);
  return makeError(path + " failed:\n" + StringRef(log).trim());
}

Expected<Assembler> Assembler::find() {
  Assembler assembler;
  if (const char *given = std::getenv("CKPT_PTXAS")) {
    // What is given is taken or is an error, never replaced.
    if (!sys::fs::can_execute(given))
      return makeError(Twine("CKPT_PTXAS: expected a program, found '") +
                       given + "'");
    assembler.path = given;
  } else if (auto found = sys::findProgramByName("ptxas")) {
    assembler.path = *found;
  } else {
    for (StringRef candidate : {"/usr/local/cuda/bin/ptxas", CKPT_PTXAS})
      if (assembler.path.empty() && sys::fs::can_execute(candidate))
        assembler.path = candidate.str();
  }
  if (assembler.path.empty())
    return makeError("no ptxas found on PATH or in /usr/local/cuda/bin; "
                     "install CUDA 13 or PyTorch, whose torch/bin holds one, "
                     "and name it in CKPT_PTXAS");
  if (Error error = run(assembler.path, {assembler.path, "--version"},
                        assembler.versionText))
    return error;
  return assembler;
}

std::string ckpt::nvptx::findFaults(StringRef log) {
  std::string faults;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  auto add = [&](StringRef line) {
    faults += (faults.empty() ? "" : "\n") + line.trim().str();
  };
  for (StringRef line : lines) {
    // `0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads`
    bool spills = line.contains("spill stores") &&
                  !line.contains(" 0 bytes spill stores, 0 bytes spill loads");
    bool ignored = line.contains("setmaxnreg") && line.contains("ignored");
    if (spills || ignored || line.contains("serialized"))
      add(line);
  }
  return faults;
}

Expected<std::vector<uint8_t>>
Assembler::assemble(StringRef ptx, StringRef chip, StringRef symbol) const {
  TemporaryFile source("ptx"), object("cubin");
  for (const TemporaryFile *file : {&source, &object})
    if (file->error)
      return makeError("no temporary file can be made: " +
                       file->error.message());
  std::error_code error;
  raw_fd_ostream stream(source.path, error);
  stream << ptx;
  stream.close();
  if (error || stream.has_error())
    return makeError("cannot write " + source.path);
  std::string log, architecture = ("-arch=" + chip).str();
  if (Error failed = run(path,
                         {path, architecture, "-v", source.path.str(), "-o",
                          object.path.str()},
                         log))
    return makeError("@" + symbol + ": " + toString(std::move(failed)));
  if (std::string faults = findFaults(log); !faults.empty())
    return makeError("@" + symbol + " would run slowly; ptxas says:\n" +
                     faults);
  std::string bytes = contentsOf(object.path);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}
