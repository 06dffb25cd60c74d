/* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
 *
 * Kernels for the tests of the CUDA device: those of StubKernels.c and those of
 * AdapterKernels.c. One source for two machines: the fake driver calls it
 * thread by thread, a GPU gets GpuKernels.ptx, which this command makes:
 *   clang-22 --target=nvptx64-nvidia-cuda -march=sm_90 -O2 -S \
 *     GpuKernels.c -o GpuKernels.ptx
 * with its .version lowered to 8.0, for drivers from CUDA 12.0 on.
 * Parameters are pointers and 64-bit integers. */

typedef unsigned char byte;
typedef long long int64;

#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel)) void
#define CTA __nvvm_read_ptx_sreg_ctaid_x()
#define THREADS __nvvm_read_ptx_sreg_ntid_x()
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#else
#define KERNEL void
extern _Thread_local int fakeBlock, fakeThreads, fakeThread;
#define CTA fakeBlock
#define THREADS fakeThreads
#define THREAD fakeThread
#endif

/* What stub_add adds; tests replace it in the text, `stub_variant = 1`. */
#ifdef __NVPTX__
__attribute__((visibility("protected"))) int stub_variant = 1;
#else
extern _Thread_local int stub_variant;
#endif

enum { width = 8 };

static int64 self(void) { return (int64)CTA * THREADS + THREAD; }

KERNEL stub_add(const byte *from, byte *to, int64 bytes) {
  int64 i = self();
  if (i < bytes)
    to[i] = (byte)(from[i] + stub_variant);
}

KERNEL stub_reverse(const byte *from, byte *to, byte *scratch, int64 bytes) {
  int64 i = self();
  if (i >= bytes)
    return;
  scratch[i] = from[bytes - 1 - i];
  if (to)
    to[i] = scratch[i];
}

KERNEL gemm_bias_add(const float *x, const float *w, const float *bias,
                     const float *cond, float *y, int64 rows) {
  int64 r = self() / width;
  int o = (int)(self() % width);
  if (r >= rows)
    return;
  float sum = bias[o] + cond[o];
  for (int i = 0; i < width; ++i)
    sum += x[r * width + i] * w[i * width + o];
  y[r * width + o] = sum;
}

KERNEL gemm_dx(const float *dy, const float *w, float *dx, int64 rows) {
  int64 r = self() / width;
  int i = (int)(self() % width);
  if (r >= rows)
    return;
  float sum = 0;
  for (int o = 0; o < width; ++o)
    sum += dy[r * width + o] * w[i * width + o];
  dx[r * width + i] = sum;
}

KERNEL gemm_dw(const float *x, const float *dy, float *dw, int64 rows) {
  int i = (int)(self() / width), o = (int)(self() % width);
  if (i >= width)
    return;
  float sum = 0;
  for (int64 r = 0; r < rows; ++r)
    sum += x[r * width + i] * dy[r * width + o];
  dw[i * width + o] = sum;
}

KERNEL accumulate_rows(const float *dy, const float *before, float *sum,
                       int64 rows) {
  int o = (int)self();
  if (o >= width)
    return;
  float total = 0;
  for (int64 r = 0; r < rows; ++r)
    total += dy[r * width + o];
  sum[o] = before[o] + total;
}

KERNEL cast(const float *from, float *to) {
  int o = (int)self();
  if (o < width)
    to[o] = from[o];
}
