//===- ckpt-compile.cpp - block IR in, artifact out -----------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "CommandLine/Controls.h"
#include "CommandLine/OutputPaths.h"
#include "Program/OutputFile.h"
#include "ckpt-c/Compiler.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

constexpr int exitBadInput = 2;
constexpr int exitFailed = 1;

struct Arguments {
  std::string input, output;
  ckpt::tools::ControlTexts controls;
  bool planOnly = false;
  std::string target = "host", chip = "sm_90a";
  bool deterministic = false, cubin = false;
};

int complain(int code, const std::string &message) {
  std::cerr << "ckpt-compile: error: " << message << "\n";
  return code;
}

/// Reads a whole file, `-` for standard input.
bool readInput(const std::string &path, std::string &text) {
  std::FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file)
    return false;
  char chunk[1 << 16];
  while (size_t count = std::fread(chunk, 1, sizeof chunk, file))
    text.append(chunk, count);
  bool ok = !std::ferror(file);
  if (file != stdin)
    std::fclose(file);
  return ok;
}

void printDiagnostic(ckpt_severity, const char *text, void *) {
  // One that begins so is about a flag; others name their file first.
  if (std::string_view(text).substr(0, 7) == "error: ")
    std::fputs("ckpt-compile: ", stderr);
  std::fputs(text, stderr);
}

void printProgress(uint64_t done, uint64_t total, void *) {
  std::fprintf(stderr, "\rcompiled %llu of %llu kernels%s",
               static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(total),
               done == total ? "\n" : "");
}

int run(const Arguments &arguments) {
  ckpt_compile_options options;
  ckpt_compile_options_init(&options);
  const ckpt::tools::ControlTexts &controls = arguments.controls;
  if (!controls.backend.empty())
    options.backend = controls.backend.c_str();
  options.target = arguments.target.c_str();
  options.attention_once = controls.attentionOnce;
  options.offload_attention = controls.offloadAttention;
  options.plan_only = arguments.planOnly;
  options.chip = arguments.chip.c_str();
  options.deterministic = arguments.deterministic;
  options.cubin = arguments.cubin ? CKPT_CUBIN_YES : CKPT_CUBIN_NO;
  options.diagnostic = printDiagnostic;
  if (isatty(STDERR_FILENO))
    options.progress = printProgress;
  ckpt::rt::Result<ckpt::tools::ControlCounts> counts =
      ckpt::tools::parseCounts(controls);
  if (!counts.ok())
    return complain(exitBadInput, counts.message());
  options.interval = counts->interval.value_or(CKPT_NOT_GIVEN);
  options.segment_stride = counts->segmentStride.value_or(CKPT_NOT_GIVEN);
  options.pin_memory_max_buckets =
      counts->pinMemoryMaxBuckets.value_or(CKPT_NOT_GIVEN);

  bool isStdin = arguments.input == "-";
  if (ckpt::rt::Status status = ckpt::tools::checkOutputs(
          {{"-o", arguments.output}},
          {{"FILE", isStdin ? std::string() : arguments.input}});
      !status.ok())
    return complain(exitBadInput, status.message());
  std::string source;
  if (!readInput(arguments.input, source))
    return complain(exitBadInput,
                    arguments.input + ": expected a file that can be read");
  ckpt_bytes artifact;
  ckpt_status status = ckpt_compile(
      source.data(), source.size(),
      isStdin ? "<stdin>" : arguments.input.c_str(), &options, &artifact);
  if (status != CKPT_OK)
    return status == CKPT_INVALID ? exitBadInput : exitFailed;
  ckpt::rt::Status written =
      ckpt::rt::writeFile(arguments.output, artifact.data, artifact.size);
  ckpt_bytes_free(&artifact);
  if (!written.ok())
    return complain(exitFailed, written.message());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Compiles the blocks of a model into a whole checkpointed "
               "training step: one artifact that ckpt-run executes.");
  app.name("ckpt-compile");
  app.set_version_flag("--version",
                       std::string("ckpt-compile ") + ckpt_version());
  app.add_option("FILE", arguments.input,
                 "Block IR, text or bytecode; - reads standard input")
      ->required();
  app.add_option("-o", arguments.output, "The artifact to write")->required();
  app.add_option("--target", arguments.target,
                 "host (x86-64 with AVX2) or nvptx (NVIDIA GPUs)")
      ->capture_default_str();
  CLI::Option *gpuOnly[] = {
      app.add_option("--chip", arguments.chip,
                     "nvptx: sm_90a (H100, H200, GH200)")
          ->capture_default_str(),
      app.add_flag("--deterministic", arguments.deterministic,
                   "nvptx: the same bits from run to run and under every "
                   "control; otherwise the order of additions in the attention "
                   "backward is free"),
      app.add_flag("--cubin", arguments.cubin,
                   "nvptx: assemble every kernel with ptxas now, and fail on "
                   "spilled registers or serialized wgmma; otherwise the "
                   "driver assembles when a step is made")};
  app.add_flag("--plan-only", arguments.planOnly,
               "Compile no kernel: the artifact can be planned, not run");
  ckpt::tools::addControlFlags(
      app,
      "Defaults of the artifact, which holds the variants of all of them "
      "(backend none when not given)",
      arguments.controls);
  app.footer("Examples:\n"
             "  ckpt-compile examples/dit-3072.mlir -o dit.ckpt\n"
             "  ckpt-compile examples/wan-1.3b.mlir --backend=unsloth-ffn "
             "--interval=2 -o wan.ckpt\n"
             "  ckpt-compile examples/dit-3072.mlir --target=nvptx --cubin -o "
             "dit.ckpt\n"
             "  ckpt-opt model.mlir --emit-bytecode | ckpt-compile - -o "
             "model.ckpt\n\n"
             "Exit codes: 0 done, 1 the compiler or the machine failed, 2 bad "
             "input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return complain(exitBadInput,
                    std::string(error.what()) + "; see ckpt-compile --help");
  }
  if (ckpt::rt::Status status = ckpt::tools::checkValuesGiven(app);
      !status.ok())
    return complain(exitBadInput, status.message());
  for (const CLI::Option *option : gpuOnly)
    if (option->count() && arguments.target == "host")
      return complain(exitBadInput, option->get_name() +
                                        ": the host target has no such choice; "
                                        "add --target=nvptx");
  return run(arguments);
}
