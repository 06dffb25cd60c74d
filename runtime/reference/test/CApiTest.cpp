//===- CApiTest.cpp - the library as ckpt-run opens it --------------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "AdapterProgram.h"
#include "Program/Artifact.h"
#include "Program/Externals.h"
#include "ckpt_reference.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

using namespace ckpt::rt;

namespace {
/// The library's functions, found by name in a library opened at run time.
struct Library {
  void *handle = dlopen(CKPT_REFERENCE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  std::string error = handle ? "" : dlerror();
  template <typename F>
  F *get(const char *name) {
    return handle ? reinterpret_cast<F *>(dlsym(handle, name)) : nullptr;
  }
#define CKPT_FUNCTION(name)                                                    \
  decltype(ckpt_reference_##name) *name =                                      \
      get<decltype(ckpt_reference_##name)>("ckpt_reference_" #name)
  CKPT_FUNCTION(api_version);
  CKPT_FUNCTION(create);
  CKPT_FUNCTION(destroy);
  CKPT_FUNCTION(message);
  CKPT_FUNCTION(set);
  CKPT_FUNCTION(run);
  CKPT_FUNCTION(compare);
  CKPT_FUNCTION(values);
#undef CKPT_FUNCTION
};

class ReferenceCApi : public ::testing::Test {
protected:
  static Library &library() {
    static Library library;
    return library;
  }
  void SetUp() override {
    ASSERT_TRUE(library().handle) << library().error;
    artifact = serialize(makeAdapterProgram(DType::F32));
    options.size = sizeof options;
    options.artifact = artifact.data();
    options.artifact_bytes = artifact.size();
    options.blocks = -1;
    options.size_names = names;
    options.size_values = values;
    options.num_sizes = 1;
  }
  void TearDown() override {
    if (library().handle)
      library().destroy(reference);
  }
  std::string message() { return library().message(reference); }

  std::vector<uint8_t> artifact;
  const char *names[1] = {"rows"};
  int64_t values[1] = {3};
  ckpt_reference_options options = {};
  ckpt_reference *reference = nullptr;
};
} // namespace

TEST_F(ReferenceCApi, RunsComparesAndReports) {
  Library &api = library();
  EXPECT_EQ(api.api_version(), CKPT_REFERENCE_API_VERSION);
  ASSERT_EQ(api.create(&options, &reference), 0) << message();
  Program program = makeAdapterProgram(DType::F32);
  std::vector<float> ones(64, 1.0f);
  for (const External &external :
       externalsOf(program, *blocksOf(program, std::nullopt)))
    if (external.kind != ExternalKind::Output &&
        external.kind != ExternalKind::Gradient)
      ASSERT_EQ(api.set(reference, external.name.c_str(), ones.data(),
                        *external.type.bytes().evaluate({{"rows", 3}})),
                0)
          << message();
  int64_t last = 0;
  auto progress = [](void *user, int64_t done, int64_t) {
    *static_cast<int64_t *>(user) = done;
  };
  ASSERT_EQ(api.run(reference, progress, &last), 0) << message();
  EXPECT_EQ(last, 8);
  // All ones: n = 1 (eps aside), z = 6 + 0.5 x 12 = 12, y = 1 + silu(12) =
  // 13 less 7e-5; again n = 1, so out.x = 25 less 2e-4.
  std::vector<double> out(18);
  ASSERT_EQ(api.values(reference, "out.x", out.data(), 18), 0) << message();
  for (double value : out)
    EXPECT_NEAR(value, 25, 5e-4);
  std::vector<float> found(out.begin(), out.end());
  ckpt_reference_comparison comparison = {};
  comparison.size = sizeof comparison;
  ASSERT_EQ(api.compare(reference, "out.x", found.data(), 72, &comparison), 0);
  EXPECT_TRUE(comparison.passed);
  EXPECT_GE(comparison.bound, 0x1p-17);
  found[5] += 1;
  ASSERT_EQ(api.compare(reference, "out.x", found.data(), 72, &comparison), 0);
  EXPECT_FALSE(comparison.passed);
  // 1 / (25 sqrt(18)).
  EXPECT_NEAR(comparison.error, 0.009428, 1e-5);
}

TEST_F(ReferenceCApi, FailuresAreMessages) {
  Library &api = library();
  options.size = 8;
  EXPECT_NE(api.create(&options, &reference), 0);
  EXPECT_EQ(message(), "expected options of at least " +
                           std::to_string(sizeof options) + " bytes, found 8");
  api.destroy(reference);
  options.size = sizeof options;
  artifact[artifact.size() / 2] ^= 1;
  EXPECT_NE(api.create(&options, &reference), 0);
  EXPECT_NE(message(), "");
  api.destroy(reference);
  artifact[artifact.size() / 2] ^= 1;
  options.threads = -1;
  EXPECT_NE(api.create(&options, &reference), 0);
  EXPECT_EQ(message(), "threads: expected at least 0, found -1");
  api.destroy(reference);
  options.threads = 0;
  names[0] = "row";
  EXPECT_NE(api.create(&options, &reference), 0);
  EXPECT_NE(message().find("row"), std::string::npos);
  api.destroy(reference);
  names[0] = "rows";
  ASSERT_EQ(api.create(&options, &reference), 0) << message();
  EXPECT_NE(api.run(reference, nullptr, nullptr), 0);
  EXPECT_EQ(message(), "tensor 'x' was not given");
  double value;
  EXPECT_NE(api.values(reference, "out.x", &value, 1), 0);
  EXPECT_EQ(message(), "tensor 'out.x': the reference has not been run");
}

// What is visible is the C API: LibTorch's own users in the same process keep
// their copies of everything else.
TEST_F(ReferenceCApi, ExportsNothingElse) {
  EXPECT_EQ(dlsym(library().handle, "_ZN4ckpt2rt11deserializeEPKhm"), nullptr);
}
