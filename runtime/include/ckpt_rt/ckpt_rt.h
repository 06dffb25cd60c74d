/*===- ckpt_rt.h - run compiled training steps --------------------*- C -*-===*\
|*                                                                            *|
|* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The runtime's C API, in the order of use:                                  *|
|*   program   an artifact that ckpt-compile wrote                            *|
|*   plan      a program under controls and sizes: tensors, memory, time      *|
|*   device    where a step runs                                              *|
|*   step      a plan on a device, with its memory set aside                  *|
|*   forward   a forward whose backward is still to come                      *|
|*                                                                            *|
|* Failure. Functions that return int return 0 for success and something else *|
|* for failure; then ckpt_rt_message says why, and results are not written.   *|
|* Nothing a caller passes, null included, ends the process. After a failure  *|
|* every handle is as before and the next call works.                         *|
|*                                                                            *|
|* Ownership. What a `_create` or `_load` function or ckpt_rt_step_forward    *|
|* makes is the caller's to give to its `_destroy`, which takes null too.     *|
|* Handles keep alive what they were made from: destroy them in any order.    *|
|* Texts and arrays that are returned belong to the handle they are asked of. *|
|*                                                                            *|
|* Threads. Programs, plans and devices may be used by any number of threads. *|
|* A step together with its forwards takes one thread at a time; different    *|
|* steps are independent.                                                     *|
|*                                                                            *|
|* Blocking. ckpt_rt_step_forward, _backward, _run and _time_command return   *|
|* when everything they started is done, and so do the copies of a device.    *|
|*                                                                            *|
|* Structs. The first member is the struct's size as the caller knows it; set *|
|* it before every call that takes the struct. Later versions add members at  *|
|* the end only.                                                              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef CKPT_RT_CKPT_RT_H
#define CKPT_RT_CKPT_RT_H

#include <stddef.h>
#include <stdint.h>

/** Raised when a function or a member changes its meaning or goes away. */
#define CKPT_RT_API_VERSION 1

#if defined(__GNUC__)
#define CKPT_RT_EXPORT __attribute__((visibility("default")))
#else
#define CKPT_RT_EXPORT
#endif

/** An integer control that is not given. */
#define CKPT_RT_UNSET INT64_MIN

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckpt_rt_program ckpt_rt_program;
typedef struct ckpt_rt_plan ckpt_rt_plan;
typedef struct ckpt_rt_device ckpt_rt_device;
typedef struct ckpt_rt_step ckpt_rt_step;
typedef struct ckpt_rt_forward ckpt_rt_forward;

/** CKPT_RT_API_VERSION of the library; compare it with the header's. */
CKPT_RT_EXPORT int ckpt_rt_api_version(void);

/** Why the last call of this thread that failed did so. Never null; valid
    until the next failure in this thread. */
CKPT_RT_EXPORT const char *ckpt_rt_message(void);

/*===----------------------------------------------------------------------===*\
|* Program                                                                    *|
\*===----------------------------------------------------------------------===*/

/** Reads an artifact from memory, which is not needed afterwards. Fails on
    anything that is not a whole, undamaged artifact of this version. */
CKPT_RT_EXPORT int ckpt_rt_program_load(const void *artifact, size_t bytes,
                                        ckpt_rt_program **program);

/** The same from a file. */
CKPT_RT_EXPORT int ckpt_rt_program_load_file(const char *path,
                                             ckpt_rt_program **program);

CKPT_RT_EXPORT void ckpt_rt_program_destroy(ckpt_rt_program *program);

/** What it was compiled for: `host` (device `host`) or `nvptx` (device `cuda`);
    null for null. */
CKPT_RT_EXPORT const char *
ckpt_rt_program_target(const ckpt_rt_program *program);

/** How many named sizes the program has; 0 for null. */
CKPT_RT_EXPORT size_t ckpt_rt_program_num_sizes(const ckpt_rt_program *program);

/** The name of a named size; null when `index` is out of range. */
CKPT_RT_EXPORT const char *
ckpt_rt_program_size_name(const ckpt_rt_program *program, size_t index);

/** Its default, or CKPT_RT_UNSET when a plan must give it. */
CKPT_RT_EXPORT int64_t
ckpt_rt_program_size_default(const ckpt_rt_program *program, size_t index);

/*===----------------------------------------------------------------------===*\
|* Plan                                                                       *|
\*===----------------------------------------------------------------------===*/

/** The controls, which mean what the tools' flags of these names mean, and the
    sizes. Let ckpt_rt_plan_options_init fill it, then change what differs. */
