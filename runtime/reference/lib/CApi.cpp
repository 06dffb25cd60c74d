//===- CApi.cpp - the oracle's C API --------------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt_reference.h"

#include "Oracle.h"
#include "Program/Artifact.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace ckpt::rt;

struct ckpt_reference {
  std::unique_ptr<Oracle> oracle;
  std::string message;

  /// The return value for a failure.
  int fail(std::string text) {
    message = std::move(text);
    return 1;
  }
  int finish(const Status &status) {
    return status.ok() ? 0 : fail(status.message());
  }
};

int ckpt_reference_api_version(void) { return CKPT_REFERENCE_API_VERSION; }

int ckpt_reference_create(const ckpt_reference_options *options,
                          ckpt_reference **reference) {
  *reference = new (std::nothrow) ckpt_reference;
  if (!*reference)
    return 1;
  if (options->size < sizeof(ckpt_reference_options))
    return (*reference)
        ->fail("expected options of at least " +
               std::to_string(sizeof(ckpt_reference_options)) +
               " bytes, found " + std::to_string(options->size));
  Result<Program> program = deserialize(
      static_cast<const uint8_t *>(options->artifact), options->artifact_bytes);
  if (!program.ok())
    return (*reference)->fail(program.message());
  SizeValues sizes;
  for (size_t i = 0; i < options->num_sizes; ++i)
    sizes[options->size_names[i]] = options->size_values[i];
  std::optional<int64_t> limit;
  if (options->blocks >= 0)
    limit = options->blocks;
  if (options->threads < 0)
    return (*reference)
        ->fail("threads: expected at least 0, found " +
               std::to_string(options->threads));
  auto oracle = Oracle::create(std::move(*program), limit, sizes,
                               std::max(1, options->threads));
  if (!oracle.ok())
    return (*reference)->fail(oracle.message());
  (*reference)->oracle = std::move(*oracle);
  return 0;
}

void ckpt_reference_destroy(ckpt_reference *reference) { delete reference; }

const char *ckpt_reference_message(const ckpt_reference *reference) {
  return reference->message.c_str();
}

int ckpt_reference_set(ckpt_reference *reference, const char *name,
                       const void *data, size_t bytes) {
  return reference->finish(reference->oracle->set(name, data, bytes));
}

int ckpt_reference_run(ckpt_reference *reference,
                       ckpt_reference_progress progress, void *user) {
  return reference->finish(
      reference->oracle->run([&](int64_t done, int64_t total) {
        if (progress)
          progress(user, done, total);
      }));
}

int ckpt_reference_compare(ckpt_reference *reference, const char *name,
                           const void *data, size_t bytes,
                           ckpt_reference_comparison *comparison) {
  if (comparison->size < sizeof(ckpt_reference_comparison))
    return reference->fail("expected a comparison of at least " +
                           std::to_string(sizeof(ckpt_reference_comparison)) +
                           " bytes, found " + std::to_string(comparison->size));
  Result<Comparison> result = reference->oracle->compare(name, data, bytes);
  if (!result.ok())
    return reference->fail(result.message());
  comparison->error = result->error;
  comparison->pytorch_error = result->pytorchError;
  comparison->bound = result->bound;
  comparison->passed = result->passed;
  return 0;
}

int ckpt_reference_values(ckpt_reference *reference, const char *name,
                          double *values, size_t count) {
  Result<at::Tensor> result = reference->oracle->values(name);
  if (!result.ok())
    return reference->fail(result.message());
  auto expected = static_cast<size_t>(result->numel());
  if (count != expected)
    return reference->fail(std::string("tensor '") + name + "': expected " +
                           std::to_string(expected) + " elements, found " +
                           std::to_string(count));
  std::memcpy(values, result->const_data_ptr(), count * sizeof(double));
  return 0;
}
