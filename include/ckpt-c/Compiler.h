/*===- ckpt-c/Compiler.h - the compiler's C interface -------------*- C -*-===*\
|*                                                                            *|
|* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Block IR in, the bytes of an artifact out. Nothing else of libckpt is      *|
|* visible outside, so that a process may hold an LLVM of its own.            *|
|* Every function may be called from any thread; calls share nothing.         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef CKPT_C_COMPILER_H
#define CKPT_C_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CKPT_EXPORT
#else
#define CKPT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Changes when something here changes its meaning. Fields are only ever added
    at the end of a struct, which its size tells. */
#define CKPT_API_VERSION 1
CKPT_EXPORT uint32_t ckpt_api_version(void);
/** `0.1.0`. */
CKPT_EXPORT const char *ckpt_version(void);

/** A number that was not given. */
#define CKPT_NOT_GIVEN INT64_MIN

typedef enum {
  CKPT_OK = 0,
  /** The source or an option is wrong; the diagnostics say how. */
  CKPT_INVALID = 1,
  /** A fault of the compiler or the machine; the diagnostics say which. */
  CKPT_FAILED = 2
} ckpt_status;

typedef enum {
  CKPT_ERROR = 0,
  CKPT_WARNING = 1,
  CKPT_REMARK = 2,
  CKPT_NOTE = 3
} ckpt_severity;

/** `text` is ready to print, lines of source and caret included, and valid
    during the call only. */
typedef void (*ckpt_diagnostic_fn)(ckpt_severity severity, const char *text,
                                   void *user);
/** Called when another of `total` kernels is compiled, never from two threads
    at once, perhaps from another thread than the caller's. */
typedef void (*ckpt_progress_fn)(uint64_t done, uint64_t total, void *user);

/** Machine code beside the PTX, by NVIDIA's ptxas. */
typedef enum {
  /** The driver makes it when a step is made: a second or so a kernel. */
  CKPT_CUBIN_NO = 0,
  /** Where there is a ptxas. */
  CKPT_CUBIN_IF_POSSIBLE = 1,
  /** Fail without a ptxas, and on what it says will be slow: spilled registers,
      serialized wgmma. */
  CKPT_CUBIN_YES = 2
} ckpt_cubin;

/** What a compile is asked for. The controls (backend to
    pin_memory_max_buckets) set the artifact's defaults only: its menu holds
    the variants of every legal combination. */
typedef struct {
  /** sizeof(ckpt_compile_options). */
  size_t struct_size;
  /** none, torch, torch-ffn, unsloth or unsloth-ffn; null means none. */
  const char *backend;
  /** Blocks that are checkpointed together, or CKPT_NOT_GIVEN. */
  int64_t interval;
  /** Or CKPT_NOT_GIVEN. */
  int64_t segment_stride;
  int32_t attention_once;
  int32_t offload_attention;
  /** Distinct sizes of pinned host buffers, or CKPT_NOT_GIVEN. */
  int64_t pin_memory_max_buckets;
  /** Compile no kernel: the artifact can be planned, not run. */
  int32_t plan_only;
  /** `host` or `nvptx`; null means host. */
  const char *target;
  ckpt_diagnostic_fn diagnostic;
  void *diagnostic_user;
  ckpt_progress_fn progress;
  void *progress_user;
  /** Target nvptx, as what follows: `sm_90a`; null means that. */
  const char *chip;
  /** The same bits from run to run and under every schedule. Otherwise the
      order of additions in the attention backward is free. */
  int32_t deterministic;
  /** A ckpt_cubin. */
  int32_t cubin;
} ckpt_compile_options;

/** Sets every field to what it means when not given. */
CKPT_EXPORT void ckpt_compile_options_init(ckpt_compile_options *options);

/** Bytes that ckpt_bytes_free gives back. */
typedef struct {
  uint8_t *data;
  size_t size;
} ckpt_bytes;

/** Compiles block IR, text or bytecode, into an artifact (what is in a .ckpt
    file). `name` is the source's name in diagnostics. On failure `artifact` is
    empty. */
CKPT_EXPORT ckpt_status ckpt_compile(const void *source, size_t size,
                                     const char *name,
                                     const ckpt_compile_options *options,
                                     ckpt_bytes *artifact);
CKPT_EXPORT void ckpt_bytes_free(ckpt_bytes *bytes);

#ifdef __cplusplus
}
#endif

#endif /* CKPT_C_COMPILER_H */
