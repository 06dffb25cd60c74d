//===- RowWiseTest.cpp - row-wise kernels beside the host's ---------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// The GPU's code of a kernel computes what the host's does, up to the order of
// additions. Memory ends where a tensor ends.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Emulator.h"

#include "ckpt/Conversion/TargetInfo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/mman.h>

using namespace ckpt;
using namespace ckpt::test;

namespace {

/// Memory of a tensor, aligned to 16 bytes as on the device, with nothing
/// behind it; NaNs at first.
class Guarded {
public:
  explicit Guarded(size_t bytes) : bytes(bytes) {
    constexpr size_t page = 4096;
    mapped = (bytes + page - 1) / page * page + page;
    base = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + mapped - page, page, PROT_NONE);
    data = base + mapped - page - (bytes + 15) / 16 * 16;
    std::memset(data, 0xff, bytes);
  }
  ~Guarded() { munmap(base, mapped); }
  Guarded(const Guarded &) = delete;

  char *data;
  size_t bytes;

private:
  char *base;
  size_t mapped;
};

/// Runs kernel `name` of `text` on both and compares: all results, then each
/// left out, then each in the place of an argument where that may be.
void compare(const std::string &text, const std::string &name,
             const std::vector<std::string> &sizeNames,
             const std::vector<int64_t> &sizes, double tolerance) {
  SCOPED_TRACE(name);
  Kernels kernels(text, sizeNames);
  KernelOp kernel = kernels.kernel(name);
  rt::SizeValues values;
  for (size_t i = 0; i < sizes.size(); ++i)
    values[sizeNames[i]] = sizes[i];
  std::vector<Tensor> reads;
  for (mlir::Value argument : kernel.getBody().getArguments()) {
    auto type = llvm::cast<TensorType>(argument.getType());
    std::vector<int64_t> dims;
    for (const rt::Size &dim : type.getShape())
      dims.push_back(*dim.evaluate(values));
    reads.push_back(
        Tensor::random(dims, type.getElementType().isBF16(), reads.size() + 1));
  }
  std::vector<const Tensor *> pointers;
  for (const Tensor &tensor : reads)
    pointers.push_back(&tensor);
  std::vector<Tensor> expected = kernels.run(name, pointers, sizes);

  Emulator emulator(kernel);
  NvptxTargetInfo info;
  auto once = [&](int leftOut, int operand, int result) {
    std::vector<std::unique_ptr<Guarded>> memory;
    std::vector<void *> args;
    for (const Tensor &tensor : reads) {
      memory.push_back(std::make_unique<Guarded>(tensor.bytes.size()));
      std::memcpy(memory.back()->data, tensor.bytes.data(),
                  tensor.bytes.size());
      args.push_back(memory.back()->data);
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      memory.push_back(std::make_unique<Guarded>(expected[i].bytes.size()));
      args.push_back(int(i) == leftOut  ? nullptr
                     : int(i) == result ? args[operand]
                                        : memory.back()->data);
    }
    Guarded workspace(*info.workspaceBytes(kernel).evaluate(values));
    emulator.run(args, values, workspace.data);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (int(i) == leftOut)
        continue;
      Tensor actual = expected[i];
      std::memcpy(actual.bytes.data(), args[reads.size() + i],
                  actual.bytes.size());
      expectNear(
          actual, [&](int64_t at) { return expected[i].get(at); },
          actual.bf16 ? 0.008 : tolerance,
          name + " result " + std::to_string(i) + ", without " +
              std::to_string(leftOut) + ", result " + std::to_string(result) +
              " in place of " + std::to_string(operand));
    }
  };
  once(-1, -1, -1);
  for (size_t i = 0; i < expected.size() && expected.size() > 1; ++i)
    once(i, -1, -1);
  for (unsigned operand = 0; operand < reads.size(); ++operand)
    for (unsigned result = 0; result < expected.size(); ++result)
      if (info.mayAlias(kernel, operand, result))
        once(-1, operand, result);
}

std::string sized(const std::string &kernels) {
  return "ckpt.size @n\nckpt.size @w\n" + kernels;
}

} // namespace

// Rows of scalars, of a warp, of a block, too long for registers, and named;
// 10 rows, which is no multiple of the rows of a block.
TEST(GpuRowWise, norms) {
  for (bool bf16 : {true, false})
    for (std::string w : {"7", "96", "384", "1536", "3072", "2041", "w",
                          bf16 ? "57344" : "1024"}) {
      auto text = [&](const std::string &kernel) {
        return sized(fill(kernel, {{"X", "!ckpt.tensor<n x 5 x $W x $T>"},
                                   {"M", "!ckpt.tensor<n x 1 x $W x $T>"},
                                   {"S", "!ckpt.tensor<n x 5 x 2 x f32>"},
                                   {"R", "!ckpt.tensor<n x 5 x 1 x f32>"},
                                   {"P", "!ckpt.tensor<$W x $T>"},
                                   {"W", w},
                                   {"T", nameOf(bf16)}}));
      };
      SCOPED_TRACE(w + " " + nameOf(bf16));
      compare(
          text(kernelText("forward", "row_wise",
                          "%x : $X, %r : $X, %g : $P, %b : $P, "
                          "%m : $M",
                          "%s = ckpt.add %x, %r : $X, $X\n"
                          "%y, %st = ckpt.layer_norm %s, %g, %b {eps = 1.0e-5, "
                          "with_stats} : $X, $P, $P\n"
                          "%z = ckpt.mul %y, %m : $X, $M\n"
                          "ckpt.yield %z, %st, %s : $X, $S, $X\n")),
          "forward", {"n", "w"}, {2, 77}, 1e-5);
      compare(text(kernelText("backward", "row_wise",
                              "%dy : $X, %x : $X, %st : $S, %g : $P, %r : $X",
                              "%d = ckpt.layer_norm_dx %dy, %x, %st, %g : $X, "
                              "$X, $S, $P\n"
                              "%y = ckpt.add %d, %r : $X, $X\n"
                              "ckpt.yield %y : $X\n")),
              "backward", {"n", "w"}, {2, 77}, 1e-5);
      compare(text(kernelText("rms", "row_wise", "%x : $X",
                              "%y, %st = ckpt.rms_norm %x {eps = 1.0e-5, "
                              "with_stats} : $X\n"
                              "ckpt.yield %y, %st : $X, $R\n")),
              "rms", {"n", "w"}, {2, 77}, 1e-5);
    }
}

