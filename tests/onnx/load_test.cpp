// Files that run by names.
#include "tenon/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "onnx/model_builder.h"
#include "support/arrays.h"

namespace tenon::load_test {
namespace {

class LoadTest : public testing::Test {
 protected:
  ~LoadTest() override { std::filesystem::remove(file_); }

  LoadedModel load_model(const OnnxModelBuilder& model) const {
    std::ofstream(file_, std::ios::binary) << model.bytes();
    return load(file_, {.onnx = {}, .compile = {.disk_cache = false}});
  }

  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("tenon_load_" + std::to_string(::getpid()) + ".onnx");
};

OnnxModelBuilder difference() {
  OnnxModelBuilder model;
  model.input("a", "f32[n]");
  model.input("b", "f32[n]");
  model.node("Sub", {"a", "b"}, {"y"});
  model.output("y");
  return model;
}

TEST_F(LoadTest, RunsByNamesAtEverySize) {
  const LoadedModel model = load_model(difference());
  for (const int64_t n : {1, 3, 100}) {
    const Array two = Array::full(f32, {n}, 2);
    const Array five = Array::full(f32, {n}, 5);
    EXPECT_TRUE(same(model.run({{"b", two}, {"a", five}}).at("y"), Array::full(f32, {n}, 3)));
  }
  EXPECT_EQ(model.compile_count(), 1);
  EXPECT_EQ(model.inputs()[0], (OnnxPort{"a", shape(f32, "n")}));
  EXPECT_EQ(model.output_names(), std::vector<std::string>{"y"});
  EXPECT_TRUE(model.value_inputs().empty());
}

TEST_F(LoadTest, NamesAreChecked) {
  const LoadedModel model = load_model(difference());
  const Array x(f32, {2});
  EXPECT_EQ(error_text([&] { model.run({{"a", x}}); }),
            "input `b` is not given; the model takes `a`, `b`, and `a` is given");
  EXPECT_EQ(error_text([&] { model.run({{"a", x}, {"b", x}, {"c", x}}); }),
            "the model has no input `c`; it takes `a`, `b`");
}

TEST_F(LoadTest, PathsThatNameNothingAreErrors) {
  for (const char* path : {"", "no/such.onnx"}) {
    EXPECT_EQ(error_text([&] { (void)load(path); }), "there is no file `" + std::string(path) + "`");
  }
}

TEST_F(LoadTest, ValuesThatAreSizesAreNames) {
  const LoadedModel model = load_model(reshape_to_sizes());
  EXPECT_TRUE(model.value_inputs().empty());
  const auto dims = [&](int64_t n, int64_t rows, int64_t columns) {
    const Array to = Array::from<int64_t>({2}, {rows, columns});
    return model.run({{"x", Array(f32, {n})}, {"to", to}}).at("y").dims();
  };
  EXPECT_EQ(dims(6, 2, 3), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(dims(6, 3, 2), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(dims(20, 4, 5), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(model.compile_count(), 1);
  EXPECT_NE(error_text([&] { dims(6, 4, 5); }), "no error");
  EXPECT_EQ(dims(8, 2, -1), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(model.compile_count(), 2);
  EXPECT_EQ(dims(6, 2, 3), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(model.compile_count(), 2);
}

TEST_F(LoadTest, CompilesForValuesThatDecideMore) {
  const LoadedModel model = load_model(sum_along());
  EXPECT_EQ(model.value_inputs(), std::vector<std::string>{"axes"});
  EXPECT_EQ(model.compile_count(), 0);
  const auto dims = [&](int64_t n, int64_t axis) {
    return model.run({{"x", Array(f32, {2, n})}, {"axes", Array::from<int64_t>({1}, {axis})}}).at("y").dims();
  };
  EXPECT_EQ(dims(6, 1), (std::vector<int64_t>{2}));
  EXPECT_EQ(dims(8, 1), (std::vector<int64_t>{2}));
  EXPECT_EQ(model.compile_count(), 1);
  EXPECT_EQ(dims(6, 0), (std::vector<int64_t>{6}));
  EXPECT_EQ(dims(6, 1), (std::vector<int64_t>{2}));
  EXPECT_EQ(model.compile_count(), 2);
}

/// Four outputs of a batch that may be 1, of which the file says rank 1: a program for either.
TEST_F(LoadTest, CompilesForSizesThatDecideARank) {
  OnnxModelBuilder builder;
  builder.input("x", "f32[batch, 4]");
  builder.node("Squeeze", {"x"}, {"y"}).set_name("squeeze");
  builder.output("y", "f32[4]");
  const LoadedModel model = load_model(builder);
  const auto dims = [&](int64_t batch) { return model.run({{"x", Array(f32, {batch, 4})}}).at("y").dims(); };
  EXPECT_EQ(dims(1), (std::vector<int64_t>{4}));
  EXPECT_EQ(model.compile_count(), 1);
  EXPECT_EQ(model.assumptions().at(0).relation.to_string(), "batch == 1");
  EXPECT_EQ(dims(3), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(dims(8), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(model.compile_count(), 2);
  EXPECT_EQ(model.assumptions().at(0).relation.to_string(), "batch >= 2");
  EXPECT_EQ(dims(0), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(dims(1), (std::vector<int64_t>{4}));
  EXPECT_EQ(model.compile_count(), 3);
  EXPECT_NE(error_text([&] { model.run({{"x", Array(f32, {4})}}); }), "no error");
}

}  // namespace
}  // namespace tenon::load_test
