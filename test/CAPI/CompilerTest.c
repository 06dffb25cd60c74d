/*===- CompilerTest.c - the compiler from C -----------------------*- C -*-===*\
|*                                                                            *|
|* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "ckpt-c/Compiler.h"

#include <stdio.h>
#include <string.h>

static const char good[] =
    "ckpt.size @n\n"
    "ckpt.block @b states(%x : !ckpt.tensor<n x f32> differentiable) {\n"
    "  %y = ckpt.silu %x : !ckpt.tensor<n x f32>\n"
    "  ckpt.return %y : !ckpt.tensor<n x f32>\n"
    "}\n"
    "ckpt.stack @model { ckpt.repeat @b, 2 }\n";

typedef struct {
  int errors;
  char first[512];
  uint64_t done, total;
} Seen;

static void onDiagnostic(ckpt_severity severity, const char *text, void *user) {
  Seen *seen = user;
  if (severity != CKPT_ERROR)
    return;
  if (seen->errors++ == 0)
    snprintf(seen->first, sizeof seen->first, "%s", text);
}

static void onProgress(uint64_t done, uint64_t total, void *user) {
  Seen *seen = user;
  seen->done = done;
  seen->total = total;
}

static int failures;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "line %d: expected %s\n", __LINE__, #condition);         \
      ++failures;                                                              \
    }                                                                          \
  } while (0)

static ckpt_status compile(const char *source, ckpt_compile_options *options,
                           ckpt_bytes *artifact, Seen *seen) {
  memset(seen, 0, sizeof *seen);
  options->diagnostic = onDiagnostic;
  options->diagnostic_user = seen;
  options->progress = onProgress;
  options->progress_user = seen;
  return ckpt_compile(source, strlen(source), "source.mlir", options, artifact);
}

int main(void) {
  ckpt_compile_options options;
  ckpt_bytes artifact;
  Seen seen;

  EXPECT(ckpt_api_version() == CKPT_API_VERSION);
  EXPECT(strlen(ckpt_version()) >= 5);

  /* Every kernel is reported: the forward's and the backward's. */
  ckpt_compile_options_init(&options);
  EXPECT(options.struct_size == sizeof options);
  EXPECT(compile(good, &options, &artifact, &seen) == CKPT_OK);
  EXPECT(seen.errors == 0 && seen.total == 2 && seen.done == 2);
  EXPECT(artifact.size > 4 && memcmp(artifact.data, "CKPT", 4) == 0);
  size_t whole = artifact.size;
  ckpt_bytes_free(&artifact);
  EXPECT(artifact.data == NULL && artifact.size == 0);
  ckpt_bytes_free(&artifact);

  /* A plan holds no kernels, and is smaller by them. */
  options.plan_only = 1;
  EXPECT(compile(good, &options, &artifact, &seen) == CKPT_OK);
  EXPECT(seen.total == 0);
  EXPECT(artifact.size > 0 && artifact.size < whole);
  ckpt_bytes_free(&artifact);

  /* A caller that was built before the last fields knows only some of them:
     what lies behind them is not read. */
  options.struct_size = offsetof(ckpt_compile_options, interval);
  options.interval = -7;
  options.target = "nowhere";
  EXPECT(ckpt_compile(good, strlen(good), NULL, &options, &artifact) ==
         CKPT_OK);
  ckpt_bytes_free(&artifact);
  EXPECT(ckpt_compile(good, strlen(good), NULL, NULL, &artifact) == CKPT_OK);
  ckpt_bytes_free(&artifact);

  /* Wrong options and wrong source: one message, no bytes. */
  ckpt_compile_options_init(&options);
  options.backend = "torch";
  options.interval = 0;
  EXPECT(compile(good, &options, &artifact, &seen) == CKPT_INVALID);
  EXPECT(seen.errors == 1 && strstr(seen.first, "--interval") != NULL);
  EXPECT(artifact.data == NULL && artifact.size == 0);
  options.interval = CKPT_NOT_GIVEN;
  EXPECT(compile("ckpt.what", &options, &artifact, &seen) == CKPT_INVALID);
  EXPECT(seen.errors == 1 && strstr(seen.first, "source.mlir:1:1") != NULL);
  EXPECT(compile("", &options, &artifact, &seen) == CKPT_INVALID);
  EXPECT(seen.errors == 1 && strstr(seen.first, "ckpt.stack") != NULL);
  EXPECT(ckpt_compile(NULL, 0, NULL, &options, &artifact) == CKPT_INVALID);
  EXPECT(ckpt_compile(good, strlen(good), NULL, &options, NULL) ==
         CKPT_INVALID);
  return failures != 0;
}
