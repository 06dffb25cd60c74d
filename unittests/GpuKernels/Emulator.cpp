//===- Emulator.cpp - GPU functions on this processor ---------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Thread.h"

#include "CkptToHost/ObjectFile.h"
#include "CkptToNVVM/Generators.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

using namespace ckpt;
using namespace ckpt::test;

/// What compilers call to round to bf16; not every libgcc has it. The result is
/// in the low bits of a vector register.
extern "C" float __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = std::isnan(value) ? bits >> 16 | 0x40
                           : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  std::memcpy(&value, &bits, 4);
  return value;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {

constexpr int maxParameters = 20;

/// A block's threads, each with a stack of its own.
class Block {
public:
  Block(void *function, const std::array<int64_t, maxParameters> &parameters,
        int threads);
  void run(int blockX, int blockY);

private:
  enum class Wait { Shuffle, Barrier, Done };
  struct Fiber {
    Thread thread;
    ucontext_t context;
    std::vector<char> stack;
    Wait wait;
  };

  static void start();
  static float shuffle(Thread *thread, float value, int32_t mask);
  static void barrier(Thread *thread);
  void pause(Wait wait);
  void check();

  /// The one whose threads run.
  static Block *active;

  void *function;
  std::array<int64_t, maxParameters> parameters;
  std::vector<Fiber> fibers;
  std::vector<float> exchanged;
  std::vector<char> shared;
  ucontext_t scheduler;
  int current = 0;
};

Block *Block::active = nullptr;

} // namespace

Block::Block(void *function,
             const std::array<int64_t, maxParameters> &parameters, int threads)
    : function(function), parameters(parameters), fibers(threads),
      exchanged(threads), shared(48 << 10) {
  for (Fiber &fiber : fibers)
    fiber.stack.resize(64 << 10);
}

/// Integers and pointers all take a place of 64 bits, and a function does not
/// look at those beyond its own.
void Block::start() {
  Block &b = *active;
  const auto &p = b.parameters;
  reinterpret_cast<void (*)(Thread *, ...)>(b.function)(
      &b.fibers[b.current].thread, p[0], p[1], p[2], p[3], p[4], p[5], p[6],
      p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17],
      p[18], p[19]);
  b.pause(Wait::Done);
}

void Block::pause(Wait wait) {
  Fiber &fiber = fibers[current];
  fiber.wait = wait;
  swapcontext(&fiber.context, &scheduler);
}

float Block::shuffle(Thread *thread, float value, int32_t mask) {
  Block &b = *active;
  b.exchanged[thread->threadX] = value;
  b.pause(Wait::Shuffle);
  float other = b.exchanged[thread->threadX ^ mask];
  b.pause(Wait::Shuffle);
  return other;
}

void Block::barrier(Thread *) { active->pause(Wait::Barrier); }

/// All threads of a warp wait for the same, and all of a block for a barrier;
/// warps may end at different times.
void Block::check() {
  bool anyBarrier = false, allBarrier = true;
  for (size_t i = 0; i < fibers.size(); ++i) {
    ASSERT_EQ(int(fibers[i].wait), int(fibers[i / 32 * 32].wait))
        << "thread " << i << " has left its warp";
    anyBarrier |= fibers[i].wait == Wait::Barrier;
    allBarrier &= fibers[i].wait == Wait::Barrier;
  }
  ASSERT_EQ(anyBarrier, allBarrier) << "a warp is not at the barrier";
}

void Block::run(int blockX, int blockY) {
  active = this;
  std::fill(shared.begin(), shared.end(), char(0xff));
  for (size_t i = 0; i < fibers.size(); ++i) {
    Fiber &fiber = fibers[i];
    fiber.thread = {int32_t(i),
                    blockX,
                    blockY,
                    shared.data(),
                    shuffle,
                    barrier,
                    [](Thread *, float x) { return std::exp2(x); },
                    [](Thread *, float x) { return 1 / x; },
                    [](Thread *, float x) { return 1 / std::sqrt(x); },
                    [](Thread *, float x) { return std::tanh(x); }};
    fiber.wait = Wait::Shuffle;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    makecontext(&fiber.context, start, 0);
  }
  auto isRunning = [](const Fiber &fiber) { return fiber.wait != Wait::Done; };
  while (llvm::any_of(fibers, isRunning) && !testing::Test::HasFatalFailure()) {
    for (current = 0; current < int(fibers.size()); ++current)
      if (isRunning(fibers[current]))
        swapcontext(&scheduler, &fibers[current].context);
    check();
  }
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// A shared object of one function. The loader knows objects by their path, so
/// `file` stays open while it is loaded, and the path is none of the host's.
static void *load(mlir::ModuleOp module, int &file) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  rewriteForThisProcessor(module);
  llvm::SmallVector<char, 0> object;
  llvm::SmallVector<uint8_t> library;
  if (failed(host::emitObjectFile(module, object)))
    llvm::report_fatal_error("a test's function does not compile");
  if (llvm::Error error = host::linkSharedObject(object, library))
    llvm::report_fatal_error(std::move(error));
  file = memfd_create("function", 0);
  EXPECT_EQ(write(file, library.data(), library.size()),
            ssize_t(library.size()));
  std::string path =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    llvm::report_fatal_error(dlerror());
  return handle;
}

Emulator::Emulator(KernelOp kernel) {
  nvptx::Code code;
  if (failed(nvptx::generate(kernel, nvptx::Options(), code)))
    llvm::report_fatal_error("a test's kernel has no code");
  alternatives = code.alternatives;
  for (nvptx::Function &function : code.functions) {
    functions.push_back(function.launch);
    files.push_back(-1);
    libraries.push_back(load(*function.module, files.back()));
  }
}

Emulator::~Emulator() {
  for (void *library : libraries)
    dlclose(library);
  for (int file : files)
    close(file);
}

void Emulator::run(const std::vector<void *> &args, const rt::SizeValues &sizes,
                   void *workspace) {
  using Kind = rt::LaunchArgument::Kind;
  ASSERT_EQ(alternatives.size(), 1u);
  for (const rt::GpuLaunch &launch : alternatives.front().launches) {
    std::array<int64_t, maxParameters> parameters = {};
    ASSERT_LE(launch.arguments.size(), parameters.size());
    for (auto [i, argument] : llvm::enumerate(launch.arguments)) {
      if (argument.kind == Kind::Int32) {
        parameters[i] = *argument.value.evaluate(sizes);
        continue;
      }
      ASSERT_EQ(argument.kind, Kind::Pointer);
      char *base = static_cast<char *>(
          argument.argument < 0 ? workspace : args[argument.argument]);
      if (base)
        base += *argument.offset.evaluate(sizes);
      parameters[i] = reinterpret_cast<int64_t>(base);
    }
    const rt::GpuFunction &function = functions[launch.function];
    Block block(dlsym(libraries[launch.function], function.symbol.c_str()),
                parameters, function.threads);
    int64_t gridX = *launch.gridX.evaluate(sizes);
    int64_t gridY = *launch.gridY.evaluate(sizes);
    for (int64_t y = 0; y < gridY; ++y)
      for (int64_t x = 0; x < gridX; ++x)
        block.run(x, y);
  }
}