// Activations and their gradients, at the precision of each type.
TEST(GpuRowWise, elements) {
  for (bool bf16 : {true, false})
    for (std::string w : {"7", "96", "1536", "4100", "14336", "w"}) {
      SCOPED_TRACE(w + " " + nameOf(bf16));
      std::string text = sized(fill(
          kernelText("forward", "row_wise", "%x : $X, %r : $X, %m : $M",
                     "%a = ckpt.gelu %x {approximate = tanh} : $X\n"
                     "%b = ckpt.silu %r : $X\n"
                     "%c = ckpt.mul %a, %b : $X, $X\n"
                     "%d = ckpt.add %c, %m : $X, $M\n"
                     "%e = ckpt.gelu %x {approximate = erf} : $X\n"
                     "ckpt.yield %d, %e : $X, $X\n") +
              kernelText("backward", "row_wise", "%dy : $X, %x : $X",
                         "%a = ckpt.gelu_dx %dy, %x {approximate = tanh} : "
                         "$X, $X\n"
                         "%b = ckpt.silu_dx %a, %x : $X, $X\n"
                         "%c = ckpt.gelu_dx %b, %x {approximate = erf} : $X, "
                         "$X\n"
                         "ckpt.yield %c : $X\n"),
          {{"X", "!ckpt.tensor<n x 3 x $W x $T>"},
           {"M", "!ckpt.tensor<n x 1 x $W x $T>"},
           {"W", w},
           {"T", nameOf(bf16)}}));
      for (const char *name : {"forward", "backward"})
        compare(text, name, {"n", "w"}, {3, 77}, 1e-6);
    }
}

// Over all rows, over the rows of a sample, over columns too; one part and
// several; added to a sum that may be updated in place.
TEST(GpuRowWise, sums) {
  for (std::string w : {"7", "96", "1536", "w"})
    for (int64_t n : {1, 40}) {
      SCOPED_TRACE(w);
      std::string text = sized(fill(
          kernelText("sums", "row_wise", "%s : $P, %t : $M, %x : $X, %y : $X",
                     "%p = ckpt.mul %x, %y : $X, $X\n"
                     "%a = ckpt.accumulate %s, %p : $P, $X\n"
                     "%b = ckpt.accumulate %t, %p : $M, $X\n"
                     "%c = ckpt.reduce_sum %p : $X -> $R\n"
                     "%d = ckpt.sub %p, %c : $X, $R\n"
                     "ckpt.yield %a, %b, %c, %d : $P, $M, $R, $X\n"),
          {{"X", "!ckpt.tensor<n x 3 x $W x f32>"},
           {"M", "!ckpt.tensor<n x 1 x $W x f32>"},
           {"R", "!ckpt.tensor<n x 3 x 1 x f32>"},
           {"P", "!ckpt.tensor<$W x f32>"},
           {"W", w}}));
      compare(text, "sums", {"n", "w"}, {n, 77}, 1e-5);
    }
}

// Views before and behind: a slice, a padding, a transpose, a concat, heads.
TEST(GpuRowWise, views) {
  std::string text = sized(fill(
      kernelText("heads", "row_wise",
                 "%x : $Q, %c : !ckpt.tensor<n x 8 x f32>, %s : "
                 "!ckpt.tensor<n x 8 x f32>",
                 "%k = ckpt.slice %x {dim = 2, offset = \"64\", extent = "
                 "\"64\"} : $Q\n"
                 "%h = ckpt.reshape %k {shape = [\"3\", \"n\", \"4\", "
                 "\"16\"]} : $K\n"
                 "%r = ckpt.rope %h, %c, %s : $H, !ckpt.tensor<n x 8 x f32>\n"
                 "%y = ckpt.reshape %r {shape = [\"3\", \"n\", \"64\"]} : $H\n"
                 "%z = ckpt.concat %y, %k {dim = 2} : $K, $K\n"
                 "ckpt.yield %z : !ckpt.tensor<3 x n x 128 x bf16>\n") +
          kernelText("turned", "row_wise", "%x : $K",
                     "%t = ckpt.transpose %x {permutation = array<i64: 1, 2, "
                     "0>} : $K\n"
                     "%p = ckpt.pad %t {dim = 2, offset = \"2\", extent = "
                     "\"7\"} : !ckpt.tensor<n x 64 x 3 x bf16>\n"
                     "%y = ckpt.silu %p : !ckpt.tensor<n x 64 x 7 x bf16>\n"
                     "ckpt.yield %y : !ckpt.tensor<n x 64 x 7 x bf16>\n"),
      {{"Q", "!ckpt.tensor<3 x n x 192 x bf16>"},
       {"K", "!ckpt.tensor<3 x n x 64 x bf16>"},
       {"H", "!ckpt.tensor<3 x n x 4 x 16 x bf16>"}}));
  for (const char *name : {"heads", "turned"})
    compare(text, name, {"n", "w"}, {11, 1}, 1e-6);
}
