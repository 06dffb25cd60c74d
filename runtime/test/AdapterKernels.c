/* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
 *
 * The kernels of makeAdapterProgram (TestProgram.h) as a compiler would leave
 * them in an artifact: y = x w + bias + cond on rows of 8. sizes[0]: rows. */

#include <stdint.h>

enum { width = 8 };

void gemm_bias_add(void *const *args, const int64_t *sizes, void *workspace) {
  const float *x = args[0], *w = args[1], *bias = args[2], *cond = args[3];
  float *y = args[4];
  (void)workspace;
  for (int64_t r = 0; r < sizes[0]; ++r)
    for (int o = 0; o < width; ++o) {
      float sum = bias[o] + cond[o];
      for (int i = 0; i < width; ++i)
        sum += x[r * width + i] * w[i * width + o];
      y[r * width + o] = sum;
    }
}

void gemm_dx(void *const *args, const int64_t *sizes, void *workspace) {
  const float *dy = args[0], *w = args[1];
  float *dx = args[2];
  (void)workspace;
  for (int64_t r = 0; r < sizes[0]; ++r)
    for (int i = 0; i < width; ++i) {
      float sum = 0;
      for (int o = 0; o < width; ++o)
        sum += dy[r * width + o] * w[i * width + o];
      dx[r * width + i] = sum;
    }
}

void gemm_dw(void *const *args, const int64_t *sizes, void *workspace) {
  const float *x = args[0], *dy = args[1];
  float *dw = args[2];
  (void)workspace;
  for (int i = 0; i < width; ++i)
    for (int o = 0; o < width; ++o) {
      float sum = 0;
      for (int64_t r = 0; r < sizes[0]; ++r)
        sum += x[r * width + i] * dy[r * width + o];
      dw[i * width + o] = sum;
    }
}

void accumulate_rows(void *const *args, const int64_t *sizes, void *workspace) {
  const float *dy = args[0], *before = args[1];
  float *sum = args[2];
  (void)workspace;
  for (int o = 0; o < width; ++o) {
    float rows = 0;
    for (int64_t r = 0; r < sizes[0]; ++r)
      rows += dy[r * width + o];
    sum[o] = before[o] + rows;
  }
}

void cast(void *const *args, const int64_t *sizes, void *workspace) {
  const float *from = args[0];
  float *to = args[1];
  (void)sizes;
  (void)workspace;
  for (int o = 0; o < width; ++o)
    to[o] = from[o];
}