typedef struct ckpt_rt_plan_options {
  size_t size;
  /** `none`, `torch`, `torch-ffn`, `unsloth` or `unsloth-ffn`. */
  const char *backend;
  /** Each a number or CKPT_RT_UNSET. */
  int64_t interval;
  int64_t segment_stride;
  /** 0 or 1. */
  int attention_once;
  int offload_attention;
  /** A number or CKPT_RT_UNSET, which is 12. */
  int64_t pin_memory_max_buckets;
  /** The first so many blocks of each stack; CKPT_RT_UNSET is all. */
  int64_t blocks;
  /** Whose rates decide when copies are issued and what times are predicted:
      `host` or `h200`. */
  const char *profile;
  /** Values of named sizes; those left out take their default. */
  const char *const *size_names;
  const int64_t *size_values;
  size_t num_sizes;
} ckpt_rt_plan_options;

/** Fills in the controls that the program was compiled with, all blocks, the
    profile of its target (`host`; `h200` for nvptx) and no sizes; only `size`
    must be set before. */
CKPT_RT_EXPORT int ckpt_rt_plan_options_init(const ckpt_rt_program *program,
                                             ckpt_rt_plan_options *options);

/** Plans a step. Needs no device and runs nothing; takes milliseconds. Fails
    on controls that the program cannot follow and on sizes that are missing,
    unknown or not positive, by name. The options are read during the call. */
CKPT_RT_EXPORT int ckpt_rt_plan_create(const ckpt_rt_program *program,
                                       const ckpt_rt_plan_options *options,
                                       ckpt_rt_plan **plan);

CKPT_RT_EXPORT void ckpt_rt_plan_destroy(ckpt_rt_plan *plan);

typedef enum ckpt_rt_dtype {
  CKPT_RT_F32 = 0,
  CKPT_RT_BF16 = 1,
  CKPT_RT_F16 = 2
} ckpt_rt_dtype;

/** States, inputs, parameters and output gradients are read; outputs and
    gradients are written, never added to. */
typedef enum ckpt_rt_tensor_kind {
  CKPT_RT_STATE = 0,
  CKPT_RT_INPUT = 1,
  CKPT_RT_PARAM = 2,
  CKPT_RT_OUTPUT = 3,
  CKPT_RT_OUTPUT_GRADIENT = 4,
  CKPT_RT_GRADIENT = 5
} ckpt_rt_tensor_kind;

/** One tensor that the caller owns and binds. */
typedef struct ckpt_rt_tensor {
  size_t size;
  /** `x`, `blocks.3.fc1.weight`, `out.x`, `grad.out.x`, `grad.x`. */
  const char *name;
  ckpt_rt_tensor_kind kind;
  ckpt_rt_dtype dtype;
  /** Dense, the last dimension running fastest. */
  const int64_t *shape;
  size_t rank;
  int64_t bytes;
} ckpt_rt_tensor;

/** How many tensors a step of this plan takes; 0 for null. */
CKPT_RT_EXPORT size_t ckpt_rt_plan_num_tensors(const ckpt_rt_plan *plan);

/** One of them, at the plan's sizes. Fails when `index` is out of range. */
CKPT_RT_EXPORT int ckpt_rt_plan_tensor(const ckpt_rt_plan *plan, size_t index,
                                       ckpt_rt_tensor *tensor);

/** What a step of this plan costs. All but the seconds are exact. */
typedef struct ckpt_rt_costs {
  size_t size;
  /** Device memory of one open forward: the arena. */
  int64_t peak_bytes;
  /** The caller's tensors. */
  int64_t external_bytes;
  /** Host memory of one open forward, and how much of it is to be pinned. */
  int64_t host_bytes;
  int64_t pinned_bytes;
  int64_t copied_to_host;
  int64_t copied_to_device;
  /** Launches that run again in the backward what the forward ran. */
  int64_t replayed_ops;
  /** Forward and backward; the forward; compute waiting for copies. */
  double seconds;
  double forward_seconds;
  double exposed_seconds;
} ckpt_rt_costs;

CKPT_RT_EXPORT int ckpt_rt_plan_costs(const ckpt_rt_plan *plan,
                                      ckpt_rt_costs *costs);

typedef enum ckpt_rt_command_kind {
  CKPT_RT_LAUNCH = 0,
  CKPT_RT_FILL = 1,
  CKPT_RT_COPY_OUT = 2,
  CKPT_RT_COPY_IN = 3,
  /** A point in a stream, and a stream that waits for one. */
  CKPT_RT_RECORD = 4,
  CKPT_RT_WAIT = 5
} ckpt_rt_command_kind;

