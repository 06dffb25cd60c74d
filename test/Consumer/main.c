/*===- main.c - the smallest embedder
---------------------------------------===*\
|* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.          *|
\*===----------------------------------------------------------------------===*/
/* Compiles one block (y = x + silu(x)), runs a step of three of them and checks
   a value: at x = 0 the slope of each block is 1.5, so the gradient of three is
   3.375 times the incoming one. */

#include "ckpt-c/Compiler.h"
#include "ckpt_rt/ckpt_rt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char source[] =
    "ckpt.size @rows\n"
    "ckpt.block @block states(%x : !ckpt.tensor<rows x 8 x f32> differentiable)"
    " inputs() params() {\n"
    "  %a = ckpt.silu %x : !ckpt.tensor<rows x 8 x f32>\n"
    "  %y = ckpt.add %x, %a : !ckpt.tensor<rows x 8 x f32>, "
    "!ckpt.tensor<rows x 8 x f32>\n"
    "  ckpt.return %y : !ckpt.tensor<rows x 8 x f32>\n"
    "}\n"
    "ckpt.stack @model { ckpt.repeat @block, 3 }\n";

static void diagnose(ckpt_severity severity, const char *text, void *user) {
  (void)severity;
  (void)user;
  fputs(text, stderr);
}

static int fail(void) {
  fprintf(stderr, "%s\n", ckpt_rt_message());
  return 1;
}

int main(void) {
  enum { count = 5 * 8 };
  static float x[count], y[count], dy[count], dx[count];
  for (int i = 0; i < count; ++i)
    dy[i] = 2;

  ckpt_compile_options compile;
  ckpt_compile_options_init(&compile);
  compile.diagnostic = diagnose;
  ckpt_bytes artifact;
  if (ckpt_compile(source, strlen(source), "block", &compile, &artifact))
    return 1;

  ckpt_rt_program *program;
  ckpt_rt_plan *plan;
  ckpt_rt_device *device;
  ckpt_rt_step *step;
  if (ckpt_rt_program_load(artifact.data, artifact.size, &program))
    return fail();
  ckpt_bytes_free(&artifact);

  ckpt_rt_plan_options options = {0};
  options.size = sizeof options;
  if (ckpt_rt_plan_options_init(program, &options))
    return fail();
  const char *names[] = {"rows"};
  const int64_t values[] = {5};
  options.backend = "torch";
  options.interval = 2;
  options.size_names = names;
  options.size_values = values;
  options.num_sizes = 1;
  if (ckpt_rt_plan_create(program, &options, &plan) ||
      ckpt_rt_device_create("host", &device) ||
      ckpt_rt_step_create(plan, device, NULL, &step) ||
      ckpt_rt_step_bind(step, "x", x, sizeof x) ||
      ckpt_rt_step_bind(step, "out.x", y, sizeof y) ||
      ckpt_rt_step_bind(step, "grad.out.x", dy, sizeof dy) ||
      ckpt_rt_step_bind(step, "grad.x", dx, sizeof dx) ||
      ckpt_rt_step_run(step))
    return fail();

  ckpt_rt_step_destroy(step);
  ckpt_rt_device_destroy(device);
  ckpt_rt_plan_destroy(plan);
  ckpt_rt_program_destroy(program);
  for (int i = 0; i < count; ++i)
    if (fabsf(y[i]) > 1e-6f || fabsf(dx[i] - 2 * 3.375f) > 1e-4f) {
      fprintf(stderr, "element %d: expected 0 and 6.75, found %g and %g\n", i,
              y[i], dx[i]);
      return 1;
    }
  printf("ckpt %s: the gradient is right\n", ckpt_version());
  return 0;
}
