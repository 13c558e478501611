// Model files that were loaded before are loads, not compiles.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "build/kept_program.h"
#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/load.h"

namespace tenon::kept_load_test {
namespace {

namespace fs = std::filesystem;

OnnxModelBuilder sum_of_two() {
  OnnxModelBuilder model;
  model.input("b", "f32[n]");
  model.input("a", "f32[n]");
  model.node("Add", {"a", "b"}, {"y"});
  model.output("y");
  return model;
}

OnnxModelBuilder cache() {
  OnnxModelBuilder model;
  model.input("past", "f32[1, past]");
  model.input("new", "f32[1, 2]");
  model.node("Concat", {"past", "new"}, {"present"}, {attribute("axis", int64_t{1})});
  model.output("present");
  return model;
}

/// Models that are old enough to be kept, and a cache directory of its own.
class KeptLoadTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = fs::path(testing::TempDir()) / ("tenon_kept_load_" + std::to_string(::getpid()));
    fs::create_directories(folder());
    write("sum", sum_of_two());
    write("sum2", sum_of_two());
    write("reshape", reshape_to_sizes());
    write("along", sum_along());
    write("cache", cache());
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  void SetUp() override {
    if (const char* was = ::getenv("XDG_CACHE_HOME")) was_ = was;
    fs::remove_all(folder() / "tenon");
    ::setenv("XDG_CACHE_HOME", folder().c_str(), 1);
    if (!ProgramCache(true).enabled()) GTEST_SKIP() << "programs are kept by builds with LLVM alone";
  }
  void TearDown() override {
    wait_for_kept_programs();
    was_ ? ::setenv("XDG_CACHE_HOME", was_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  }

  static fs::path& folder() {
    static fs::path path;
    return path;
  }
  static void write(const std::string& name, const OnnxModelBuilder& model) {
    std::ofstream(folder() / (name + ".onnx"), std::ios::binary) << model.bytes();
  }
  static LoadedModel load_model(const std::string& name, const LoadOptions& options = {}) {
    return load(folder() / (name + ".onnx"), options);
  }
  /// Nobody has it any more: it is kept.
  static void load_and_keep(const std::string& name, const LoadOptions& options = {}) {
    EXPECT_EQ(load_model(name, options).compile_count(), 1);
    wait_for_kept_programs();
  }

  std::optional<std::string> was_;
};

TEST_F(KeptLoadTest, ASecondLoadIsALoad) {
  const LoadedModel::Arrays inputs = {{"a", Array::full(f32, {3}, 2)}, {"b", Array::full(f32, {3}, 5)}};
  const LoadedModel first = load_model("sum");
  EXPECT_EQ(first.compile_count(), 1);
  EXPECT_EQ(load_model("sum").compile_count(), 1) << "nobody waits for the disk before there is an answer";
  const Array wanted = first.run(inputs).at("y");
  wait_for_kept_programs();
  const LoadedModel second = load_model("sum");
  EXPECT_EQ(second.compile_count(), 0);
  EXPECT_EQ(second.inputs(), first.inputs());
  EXPECT_EQ(second.inputs()[0].name, "b");
  EXPECT_EQ(second.output_names(), first.output_names());
  EXPECT_EQ(second.executable().explain(), first.executable().explain());
  EXPECT_TRUE(same_bits(second.run(inputs).at("y"), wanted));
  EXPECT_EQ(second.run({{"a", Array(f32, {100})}, {"b", Array(f32, {100})}}).at("y").size(), 100);
  EXPECT_EQ(error_text([&] { second.run({{"a", Array(f32, {2})}}); }),
            "input `b` is not given; the model takes `b`, `a`, and `a` is given");
}

TEST_F(KeptLoadTest, OtherOptionsAreAnotherProgram) {
  load_and_keep("sum");
  EXPECT_EQ(load_model("sum", {.onnx = {}, .compile = {.fuse = false}}).compile_count(), 1);
  EXPECT_EQ(load_model("sum", {.onnx = {}, .compile = {.disk_cache = false}}).compile_count(), 1);
  EXPECT_EQ(load_model("sum", {.onnx = {.shapes = {{"a", shape(f32, 4)}}}, .compile = {}}).compile_count(), 1);
  EXPECT_EQ(load_model("sum", {.onnx = {.values = {{"a", Array(f32, {4})}}}, .compile = {}}).compile_count(), 1);
  EXPECT_EQ(load_model("sum2").compile_count(), 1) << "the same bytes in another file";
  EXPECT_EQ(load_model("sum").compile_count(), 0);
}

TEST_F(KeptLoadTest, AChangedFileIsCompiledAgain) {
  load_and_keep("sum2");
  EXPECT_EQ(load_model("sum2").compile_count(), 0);
  write("sum2", sum_along());
  EXPECT_EQ(load_model("sum2").inputs()[0].name, "x");
}

TEST_F(KeptLoadTest, ADamagedProgramIsCompiledAgain) {
  load_and_keep("sum");
  for (const auto& each : fs::directory_iterator(folder() / "tenon")) {
    if (each.path().extension() == ".tenon") fs::resize_file(each.path(), fs::file_size(each.path()) - 100);
  }
  load_and_keep("sum");
  EXPECT_EQ(load_model("sum").compile_count(), 0);
}

TEST_F(KeptLoadTest, ValuesThatAreSizesStayNames) {
  load_and_keep("reshape");
  const LoadedModel model = load_model("reshape");
  EXPECT_EQ(model.compile_count(), 0);
  const auto dims = [&](int64_t n, int64_t rows, int64_t columns) {
    return model.run({{"x", Array(f32, {n})}, {"to", Array::from<int64_t>({2}, {rows, columns})}}).at("y").dims();
  };
  EXPECT_EQ(dims(6, 2, 3), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(dims(20, 4, 5), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(model.compile_count(), 0);
  EXPECT_EQ(dims(8, 2, -1), (std::vector<int64_t>{2, 4})) << "a value with a meaning of its own";
  EXPECT_EQ(model.compile_count(), 1);
  EXPECT_EQ(load_model("reshape").compile_count(), 0);
}

TEST_F(KeptLoadTest, AProgramForValuesIsNotKept) {
  const LoadedModel::Arrays inputs = {{"x", Array(f32, {2, 3})}, {"axes", Array::from<int64_t>({1}, {1})}};
  for (int i = 0; i < 2; ++i) {
    const LoadedModel model = load_model("along");
    EXPECT_EQ(model.value_inputs(), std::vector<std::string>{"axes"});
    EXPECT_EQ(model.run(inputs).at("y").dims(), std::vector<int64_t>{2});
    EXPECT_EQ(model.compile_count(), 1);
    wait_for_kept_programs();
  }
}

TEST_F(KeptLoadTest, DonationsAreKept) {
  const LoadOptions options{.onnx = {}, .compile = {}, .donate = {}, .donate_found = true};
  load_and_keep("cache", options);
  const LoadedModel model = load_model("cache", options);
  EXPECT_EQ(model.compile_count(), 0);
  EXPECT_EQ(model.inputs()[0].shape.to_string(), "f32[1, capacity]");
  EXPECT_EQ(load_model("cache").compile_count(), 1);
}

}  // namespace
}  // namespace tenon::kept_load_test
