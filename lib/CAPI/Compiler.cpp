//===- Compiler.cpp - the compiler's C interface --------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt-c/Compiler.h"

#include "ckpt/Compiler/Compile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace ckpt;

uint32_t ckpt_api_version(void) { return CKPT_API_VERSION; }

const char *ckpt_version(void) { return CKPT_VERSION; }

void ckpt_compile_options_init(ckpt_compile_options *options) {
  *options = {};
  options->struct_size = sizeof(*options);
  options->interval = CKPT_NOT_GIVEN;
  options->segment_stride = CKPT_NOT_GIVEN;
  options->pin_memory_max_buckets = CKPT_NOT_GIVEN;
}

static std::optional<int64_t> optionalOf(int64_t value) {
  return value == CKPT_NOT_GIVEN ? std::nullopt : std::optional<int64_t>(value);
}

static ckpt_severity severityOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return CKPT_NOTE;
  case mlir::DiagnosticSeverity::Warning:
    return CKPT_WARNING;
  case mlir::DiagnosticSeverity::Remark:
    return CKPT_REMARK;
  case mlir::DiagnosticSeverity::Error:
    break;
  }
  return CKPT_ERROR;
}

static NvptxOptions::Cubin cubinOf(int32_t cubin) {
  switch (cubin) {
  case CKPT_CUBIN_NO:
    return NvptxOptions::Cubin::No;
  case CKPT_CUBIN_IF_POSSIBLE:
    return NvptxOptions::Cubin::IfPossible;
  default:
    return NvptxOptions::Cubin::Yes;
  }
}

ckpt_status ckpt_compile(const void *source, size_t size, const char *name,
                         const ckpt_compile_options *given,
                         ckpt_bytes *artifact) {
  if (!artifact)
    return CKPT_INVALID;
  *artifact = {nullptr, 0};
  if (!source)
    return CKPT_INVALID;
  // An older caller's struct is shorter; what it does not know is not given.
  ckpt_compile_options options;
  ckpt_compile_options_init(&options);
  if (given) {
    size_t known = sizeof(options);
    std::memcpy(&options, given, std::min(given->struct_size, known));
  }

  CompileOptions compileOptions;
  if (options.backend)
    compileOptions.backend = options.backend;
  if (options.target)
    compileOptions.target = options.target;
  rt::Controls &controls = compileOptions.controls;
  controls.interval = optionalOf(options.interval);
  controls.segmentStride = optionalOf(options.segment_stride);
  controls.pinMemoryMaxBuckets = optionalOf(options.pin_memory_max_buckets);
  controls.attentionOnce = options.attention_once;
  controls.offloadAttention = options.offload_attention;
  compileOptions.planOnly = options.plan_only;
  if (options.chip)
    compileOptions.nvptx.chip = options.chip;
  compileOptions.nvptx.deterministic = options.deterministic;
  compileOptions.nvptx.cubin = cubinOf(options.cubin);
  if (options.diagnostic)
    compileOptions.diagnostic = [&](mlir::DiagnosticSeverity severity,
                                    llvm::StringRef text) {
      options.diagnostic(severityOf(severity), text.str().c_str(),
                         options.diagnostic_user);
    };
  if (options.progress)
    compileOptions.progress = [&](unsigned done, unsigned total) {
      options.progress(done, total, options.progress_user);
    };

  std::vector<uint8_t> bytes;
  CompileStatus status =
      compile(llvm::StringRef(static_cast<const char *>(source), size),
              name ? name : "<source>", compileOptions, bytes);
  if (status != CompileStatus::Ok)
    return status == CompileStatus::Invalid ? CKPT_INVALID : CKPT_FAILED;
  artifact->data = static_cast<uint8_t *>(std::malloc(bytes.size()));
  if (!artifact->data)
    return CKPT_FAILED;
  std::memcpy(artifact->data, bytes.data(), bytes.size());
  artifact->size = bytes.size();
  return CKPT_OK;
}

void ckpt_bytes_free(ckpt_bytes *bytes) {
  if (!bytes)
    return;
  std::free(bytes->data);
  *bytes = {nullptr, 0};
}
