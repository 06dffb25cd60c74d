//===- Driver.cpp - compiles and runs kernels written in a test -----------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "ckpt/Conversion/CkptToHost.h"
#include "ckpt/Conversion/TargetInfo.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace ckpt;
using namespace ckpt::test;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Tensor::Tensor(std::vector<int64_t> dims, bool bf16)
    : dims(std::move(dims)), bf16(bf16) {
  // Not a number, so that what nobody writes is seen.
  bytes.assign(size() * (bf16 ? 2 : 4), char(0xff));
}

Tensor Tensor::random(std::vector<int64_t> dims, bool bf16, unsigned seed) {
  Tensor tensor(std::move(dims), bf16);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, uniform(generator));
  return tensor;
}

int64_t Tensor::size() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

double Tensor::get(int64_t position) const {
  float value;
  if (bf16) {
    uint16_t half;
    std::memcpy(&half, &bytes[2 * position], 2);
    uint32_t bits = uint32_t(half) << 16;
    std::memcpy(&value, &bits, 4);
  } else {
    std::memcpy(&value, &bytes[4 * position], 4);
  }
  return value;
}

void Tensor::set(int64_t position, double value) {
  float single = float(value);
  if (!bf16) {
    std::memcpy(&bytes[4 * position], &single, 4);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  uint16_t half = bits >> 16;
  std::memcpy(&bytes[2 * position], &half, 2);
}

double Tensor::operator()(std::initializer_list<int64_t> at) const {
  int64_t position = 0, i = 0;
  for (int64_t index : at)
    position = position * dims[i++] + index;
  return get(position);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static double seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

double test::processorSeconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }

Kernels::Kernels(const std::string &text, std::vector<std::string> sizeNames)
    : context(std::make_unique<mlir::MLIRContext>()),
      sizeNames(std::move(sizeNames)) {
  context->loadDialect<CkptDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module)
    llvm::report_fatal_error("a test's kernels do not parse");
  std::vector<llvm::StringRef> names(this->sizeNames.begin(),
                                     this->sizeNames.end());
  llvm::SmallVector<uint8_t> object;
  unsigned calls = 0, total = 0;
  double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
  bool done = succeeded(compileHostKernels(*module, names, object,
                                           [&](unsigned done, unsigned all) {
                                             EXPECT_EQ(done, ++calls);
                                             total = all;
                                           }));
  compileSeconds = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
  if (!done)
    llvm::report_fatal_error("a test's kernels do not compile");
  EXPECT_EQ(calls, total);
  int file = memfd_create("kernels", 0);
  EXPECT_EQ(write(file, object.data(), object.size()), ssize_t(object.size()));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    llvm::report_fatal_error(dlerror());
  close(file);
}

Kernels::~Kernels() {
  if (library)
    dlclose(library);
}

KernelOp Kernels::kernel(const std::string &name) {
  return module->lookupSymbol<KernelOp>(name);
}

rt::SizeValues Kernels::valuesOf(const std::vector<int64_t> &sizes) {
  rt::SizeValues values;
  for (size_t i = 0; i < sizes.size(); ++i)
    values[sizeNames[i]] = sizes[i];
  return values;
}

std::vector<Tensor> Kernels::outputs(const std::string &name,
                                     const std::vector<int64_t> &sizes) {
  std::vector<Tensor> outputs;
  mlir::Operation *yield = kernel(name).getBody().front().getTerminator();
  for (mlir::Type type : yield->getOperandTypes()) {
    auto tensor = llvm::cast<TensorType>(type);
    std::vector<int64_t> dims;
    for (const rt::Size &dim : tensor.getShape())
      dims.push_back(*dim.evaluate(valuesOf(sizes)));
    outputs.emplace_back(dims, tensor.getElementType().isBF16());
  }
  return outputs;
}

void Kernels::run(const std::string &name,
                  const std::vector<const Tensor *> &reads,
                  const std::vector<Tensor *> &writes,
                  const std::vector<int64_t> &sizes) {
  using Function = void (*)(void *const *, const int64_t *, void *);
  auto function = reinterpret_cast<Function>(dlsym(library, name.c_str()));
  ASSERT_NE(function, nullptr) << name;
  int64_t bytes =
      *HostTargetInfo().workspaceBytes(kernel(name)).evaluate(valuesOf(sizes));
  constexpr int64_t guard = 4096;
  std::vector<char> workspace(bytes + 2 * guard, char(0xff));
  std::vector<void *> args;
  for (const Tensor *tensor : reads)
    args.push_back(const_cast<char *>(tensor->bytes.data()));
  for (Tensor *tensor : writes)
    args.push_back(tensor ? tensor->bytes.data() : nullptr);
  function(args.data(), sizes.data(), workspace.data() + guard);
  for (int64_t i = 0; i < guard; ++i) {
    ASSERT_EQ(workspace[i], char(0xff)) << name << " before its workspace";
    ASSERT_EQ(workspace[guard + bytes + i], char(0xff))
        << name << " after its workspace, byte " << i;
  }
}

std::vector<Tensor> Kernels::run(const std::string &name,
                                 const std::vector<const Tensor *> &reads,
                                 const std::vector<int64_t> &sizes) {
  std::vector<Tensor> results = outputs(name, sizes);
  std::vector<Tensor *> writes;
  for (Tensor &tensor : results)
    writes.push_back(&tensor);
  run(name, reads, writes, sizes);
  // Each result alone is the same, bit for bit.
  for (size_t i = 0; i < results.size() && results.size() > 1; ++i) {
    std::vector<Tensor> alone = outputs(name, sizes);
    std::vector<Tensor *> one(results.size(), nullptr);
    one[i] = &alone[i];
    run(name, reads, one, sizes);
    EXPECT_TRUE(alone[i] == results[i])
        << name << ": result " << i << " differs when it is asked for alone";
  }
  return results;
}

void test::expectNear(const Tensor &actual,
                      const std::function<double(int64_t)> &reference,
                      double tolerance, const std::string &what) {
  std::vector<double> expected(actual.size());
  double largest = 1e-30;
  for (int64_t i = 0; i < actual.size(); ++i) {
    expected[i] = reference(i);
    largest = std::max(largest, std::abs(expected[i]));
  }
  for (int64_t i = 0; i < actual.size(); ++i) {
    // Written so that a NaN fails.
    bool near = std::abs(actual.get(i) - expected[i]) <= tolerance * largest;
    ASSERT_TRUE(near) << what << ", element " << i << " of " << actual.size()
                      << ": expected " << expected[i] << ", got "
                      << actual.get(i) << " (largest " << largest << ")";
  }
}

std::string
test::fill(std::string text,
           const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

std::string test::kernelText(const std::string &name,
                             const std::string &kernelClass,
                             const std::string &arguments,
                             const std::string &body) {
  return "ckpt.kernel @" + name + " " + kernelClass + "(" + arguments +
         ") workspace \"0\" flops \"0\" traffic \"0\" {\n" + body + "}\n";
}
