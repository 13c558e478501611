// Programs that are kept are those that were compiled, and only for what they were compiled for.
#include "build/program_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "program_folder.h"
#include "support/program_parts.h"
#include "tenon/tenon.h"

namespace tenon::program_cache_test {
namespace {

Graph product(int64_t columns) {
  const Value x = input("x", shape(f32, "row", 64));
  const Array weights = Array::from<float>({64, columns}, std::vector<float>(static_cast<size_t>(64 * columns), 0.25F));
  return Graph("product", {x}, {{.name = "y", .value = relu(matmul(x, constant(weights)))}});
}

ProgramKey key_of(const std::string& text, const CompileOptions& options = {}) {
  ProgramKey key;
  key.add(text);
  key.add(options);
  return key;
}

TEST(ProgramKey, TellsAllThatIsCompiledApart) {
  std::set<std::string> seen;
  const auto is_new = [&](const ProgramKey& key) { return seen.insert(key.hex()).second; };
  EXPECT_TRUE(is_new(key_of("mlp")));
  EXPECT_FALSE(is_new(key_of("mlp")));
  EXPECT_TRUE(is_new(key_of("mlp2")));
  EXPECT_TRUE(is_new(key_of("mlp", {.fuse = false})));
  EXPECT_TRUE(is_new(key_of("mlp", {.native = false})));
  EXPECT_TRUE(is_new(key_of("mlp", {.most_row_bytes = 5})));
  EXPECT_TRUE(is_new(key_of("mlp", {.least_shared_work = 5})));
  EXPECT_TRUE(is_new(key_of("mlp", {.machine = machine_named("x86-64-v2")})));
  EXPECT_TRUE(is_new(key_of("mlp", {.winograd = false})));
  EXPECT_TRUE(is_new(key_of("mlp", {.pipelines = false})));
  EXPECT_TRUE(is_new(key_of("mlp", {.pipeline_rows = 4})));
  EXPECT_TRUE(is_new(key_of("mlp", {.weights = Dtype::bf16})));
  EXPECT_TRUE(is_new(key_of("mlp", {.weights = Dtype::i8})));
  EXPECT_TRUE(is_new(key_of("mlp", {.skip = {"fold_views"}})));
  EXPECT_TRUE(is_new(key_of("mlp", {.sizes_from = {{"shape", {"a", "b"}}}})));
  ProgramKey one;
  one.add("ab");
  one.add("c");
  ProgramKey other;
  other.add("a");
  other.add("bc");
  EXPECT_TRUE(is_new(one));
  EXPECT_TRUE(is_new(other));
}

TEST(ProgramKey, AFileThatJustChangedHasNoIdentity) {
  const ProgramFolder folder;
  const std::string path = folder / "model.onnx";
  EXPECT_EQ(file_identity(path), "");
  std::ofstream(path) << "a model";
  EXPECT_EQ(file_identity(path), "");
  EXPECT_EQ(file_identity(folder.path().string()), "");
}

class KeptPrograms : public testing::Test {
 protected:
  void SetUp() override {
    if (!ProgramCache(true, cache_path()).enabled()) GTEST_SKIP() << "programs are kept by builds with LLVM alone";
  }
  std::string cache_path() const { return folder_ / "cache"; }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(cache_path()), {}));
  }

  ProgramFolder folder_;
};

TEST_F(KeptPrograms, GiveTheSameBits) {
  const ProgramCache cache(true, cache_path());
  const ProgramKey key = key_of("product");
  EXPECT_EQ(cache.find(key).path, "");
  const CompiledProgram compiled = compile_to_keep(product(48), {});
  cache.store(key, *compiled.saved);
  const std::string path = cache.find(key).path;
  ASSERT_NE(path, "");
  const Executable kept = load_program(path);
  const Executable plain = compile(product(48));
  EXPECT_EQ(kept.explain(), plain.explain());
  for (const int64_t rows : {0, 1, 7, 33}) {
    const Array x(f32, std::vector<int64_t>{rows, 64});
    Array ones = x;
    std::ranges::fill(ones.mutable_values<float>(), 1.5F);
    for (const Array& given : {x, ones}) {
      const Array wanted = plain.run({given})[0];
      EXPECT_TRUE(same_bits(kept.run({given})[0], wanted));
      EXPECT_TRUE(same_bits(compiled.executable.run({given})[0], wanted));
    }
  }
  EXPECT_EQ(cache.find(key_of("product", {.winograd = false})).path, "");
  cache.remove(key);
  EXPECT_EQ(cache.find(key).path, "");
  EXPECT_EQ(files(), 0U);
}

TEST_F(KeptPrograms, StayBelowALimit) {
  const CompiledProgram compiled = compile_to_keep(product(64), {});
  int64_t bytes = 0;
  {
    const ProgramCache cache(true, cache_path());
    cache.store(key_of("first"), *compiled.saved);
    bytes = static_cast<int64_t>(std::filesystem::file_size(cache.find(key_of("first")).path));
  }
  const ProgramCache cache(true, cache_path(), 2 * bytes + bytes / 2);
  cache.store(key_of("second"), *compiled.saved);
  cache.use(key_of("first"));  // which makes the second the one that was not used for longest
  cache.store(key_of("third"), *compiled.saved);
  EXPECT_EQ(files(), 2U);
  EXPECT_NE(cache.find(key_of("third")).path, "");
  EXPECT_NE(cache.find(key_of("first")).path, "");
  EXPECT_EQ(cache.find(key_of("second")).path, "");
  const ProgramCache small(true, cache_path(), bytes / 4);
  small.store(key_of("fourth"), *compiled.saved);
  EXPECT_EQ(small.find(key_of("fourth")).path, "");
}

TEST_F(KeptPrograms, AreNotKeptWhereNothingMayBe) {
  const CompiledProgram compiled = compile_to_keep(product(8), {});
  const ProgramCache off(false, cache_path());
  EXPECT_FALSE(off.enabled());
  off.store(key_of("a"), *compiled.saved);
  EXPECT_EQ(off.find(key_of("a")).path, "");
  std::filesystem::create_directories(cache_path());
  std::filesystem::permissions(cache_path(), std::filesystem::perms::all);  // others could write what we would run
  EXPECT_FALSE(ProgramCache(true, cache_path()).enabled());
}

}  // namespace
}  // namespace tenon::program_cache_test
