//===- CompileHostKernels.cpp - all kernels of a module -------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
//
// Each kernel is compiled by itself: as text it goes into a module and a
// context of its own, so that threads share nothing.
//
//===----------------------------------------------------------------------===//

#include "../Codegen/OwnContext.h"
#include "../Codegen/Parallel.h"
#include "ObjectFile.h"
#include "ckpt/Conversion/CkptToHost.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ckpt;

namespace {

/// One kernel, as text and then as machine code, or why there is none.
struct Job {
  KernelOp kernel;
  std::string text;
  llvm::SmallVector<char, 0> object;
  std::string error;
};

} // namespace

static void compile(Job &job, ArrayRef<StringRef> sizeNames) {
  DialectRegistry registry;
  registry.insert<CkptDialect>();
  job.error = codegen::inOwnContext(
      job.text, registry, "no code could be made for the host",
      [&](ModuleOp module) -> LogicalResult {
        KernelOp kernel = *module.getOps<KernelOp>().begin();
        if (failed(convertKernelToHost(kernel, sizeNames)))
          return failure();
        return host::emitObjectFile(module, job.object);
      });
}

LogicalResult ckpt::compileHostKernels(
    ModuleOp module, ArrayRef<StringRef> sizeNames,
    SmallVectorImpl<uint8_t> &object,
    llvm::function_ref<void(unsigned, unsigned)> progress) {
  std::vector<Job> jobs;
  for (auto kernel : module.getOps<KernelOp>()) {
    Job job;
    job.kernel = kernel;
    llvm::raw_string_ostream stream(job.text);
    kernel->print(stream);
    jobs.push_back(std::move(job));
  }
  codegen::runInParallel(
      jobs.size(), [&](unsigned i) { compile(jobs[i], sizeNames); }, progress);

  std::vector<llvm::SmallVector<char, 0>> objects;
  for (Job &job : jobs) {
    if (!job.error.empty())
      return job.kernel.emitError(job.error);
    objects.push_back(std::move(job.object));
  }
  if (llvm::Error error = host::linkSharedObject(objects, object))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}
