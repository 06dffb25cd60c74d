/*===- ckpt_reference.h - the oracle's C API ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The oracle interprets an artifact's block graphs on LibTorch with autograd,*|
|* in float64 and in the artifact's own types, and compares results with it.  *|
|* It knows nothing of policies, schedules or kernels: one reference serves   *|
|* every run of an artifact on the same tensors.                              *|
|*                                                                            *|
|* libckpt_reference.so is opened at run time; nothing links it.              *|
|* A reference is used by one thread at a time. Functions that return int     *|
|* return 0 for success; otherwise ckpt_reference_message tells the reason.   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef CKPT_REFERENCE_H
#define CKPT_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#define CKPT_REFERENCE_API_VERSION 1

#if defined(__GNUC__)
#define CKPT_REFERENCE_EXPORT __attribute__((visibility("default")))
#else
#define CKPT_REFERENCE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckpt_reference ckpt_reference;

typedef struct ckpt_reference_options {
  /** sizeof(ckpt_reference_options) of the caller. */
  size_t size;
  /** A whole artifact in memory; read during the call only. */
  const void *artifact;
  size_t artifact_bytes;
  /** The first so many blocks of each stack; negative = all. */
  int64_t blocks;
  /** Values of named sizes; those left out take their default. */
  const char *const *size_names;
  const int64_t *size_values;
  size_t num_sizes;
  /** LibTorch's threads; 0 = 1. They spin while they wait, which slows a busy
      machine tenfold: for more than one, set OMP_WAIT_POLICY=passive in the
      environment before the library is opened. */
  int threads;
} ckpt_reference_options;

/** How far a tensor is from the float64 reference, by Frobenius norms. */
typedef struct ckpt_reference_comparison {
  /** sizeof(ckpt_reference_comparison) of the caller. */
  size_t size;
  /** |result - reference| / |reference|; without the division where the
      reference is zero everywhere. NaN where a value is not finite. */
  double error;
  /** The same for PyTorch's own arithmetic in the artifact's types. */
  double pytorch_error;
  /** bf16: 1.5 pytorch_error + 2^-10; f16: the same + 2^-13.
      f32: 3 pytorch_error + 2^-17. */
  double bound;
  /** 1 if error <= bound, else 0. */
  int passed;
} ckpt_reference_comparison;

/** Called between blocks; `done` of `total` steps are over. */
typedef void (*ckpt_reference_progress)(void *user, int64_t done,
                                        int64_t total);

/** CKPT_REFERENCE_API_VERSION of the library. */
CKPT_REFERENCE_EXPORT int ckpt_reference_api_version(void);

/** `*reference` is set on failure too (null when memory is short): ask it for
    the message, then destroy it; nothing else works on it. */
CKPT_REFERENCE_EXPORT int
ckpt_reference_create(const ckpt_reference_options *options,
                      ckpt_reference **reference);
CKPT_REFERENCE_EXPORT void ckpt_reference_destroy(ckpt_reference *reference);

/** Why the last call on this reference failed; valid until the next call. */
CKPT_REFERENCE_EXPORT const char *
ckpt_reference_message(const ckpt_reference *reference);

/** Gives one tensor, dense, in the artifact's type: a state (`x`), an input,
    a parameter (`blocks.3.w`) or an incoming gradient (`grad.out.x`). The
    memory stays the caller's and must live until the run is over. */
CKPT_REFERENCE_EXPORT int ckpt_reference_set(ckpt_reference *reference,
                                             const char *name, const void *data,
                                             size_t bytes);

/** Computes outputs and gradients. Every tensor must have been given.
    `progress` may be null. May be repeated after other tensors were given. */
CKPT_REFERENCE_EXPORT int ckpt_reference_run(ckpt_reference *reference,
                                             ckpt_reference_progress progress,
                                             void *user);

/** Compares `out.x` or `grad.*`, dense, in the artifact's type. */
CKPT_REFERENCE_EXPORT int
ckpt_reference_compare(ckpt_reference *reference, const char *name,
                       const void *data, size_t bytes,
                       ckpt_reference_comparison *comparison);

/** The float64 reference of a result: `count` elements, dense. */
CKPT_REFERENCE_EXPORT int ckpt_reference_values(ckpt_reference *reference,
                                                const char *name,
                                                double *values, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* CKPT_REFERENCE_H */
