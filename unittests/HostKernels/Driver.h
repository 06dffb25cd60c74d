//===- Driver.h - compiles and runs kernels written in a test ---*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef CKPT_UNITTESTS_HOSTKERNELS_DRIVER_H
#define CKPT_UNITTESTS_HOSTKERNELS_DRIVER_H

#include "ckpt/Dialect/Ckpt/IR/CkptOps.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ckpt::test {

/// A dense tensor in the memory format of kernels.
class Tensor {
public:
  Tensor() = default;
  Tensor(std::vector<int64_t> dims, bool bf16);
  /// Values in [-1, 1), the same for the same seed; rounded when bf16.
  static Tensor random(std::vector<int64_t> dims, bool bf16, unsigned seed);

  int64_t size() const;
  double get(int64_t position) const;
  void set(int64_t position, double value);
  /// By coordinates.
  double operator()(std::initializer_list<int64_t> at) const;
  bool operator==(const Tensor &other) const { return bytes == other.bytes; }

  std::vector<int64_t> dims;
  bool bf16 = false;
  std::vector<char> bytes;
};

/// The kernels of a module, in code.
class Kernels {
public:
  /// Parses and compiles; a failure is the test's. The order in which sizes are
  /// passed is that of `sizeNames`.
  Kernels(const std::string &text, std::vector<std::string> sizeNames = {});
  ~Kernels();

  /// The result types, at the sizes given.
  std::vector<Tensor> outputs(const std::string &name,
                              const std::vector<int64_t> &sizes = {});
  /// Runs a kernel in a workspace of exactly the bytes it asks for, which holds
  /// NaNs before and is checked to be the only thing that it writes besides
  /// results. Null pointers in `writes` are results left out.
  void run(const std::string &name, const std::vector<const Tensor *> &reads,
           const std::vector<Tensor *> &writes,
           const std::vector<int64_t> &sizes = {});
  /// All results.
  std::vector<Tensor> run(const std::string &name,
                          const std::vector<const Tensor *> &reads,
                          const std::vector<int64_t> &sizes = {});

  KernelOp kernel(const std::string &name);
  /// On all processors together.
  double compileSeconds = 0;

private:
  rt::SizeValues valuesOf(const std::vector<int64_t> &sizes);

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> sizeNames;
  void *library = nullptr;
};

/// Processor time of this thread, so that a busy machine does not count.
double processorSeconds();

/// Expects |actual - reference| <= tolerance times the largest |reference|,
/// everywhere. `reference` takes a position in memory.
void expectNear(const Tensor &actual,
                const std::function<double(int64_t)> &reference,
                double tolerance, const std::string &what);

/// f32 sums of a few thousand terms; bf16 results are rounded once, by 2^-9.
inline double toleranceOf(bool bf16) { return bf16 ? 0.0045 : 4e-6; }

inline const char *nameOf(bool bf16) { return bf16 ? "bf16" : "f32"; }
/// `text` with every `$T` replaced by the element type and `$name` by a value.
std::string
fill(std::string text,
     const std::vector<std::pair<std::string, std::string>> &values);

/// `body`, its arguments and the rest of a kernel around it.
std::string kernelText(const std::string &name, const std::string &kernelClass,
                       const std::string &arguments, const std::string &body);

} // namespace ckpt::test

#endif // CKPT_UNITTESTS_HOSTKERNELS_DRIVER_H
