//===- Check.cpp - a run against the oracle -------------------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "Library.h"
#include "Progress.h"
#include "ckpt_reference.h"

using namespace ckpt;
using namespace ckpt::run;

namespace {

/// The functions of libckpt_reference.so, and one reference made with them.
class Oracle {
public:
  static rt::Result<std::unique_ptr<Oracle>> open() {
    rt::Result<Library> library = Library::open("libckpt_reference.so");
    if (!library.ok())
      return rt::Error{"--check: " + library.message() +
                       "; build with the oracle (CKPT_TORCH_DIR) or leave "
                       "--check out"};
    std::unique_ptr<Oracle> oracle(new Oracle);
    auto *version = library->find<decltype(ckpt_reference_api_version)>(
        "ckpt_reference_api_version");
    if (!version || version() != CKPT_REFERENCE_API_VERSION ||
        !oracle->findAll(*library))
      return rt::Error{"libckpt_reference.so: expected interface version " +
                       std::to_string(CKPT_REFERENCE_API_VERSION) + ", found " +
                       (version ? std::to_string(version()) : "none")};
    return oracle;
  }

  ~Oracle() {
    if (reference)
      destroy(reference);
  }

  rt::Status prepare(const Loaded &loaded, const Options &options,
                     const rt::Schedule &schedule);
  rt::Status run(const std::vector<Tensor> &tensors);
  rt::Result<rt::CheckedTensor> compareOne(const Tensor &tensor);

private:
  Oracle() = default;

  bool findAll(const Library &library) {
    create =
        library.find<decltype(ckpt_reference_create)>("ckpt_reference_create");
    destroy = library.find<decltype(ckpt_reference_destroy)>(
        "ckpt_reference_destroy");
    message = library.find<decltype(ckpt_reference_message)>(
        "ckpt_reference_message");
    set = library.find<decltype(ckpt_reference_set)>("ckpt_reference_set");
    compute = library.find<decltype(ckpt_reference_run)>("ckpt_reference_run");
    compare = library.find<decltype(ckpt_reference_compare)>(
        "ckpt_reference_compare");
    return create && destroy && message && set && compute && compare;
  }

  rt::Error error() const {
    return {std::string("the oracle: ") +
            (reference ? message(reference) : "expected memory, found none")};
  }

  decltype(&ckpt_reference_create) create = nullptr;
  decltype(&ckpt_reference_destroy) destroy = nullptr;
  decltype(&ckpt_reference_message) message = nullptr;
  decltype(&ckpt_reference_set) set = nullptr;
  decltype(&ckpt_reference_run) compute = nullptr;
  decltype(&ckpt_reference_compare) compare = nullptr;
  ckpt_reference *reference = nullptr;
};

rt::Status Oracle::prepare(const Loaded &loaded, const Options &options,
                           const rt::Schedule &schedule) {
  std::vector<const char *> names;
  std::vector<int64_t> values;
  for (auto &[name, value] : schedule.sizeValues) {
    names.push_back(name.c_str());
    values.push_back(value);
  }
  ckpt_reference_options given = {};
  given.size = sizeof given;
  given.artifact = loaded.artifact.data();
  given.artifact_bytes = loaded.artifact.size();
  given.blocks = options.blocks.value_or(-1);
  given.size_names = names.data();
  given.size_values = values.data();
  given.num_sizes = names.size();
  if (create(&given, &reference) != 0)
    return error();
  return {};
}

rt::Status Oracle::run(const std::vector<Tensor> &tensors) {
  for (const Tensor &tensor : tensors)
    if (!tensor.isResult() && set(reference, tensor.external.name.c_str(),
                                  tensor.data.get(), size_t(tensor.bytes)) != 0)
      return error();
  Progress progress("computing the reference in float64");
  auto pass = [](void *user, int64_t done, int64_t total) {
    static_cast<Progress *>(user)->set(done, total);
  };
  if (compute(reference, pass, &progress) != 0)
    return error();
  return {};
}

rt::Result<rt::CheckedTensor> Oracle::compareOne(const Tensor &tensor) {
  ckpt_reference_comparison comparison = {};
  comparison.size = sizeof comparison;
  if (compare(reference, tensor.external.name.c_str(), tensor.data.get(),
              size_t(tensor.bytes), &comparison) != 0)
    return error();
  return rt::CheckedTensor{tensor.external.name, comparison.error,
                           comparison.pytorch_error, comparison.bound,
                           comparison.passed != 0};
}

} // namespace

rt::Result<std::vector<rt::CheckedTensor>>
run::checkResults(const Loaded &loaded, const Options &options,
                  const rt::Schedule &schedule,
                  const std::vector<Tensor> &tensors) {
  rt::Result<std::unique_ptr<Oracle>> oracle = Oracle::open();
  if (!oracle.ok())
    return oracle.takeError();
  if (rt::Status status = (*oracle)->prepare(loaded, options, schedule);
      !status.ok())
    return rt::Error{status.message()};
  if (rt::Status status = (*oracle)->run(tensors); !status.ok())
    return rt::Error{status.message()};
  std::vector<rt::CheckedTensor> checked;
  for (const Tensor &tensor : tensors) {
    if (!tensor.isResult())
      continue;
    rt::Result<rt::CheckedTensor> one = (*oracle)->compareOne(tensor);
    if (!one.ok())
      return one.takeError();
    checked.push_back(*one);
  }
  return checked;
}