typedef enum ckpt_rt_kernel_class {
  CKPT_RT_GEMM = 0,
  CKPT_RT_ATTENTION_FORWARD = 1,
  CKPT_RT_ATTENTION_BACKWARD = 2,
  CKPT_RT_ROW_WISE = 3
} ckpt_rt_kernel_class;

/** One command of the plan's schedule. */
typedef struct ckpt_rt_command {
  size_t size;
  /** A ckpt_rt_command_kind. */
  int kind;
  /** 0 compute, 1 copies out, 2 copies in. */
  int stream;
  /** 0 in the forward, 1 in the backward. */
  int backward;
  /** Block of the step that it belongs to, or -1. */
  int64_t block;
  /** `f5`, `copy x`. */
  const char *label;
  /** Launches: the kernel's name, or null, and its ckpt_rt_kernel_class. */
  const char *kernel;
  int kernel_class;
  /** Launches: floating-point operations; else 0. */
  int64_t flops;
  /** Launches: bytes read and written when every result is asked for; fills
      and copies: the buffer's. */
  int64_t bytes;
  /** As predicted; the step begins at 0. */
  double begin_seconds;
  double end_seconds;
} ckpt_rt_command;

/** How many commands a step of this plan runs; 0 for null. */
CKPT_RT_EXPORT size_t ckpt_rt_plan_num_commands(const ckpt_rt_plan *plan);

/** One of them: the forward's, then the backward's. Fails when `index` is out
    of range. */
CKPT_RT_EXPORT int ckpt_rt_plan_command(const ckpt_rt_plan *plan, size_t index,
                                        ckpt_rt_command *command);

/*===----------------------------------------------------------------------===*\
|* Device                                                                     *|
\*===----------------------------------------------------------------------===*/

/** Opens a device: `host` (threads of this process; device memory is any
    memory of it), `cuda` or `cuda:N` (an NVIDIA GPU of compute capability 9.0;
    device memory is any memory of its primary context, such as a tensor of
    PyTorch). Fails on a machine without one and says what was found. */
CKPT_RT_EXPORT int ckpt_rt_device_create(const char *name,
                                         ckpt_rt_device **device);

CKPT_RT_EXPORT void ckpt_rt_device_destroy(ckpt_rt_device *device);

/** Device memory for callers that have none of their own, aligned for any
    tensor; null for 0 bytes. Give it back by ckpt_rt_device_free, with its
    bytes, before the device is destroyed. */
CKPT_RT_EXPORT int ckpt_rt_device_allocate(ckpt_rt_device *device,
                                           int64_t bytes, void **memory);
CKPT_RT_EXPORT void ckpt_rt_device_free(ckpt_rt_device *device, void *memory,
                                        int64_t bytes);

/** Copies between the host and the device; done when they return. */
CKPT_RT_EXPORT int ckpt_rt_device_copy_to(ckpt_rt_device *device,
                                          void *device_to,
                                          const void *host_from, int64_t bytes);
CKPT_RT_EXPORT int ckpt_rt_device_copy_from(ckpt_rt_device *device,
                                            void *host_to,
                                            const void *device_from,
                                            int64_t bytes);

/** Bytes of the device's memory that are taken, by this process and others;
    CKPT_RT_UNSET where the device does not say. */
CKPT_RT_EXPORT int ckpt_rt_device_bytes_in_use(ckpt_rt_device *device,
                                               int64_t *bytes);

/*===----------------------------------------------------------------------===*\
|* Step                                                                       *|
\*===----------------------------------------------------------------------===*/

typedef enum ckpt_rt_poison {
  CKPT_RT_POISON_NONE = 0,
  /** Before use, all memory that a step writes becomes NaN. */
  CKPT_RT_POISON_START = 1,
  /** Memory becomes NaN again when its value is dead; slow, for debugging. */
  CKPT_RT_POISON_FREED = 2
} ckpt_rt_poison;

typedef struct ckpt_rt_step_options {
  size_t size;
  /** A ckpt_rt_poison. */
  int poison;
  /** A step on the same device whose host memory to share, or null. */
  const ckpt_rt_step *share_host_memory_with;
  /** 0 or 1: take the time of every command, for ckpt_rt_step_command_times. */
  int measure;
  /** 0 or 1: record the commands once and issue them by one call, where the
      device can (CUDA graphs). Not with `measure` or CKPT_RT_POISON_FREED. */
  int graph;
} ckpt_rt_step_options;

