//===- CompileNvptxKernels.cpp - all kernels of a module ------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Generators run one after the other. Their functions are compiled as text in
// contexts of their own, so that threads share nothing; the text is also what
// the cache is asked by. So other models and other versions of ckpt find what
// is the same. The same kernels by the same ckpt are found as a whole, before
// any generator runs.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Conversion/CkptToNVVM.h"

#include "../Codegen/OwnContext.h"
#include "../Codegen/Parallel.h"
#include "CodeCache.h"
#include "Generators.h"
#include "Program/Artifact.h"
#include "Ptx.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace ckpt;
using namespace ckpt::nvptx;

namespace {

/// One function, as text and then as code, or why there is none.
struct Job {
  KernelOp kernel;
  std::string text;
  std::string error;
};

/// The functions of a program, each once.
class Functions {
public:
  Functions(rt::Program &program) : program(program) {}

  /// The number of the function that reads as `function` does.
  int insert(const nvptx::Function &function, KernelOp kernel);
  SmallVector<Job> jobs;

private:
  rt::Program &program;
  llvm::StringMap<int> known;
};

} // namespace

int Functions::insert(const nvptx::Function &function, KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ModuleOp module = *function.module;
  module->print(stream, OpPrintingFlags().useLocalScope());
  auto [entry, isNew] = known.try_emplace(text, int(jobs.size()));
  if (isNew) {
    program.functions.push_back(function.launch);
    jobs.push_back({kernel, std::move(text), ""});
  }
  return entry->second;
}

/// Text of the function in -> PTX out.
static bool translate(Job &job, StringRef chip, std::string &ptx) {
  DialectRegistry registry;
  registry.insert<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(registry);
  job.error = codegen::inOwnContext(
      job.text, registry, "no code could be made for the GPU",
      [&](ModuleOp module) { return emitPtx(module, chip, ptx); });
  return job.error.empty();
}

static void compile(Job &job, rt::GpuFunction &function, StringRef chip,
                    const Assembler *assembler, const CodeCache &cache) {
  std::string key =
      CodeCache::keyOf({"ptx", LLVM_VERSION_STRING, chip, job.text});
  if (std::optional<std::string> known = cache.find(key)) {
    function.ptx = std::move(*known);
  } else {
    if (!translate(job, chip, function.ptx))
      return;
    cache.insert(key, function.ptx);
  }
  if (!assembler)
    return;
  key = CodeCache::keyOf({"cubin", assembler->version(), chip, function.ptx});
  if (std::optional<std::string> known = cache.find(key)) {
    function.cubin.assign(known->begin(), known->end());
    return;
  }
  llvm::Expected<std::vector<uint8_t>> cubin =
      assembler->assemble(function.ptx, chip, function.symbol);
  if (!cubin) {
    job.error = llvm::toString(cubin.takeError());
    return;
  }
  function.cubin = std::move(*cubin);
  cache.insert(key, StringRef(reinterpret_cast<char *>(function.cubin.data()),
                              function.cubin.size()));
}

static LogicalResult
compileAll(MutableArrayRef<Job> jobs, rt::Program &program,
           const Assembler *assembler, const CodeCache &cache,
           llvm::function_ref<void(unsigned, unsigned)> progress) {
  codegen::runInParallel(
      jobs.size(),
      [&](unsigned i) {
        compile(jobs[i], program.functions[i], program.chip, assembler, cache);
      },
      progress);
  LogicalResult result = success();
  for (Job &job : jobs)
    if (!job.error.empty())
      result = job.kernel.emitError(job.error);
  return result;
}

/// Runs the generators and sorts out what has to be compiled.
static LogicalResult generateAll(ModuleOp module, const NvptxOptions &options,
                                 rt::Program &program, Functions &functions) {
  for (auto [kernel, launch] :
       llvm::zip_equal(module.getOps<KernelOp>(), program.kernels)) {
    Code code;
    if (failed(generate(kernel, {options.deterministic}, code)))
      return failure();
    SmallVector<int> numbers;
    for (const nvptx::Function &function : code.functions)
      numbers.push_back(functions.insert(function, kernel));
    for (rt::Alternative &alternative : code.alternatives)
      for (rt::GpuLaunch &step : alternative.launches)
        if (step.function >= 0)
          step.function = numbers[step.function];
    launch.alternatives = std::move(code.alternatives);
  }
  return success();
}

/// A key for everything that the generators see; empty when this build of ckpt
/// cannot be told from others.
static std::string keyOfKernels(ModuleOp module, const NvptxOptions &options,
                                const Assembler *assembler) {
  std::string build = buildId();
  if (build.empty())
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto kernel : module.getOps<KernelOp>()) {
    kernel->print(stream, OpPrintingFlags().useLocalScope());
    stream << "\n";
  }
  return CodeCache::keyOf({"kernels", build, LLVM_VERSION_STRING, options.chip,
                           options.deterministic ? "deterministic" : "",
                           assembler ? assembler->version() : "", text});
}

/// Takes launches and functions from a program with the same kernels.
static bool takeKernels(StringRef bytes, rt::Program &program) {
  rt::Result<rt::Program> known = rt::deserialize(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (!known.ok() || known->kernels.size() != program.kernels.size())
    return false;
  program.functions = std::move(known->functions);
  for (auto [kernel, from] : llvm::zip_equal(program.kernels, known->kernels))
    kernel.alternatives = std::move(from.alternatives);
  return true;
}

LogicalResult ckpt::compileNvptxKernels(
    ModuleOp module, const NvptxOptions &options, rt::Program &program,
    llvm::function_ref<void(unsigned, unsigned)> progress) {
  std::optional<Assembler> assembler;
  if (options.cubin != NvptxOptions::Cubin::No) {
    llvm::Expected<Assembler> found = Assembler::find();
    if (found)
      assembler = std::move(*found);
    else if (options.cubin == NvptxOptions::Cubin::Yes)
      return module.emitError(llvm::toString(found.takeError()));
    else
      llvm::consumeError(found.takeError());
  }
  const Assembler *given = assembler ? &*assembler : nullptr;
  program.chip = options.chip;
  CodeCache cache;
  std::string key = keyOfKernels(module, options, given);
  if (std::optional<std::string> known = cache.find(key))
    if (takeKernels(*known, program))
      return success();
  Functions functions(program);
  if (failed(generateAll(module, options, program, functions)) ||
      failed(compileAll(functions.jobs, program, given, cache, progress)))
    return failure();
  std::vector<uint8_t> bytes = rt::serialize(program);
  cache.insert(key,
               StringRef(reinterpret_cast<char *>(bytes.data()), bytes.size()));
  return success();
}
