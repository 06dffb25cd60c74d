//===- Compile.cpp - block IR in, artifact out ----------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Compiler/Compile.h"

#include "Plan/Policy.h"
#include "Program/Artifact.h"
#include "ckpt/Conversion/CkptToHost.h"
#include "ckpt/Dialect/Ckpt/IR/CkptDialect.h"
#include "ckpt/Transforms/Pipelines.h"
#include "ckpt/Transforms/Problem.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace ckpt;

namespace {

/// Renders diagnostics with their lines of source, notes included.
class Renderer : public SourceMgrDiagnosticHandler {
public:
  using SourceMgrDiagnosticHandler::emitDiagnostic;
  using SourceMgrDiagnosticHandler::SourceMgrDiagnosticHandler;
};

/// One compile: its context, its source and where its diagnostics go.
class Compile {
public:
  Compile(StringRef source, StringRef name, const CompileOptions &options);

  CompileStatus run(std::vector<uint8_t> &artifact);

private:
  void report(Diagnostic &diagnostic);
  LogicalResult readControls();
  FailureOr<rt::Program> lower();
  LogicalResult compileKernels(rt::Program &program);

  const CompileOptions &options;
  MLIRContext context;
  llvm::SourceMgr sources;
  std::string text;
  llvm::raw_string_ostream textStream{text};
  /// `handler`, registered later, is asked first.
  Renderer renderer;
  ScopedDiagnosticHandler handler;
  rt::Controls controls;
  OwningOpRef<ModuleOp> module;
};

} // namespace

Compile::Compile(StringRef source, StringRef name,
                 const CompileOptions &options)
    : options(options), renderer(sources, &context, textStream),
      handler(&context, [this](Diagnostic &diagnostic) { report(diagnostic); }),
      controls(options.controls) {
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(source, name,
                                       /*RequiresNullTerminator=*/false),
      llvm::SMLoc());
  context.loadDialect<CkptDialect>();
  // The message names the op at fault; printing all of it helps nobody.
  context.printOpOnDiagnostic(false);
}

void Compile::report(Diagnostic &diagnostic) {
  if (!options.diagnostic)
    return;
  text.clear();
  // What is wrong with an option stands in no file.
  if (isa<UnknownLoc>(diagnostic.getLocation()))
    textStream << "error: " << diagnostic << "\n";
  else
    renderer.emitDiagnostic(diagnostic);
  options.diagnostic(diagnostic.getSeverity(), textStream.str());
}

/// What can be wrong with the options, before anything else runs.
LogicalResult Compile::readControls() {
  Location nowhere = UnknownLoc::get(&context);
  if (options.target != "host" && options.target != "nvptx")
    return emitError(nowhere) << "--target: expected host or nvptx, found '"
                              << options.target << "'";
  if (options.nvptx.chip != "sm_90a")
    return emitError(nowhere)
           << "--chip: expected sm_90a, found '" << options.nvptx.chip << "'";
  rt::Result<rt::Backend> backend = rt::parseBackend(options.backend);
  if (!backend.ok())
    return emitError(nowhere, backend.message());
  controls.backend = *backend;
  if (rt::Status status = rt::checkControls(controls); !status.ok())
    return emitError(nowhere, status.message());
  return success();
}

static std::string textOf(std::optional<int64_t> count) {
  return count ? std::to_string(*count) : std::string();
}

FailureOr<rt::Program> Compile::lower() {
  module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  PlanPassOptions plan;
  plan.backend = options.backend;
  plan.interval = textOf(controls.interval);
  plan.segmentStride = textOf(controls.segmentStride);
  plan.attentionOnce = controls.attentionOnce;
  plan.offloadAttention = controls.offloadAttention;
  plan.pinMemoryMaxBuckets = textOf(controls.pinMemoryMaxBuckets);
  plan.menu = true;
  PassManager pm(&context);
  SelectPassOptions select;
  select.target = options.target;
  buildSelectPipeline(pm, select);
  buildPlanPipeline(pm, plan);
  if (failed(pm.run(*module)))
    return failure();
  FailureOr<rt::Program> program = buildProblem(*module);
  if (failed(program) || failed(readVariants(*module, *program)))
    return failure();
  program->defaults = controls;
  program->target = options.target;
  program->deterministic =
      options.target == "host" || options.nvptx.deterministic;
  return program;
}

LogicalResult Compile::compileKernels(rt::Program &program) {
  auto progress = [&](unsigned done, unsigned total) {
    if (options.progress)
      options.progress(done, total);
  };
  if (options.target == "nvptx")
    return compileNvptxKernels(*module, options.nvptx, program, progress);
  SmallVector<StringRef> sizeNames;
  for (const rt::NamedSize &size : program.sizes)
    sizeNames.push_back(size.name);
  SmallVector<uint8_t> object;
  if (failed(compileHostKernels(*module, sizeNames, object, progress)))
    return failure();
  program.object.assign(object.begin(), object.end());
  return success();
}

CompileStatus Compile::run(std::vector<uint8_t> &artifact) {
  if (failed(readControls()))
    return CompileStatus::Invalid;
  FailureOr<rt::Program> program = lower();
  if (failed(program))
    return CompileStatus::Invalid;
  if (!options.planOnly && failed(compileKernels(*program)))
    return CompileStatus::Failed;
  if (rt::Status status = rt::validate(*program); !status.ok()) {
    emitError(module->getLoc())
        << "the compiler made a program that is not valid: "
        << status.message();
    return CompileStatus::Failed;
  }
  artifact = rt::serialize(*program);
  return CompileStatus::Ok;
}

CompileStatus ckpt::compile(StringRef source, StringRef name,
                            const CompileOptions &options,
                            std::vector<uint8_t> &artifact) {
  return Compile(source, name, options).run(artifact);
}