/** Verifies the plan's schedule, loads its kernels and sets memory aside: one
    arena, host memory for one open forward. `options` may be null. */
CKPT_RT_EXPORT int ckpt_rt_step_create(const ckpt_rt_plan *plan,
                                       ckpt_rt_device *device,
                                       const ckpt_rt_step_options *options,
                                       ckpt_rt_step **step);

/** Its memory goes when its open forwards are gone too. */
CKPT_RT_EXPORT void ckpt_rt_step_destroy(ckpt_rt_step *step);

/** Binds a tensor to device memory of the caller: exactly the tensor's bytes,
    dense, aligned to its elements. A forward takes the states, inputs,
    parameters and outputs that are bound when it is called, for itself and for
    its backward; a backward takes the gradients that are bound when it is
    called. The memory must live until the backward is over. Bindings stay
    until they are replaced. */
CKPT_RT_EXPORT int ckpt_rt_step_bind(ckpt_rt_step *step, const char *name,
                                     void *pointer, int64_t bytes);

/** Runs the forward. Its backward may follow any time, also after further
    forwards; each open forward holds an arena and host memory until it is
    consumed or destroyed. Fails when a tensor of the forward is not bound, or
    overlaps another of which one is written. Allocates only when more forwards
    are open than ever before. */
CKPT_RT_EXPORT int ckpt_rt_step_forward(ckpt_rt_step *step,
                                        ckpt_rt_forward **forward);

/** Runs the backward of `forward`, which is consumed, and its memory free for
    the next, also when this fails while it runs. A second backward is an error.
    When tensors are not bound the forward stays open. */
CKPT_RT_EXPORT int ckpt_rt_step_backward(ckpt_rt_step *step,
                                         ckpt_rt_forward *forward);

/** Gives back what an open forward holds: no backward will follow. */
CKPT_RT_EXPORT void ckpt_rt_forward_destroy(ckpt_rt_forward *forward);

/** Forward and backward. */
CKPT_RT_EXPORT int ckpt_rt_step_run(ckpt_rt_step *step);

typedef struct ckpt_rt_statistics {
  size_t size;
  /** Bytes of one arena, and how many the step holds. */
  int64_t arena_bytes;
  int64_t arenas;
  /** With poison only: the highest arena byte used, plus one. */
  int64_t touched_bytes;
  int64_t open_forwards;
  int64_t forwards;
  int64_t backwards;
  /** Since the step was made. */
  int64_t launches;
  int64_t replayed_ops;
  int64_t copied_to_host;
  int64_t copied_to_device;
  /** Of the last forward and backward, by the device. */
  double forward_seconds;
  double backward_seconds;
  /** Host memory that is held, of all steps that share it: pinned bytes with
      what alignment adds, distinct pinned sizes, requests met from what was
      there and not, pageable buffers, buffers that could not be pinned and
      became pageable. */
  int64_t pool_pinned_bytes;
  int64_t pool_buckets;
  int64_t pool_hits;
  int64_t pool_misses;
  int64_t pool_pageable;
  int64_t pool_fallbacks;
  /** Forwards, backwards and whole steps that ran as a recording, and how often
      one was made or updated. */
  int64_t graph_runs;
  int64_t graph_recordings;
  /** The host's time of enqueuing the last forward, backward or whole step. */
  double issue_seconds;
} ckpt_rt_statistics;

CKPT_RT_EXPORT int ckpt_rt_step_statistics(const ckpt_rt_step *step,
                                           ckpt_rt_statistics *statistics);

/** When a command of the last forward and backward began and ended, by events
    of the device; the last forward began at 0, and the time between forward
    and backward is left out. Fails on a step made without `measure`. */
CKPT_RT_EXPORT int ckpt_rt_step_command_times(const ckpt_rt_step *step,
                                              size_t index,
                                              double *begin_seconds,
                                              double *end_seconds);

/** Runs a launch, a fill or a copy of the schedule alone, `repeats` times back
    to back, waits, and gives the seconds of one by events of the device. Every
    tensor must be bound; the results that the command writes are overwritten,
    also those of the caller. */
CKPT_RT_EXPORT int ckpt_rt_step_time_command(ckpt_rt_step *step, size_t index,
                                             int64_t repeats, double *seconds);

#ifdef __cplusplus
}
#endif

#endif /* CKPT_RT_CKPT_RT_H */
