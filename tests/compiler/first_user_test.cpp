// What a first user found: each once wrong, refused or slow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/autodiff.h"
#include "tenon/compile.h"
#include "tenon/interpreter.h"
#include "tenon/losses.h"
#include "tenon/ops.h"

namespace tenon::first_user_test {
namespace {

TEST(FirstUser, PositionsBeyondTheSignedOnesAreOutOfRange) {
  const Value x = input("x", shape(f32, 3));
  const Value index = input("index", shape(u64, 1));
  const Executable executable = compile(Graph({x, index}, {{"y", take(x, index)}}), {.disk_cache = false});
  const Array table = Array::from<float>({3}, {1, 2, 3});
  const auto said = error_text([&] { executable.run({table, Array::from<uint64_t>({1}, {UINT64_MAX})}); });
  EXPECT_NE(said.find("is out of range for axis 0 of size 3"), std::string::npos) << said;
}

TEST(FirstUser, ErrorsNameThePositionThatWasGiven) {
  const Value x = input("x", shape(f32, 5));
  const Value index = input("index", shape(i64, 1));
  const Graph graph({x, index}, {{"y", take(x, index)}});
  const std::vector<Array> inputs{Array(f32, {5}), Array::from<int64_t>({1}, {-6})};
  EXPECT_EQ(error_text([&] { compile(graph, {.disk_cache = false}).run(inputs); }),
            error_text([&] { interpret(graph, inputs); }));
}

TEST(FirstUser, ANegativeLabelIsNamedAsGiven) {
  const Value x = input("x", shape(f32, "n", 7));
  const Value labels = input("labels", shape(i32, "n"));
  for (const bool weighted : {false, true}) {
    const Value weight = weighted ? constant(Array::full(f32, {7}, 2)) : Value();
    const Value loss = cross_entropy(x, labels, {.ignore_index = -100, .weight = weight});
    const Graph graph({x, labels}, {{"y", loss}, {"dx", gradients(loss, {x})[0]}});
    const Executable executable = compile(graph, {.disk_cache = false});
    for (const int32_t label : {-1, -7, -8, 7, INT32_MIN}) {
      const std::vector<Array> inputs{Array(f32, {2, 7}), Array::from<int32_t>({2}, {-100, label})};
      const std::string said = error_text([&] { executable.run(inputs); });
      EXPECT_TRUE(mentions(said, {fmt::format("position {} is out of range", label), "of size 7"}));
      EXPECT_TRUE(mentions(error_text([&] { interpret(graph, inputs); }), {fmt::format("position {} is", label)}));
    }
  }
}

TEST(FirstUser, ATableOfOneElementIsLookedUp) {
  const Value index = input("index", shape(i64, "n"));
  const Graph graph({index}, {{"y", take(constant(Array::full(f32, {1}, 2)), index)}});
  const Executable executable = compile(graph, {.disk_cache = false});
  EXPECT_TRUE(same(executable.run({Array::from<int64_t>({3}, {0, -1, 0})})[0], Array::full(f32, {3}, 2)));
  const std::vector<Array> beyond{Array::from<int64_t>({2}, {0, 1})};
  EXPECT_EQ(error_text([&] { executable.run(beyond); }), error_text([&] { interpret(graph, beyond); }));
}

TEST(FirstUser, ProductsWithoutElementsCompile) {
  const Value x = input("x", shape(f32, "n", 0, 8));
  const Value y = input("y", shape(f32, 8, 4));
  const Value product = matmul(x, y);
  for (const Value& z : {product, reduce_sum(product, {0}), reduce_sum(product, {1}), reduce_sum(exp(product))}) {
    const Graph graph({x, y}, {{"z", z}});
    const std::vector<Array> inputs{Array(f32, {3, 0, 8}), Array(f32, {8, 4})};
    EXPECT_TRUE(same(compile(graph, {.disk_cache = false}).run(inputs)[0], interpret(graph, inputs)[0]));
    EXPECT_TRUE(same(compile(graph, {.fuse = false, .disk_cache = false}).run(inputs)[0], interpret(graph, inputs)[0]));
  }
}

TEST(FirstUser, ManyAxesCompile) {
  std::vector<Axis> axes;
  for (int i = 0; i < 14; ++i) {
    axes.emplace_back("d" + std::to_string(i));
  }
  const Value x = input("x", Shape(f32, axes));
  const Executable executable = compile(Graph({x}, {{"y", exp(x) + 1.0}}), {.disk_cache = false});
  const Array ones = Array::full(f32, {2, 1, 2, 1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 2}, 0);
  EXPECT_EQ(executable.run({ones})[0].at(47), 2);
}

TEST(FirstUser, LongSumsStayAccurate) {
  const Value x = input("x", shape(f32, "n"));
  const Executable executable = compile(Graph({x}, {{"y", reduce_sum(x)}}), {.disk_cache = false});
  constexpr int64_t kCount = int64_t{1} << 24;
  const double exact = static_cast<double>(0.1F) * static_cast<double>(kCount);
  EXPECT_NEAR(executable.run({Array::full(f32, {kCount}, 0.1)})[0].at(0) / exact, 1, 1e-5);
}

TEST(FirstUser, AllMemoryOfARunIsLookedAt) {
  const Value x = input("x", shape(f32, "n", "n"));
  const Executable executable = compile(Graph({x}, {{"y", matmul(matmul(x, x), x)}}), {.disk_cache = false});
  // The largest size at which the output alone is still accepted.
  int64_t n = 1;
  const auto fits = [](int64_t size) {
    return error_text([&] { Array::require_memory(f32, {size, size}); }) == "no error";
  };
  while (fits(n * 2)) {
    n *= 2;
  }
  while (fits(n + n / 8)) {
    n += n / 8;
  }
  EXPECT_NE(error_text([&] { executable.memory({{"n", n}}); }), "no error") << n;
}

}  // namespace
}  // namespace tenon::first_user_test
