/* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
 *
 * A small object with the ABI of compiled kernels, for the tests of modules:
 * every one reads and writes bytes that it is given, nothing else. */

#include <stdint.h>

/* args: from, to. sizes: bytes. Each byte plus STUB_VARIANT. */
void stub_add(void *const *args, const int64_t *sizes, void *workspace) {
  const uint8_t *from = args[0];
  uint8_t *to = args[1];
  (void)workspace;
  for (int64_t i = 0; i < sizes[0]; ++i)
    to[i] = (uint8_t)(from[i] + STUB_VARIANT);
}

/* args: from, to (may be null). sizes: bytes. Goes through the workspace,
 * which it fills whether `to` is asked for or not. */
void stub_reverse(void *const *args, const int64_t *sizes, void *workspace) {
  const uint8_t *from = args[0];
  uint8_t *to = args[1];
  uint8_t *scratch = workspace;
  for (int64_t i = 0; i < sizes[0]; ++i)
    scratch[i] = from[sizes[0] - 1 - i];
  for (int64_t i = 0; to && i < sizes[0]; ++i)
    to[i] = scratch[i];
}
