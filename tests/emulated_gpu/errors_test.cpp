// What goes wrong on the emulated GPU is one Error, and the process goes on; threads do not disturb each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "support/arrays.h"
#include "support/error_text.h"
#include "support/gpu/emulator.h"
#include "tenon/tenon.h"

namespace tenon::errors_test {
namespace {

class EmulatedErrors : public testing::Test {
 protected:
  void SetUp() override { tenon_emulator_reset(); }
  void TearDown() override { tenon_emulator_reset(); }

  static CompileOptions on_gpu(bool disk_cache = true) { return {.disk_cache = disk_cache, .machine = gpu()}; }

  /// Several kernels, with a result of each in memory between.
  static Graph rows() {
    const Value x = input("x", shape(f32, "row", "col"));
    return Graph({x}, {{"y", softmax(reduce_sum(x, {0}) * 0.5)}, {"z", transpose(x, {1, 0}) + 1.0}});
  }

  static void expect_right(const Executable& executable, int64_t count, int64_t columns) {
    std::mt19937_64 random(static_cast<uint64_t>(count));
    const std::vector<Array> inputs{random_array(f32, {count, columns}, random)};
    const auto wanted = interpret(rows(), inputs);
    const auto actual = executable.run(inputs);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(close(actual[i], wanted[i], 1e-5, 1e-5)) << count << " rows, output " << i;
  }
};

TEST_F(EmulatedErrors, NoMemory) {
  const Executable executable = compile(rows(), on_gpu());
  expect_right(executable, 3, 5);
  ASSERT_EQ(tenon_emulator_set("memory", tenon_emulator_count("bytes") + (int64_t{1} << 20)), 0);
  const std::string error = error_text([&] { expect_right(executable, 1000, 1000); });
  EXPECT_NE(error.find("no memory for "), std::string::npos) << error;
  EXPECT_NE(error.find(" beside the "), std::string::npos) << error;
  expect_right(executable, 4, 5);
  tenon_emulator_reset();
  expect_right(executable, 300, 200);
}

TEST_F(EmulatedErrors, MemoryThatWaitsForUseGoesBackBeforeThereIsNone) {
  const Executable executable = compile(rows(), on_gpu());
  expect_right(executable, 200, 700);  // its blocks wait for use
  ASSERT_EQ(tenon_emulator_set("memory", tenon_emulator_count("bytes") + (int64_t{1} << 20)), 0);
  expect_right(executable, 300, 700);
}

TEST_F(EmulatedErrors, KernelsThatFail) {
  const Executable executable = compile(rows(), on_gpu());
  expect_right(executable, 3, 5);
  // Whoever else has the context ran a kernel that wrote where nothing is.
  const Array there = executable.to_device(Array::full(f32, {3, 5}, 1));
  ASSERT_EQ(tenon_emulator_set("fault", 700), 0);
  const std::string error = error_text([&] { (void)executable.run({there}); });
  EXPECT_NE(error.find("(CUDA_ERROR_ILLEGAL_ADDRESS)"), std::string::npos) << error;
  tenon_emulator_reset();
  expect_right(executable, 3, 5);
}

TEST_F(EmulatedErrors, DriversThatMakeNoCodeToKeep) {
  ASSERT_EQ(tenon_emulator_set("links", 0), 0);
  ASSERT_EQ(tenon_emulator_set("driver", 12999), 0);  // of which nothing is kept
  const int64_t links = tenon_emulator_count("links");
  expect_right(compile(rows(), on_gpu(true)), 5, 3);
  EXPECT_EQ(tenon_emulator_count("links"), links);
}

TEST_F(EmulatedErrors, MemoryWithoutThePoolOfTheDriver) {
  ASSERT_EQ(tenon_emulator_set("pools", 0), 0);
  expect_right(compile(rows(), on_gpu()), 33, 40);
}

TEST_F(EmulatedErrors, ThreadsAtOnce) {
  const Executable executable = compile(rows(), on_gpu());
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int64_t j = 0; j < 5; ++j)
        expect_right(executable, 1 + i * 3 + j, 40 + i);
    });
  }
  for (std::thread& each : threads)
    each.join();
}

TEST_F(EmulatedErrors, MemoryStaysTheSameOverManySizes) {
  const Executable executable = compile(rows(), on_gpu());
  for (int64_t i = 1; i < 20; ++i)
    expect_right(executable, i, 50 - i);
  const int64_t before = tenon_emulator_count("bytes");
  for (int i = 0; i < 3; ++i) {
    for (int64_t j = 1; j < 20; ++j)
      expect_right(executable, j, 50 - j);
  }
  EXPECT_LE(tenon_emulator_count("bytes"), before + (1 << 16));
}

/// Between kernels: scans there, the others on the host.
TEST_F(EmulatedErrors, LibrarySteps) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value at = input("at", shape(i64, "row"));
  const Graph graph(
      {x, at}, {{"sum", cumulative_sum(exp(x), 1)}, {"sorted", sort(x * 2.0, 1) + 1.0}, {"taken", take(x, at) * 3.0}});
  std::mt19937_64 random(2);
  const std::vector<Array> inputs{random_array(f32, {4, 37}, random), Array::from<int64_t>({4}, {3, 0, 1, 2})};
  const auto wanted = interpret(graph, inputs);
  const auto actual = compile(graph, on_gpu()).run(inputs);
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(close(actual[i], wanted[i], 1e-5, 1e-5)) << "output " << i;
}

/// The same bits as on the host, along any axis, of all types that there is code for, and of those there is none for.
TEST_F(EmulatedErrors, Scans) {
  std::mt19937_64 random(3);
  for (const Dtype dtype : {f32, f64, f16, i32, i64, u8}) {
    const Value x = input("x", shape(dtype, "a", "b", "c"));
    const Graph graph({x}, {{"sum", cumulative_sum(x, 1)},
                            {"exclusive", cumulative_sum(x, 2, true)},
                            {"reverse", cumulative_sum(x, 0, true, true)},
                            {"product", cumulative_product(x, 2, false, true)},
                            {"max", cumulative_max(x, 1)}});
    const Executable executable = compile(graph, on_gpu());
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{2, 5, 70}, {1, 1, 1}, {0, 3, 2}, {2, 0, 3}, {3, 129, 2}}) {
      const std::vector<Array> inputs{random_array(dtype, dims, random, is_integer(dtype) ? 0 : -2, 3)};
      const auto wanted = compile(graph).run(inputs);
      const int64_t before = tenon_emulator_count("launches");
      const auto actual = executable.run(inputs);
      const bool has_code = dtype != u8 && inputs[0].size() > 0;
      EXPECT_EQ(tenon_emulator_count("launches") - before, has_code ? 5 : 0) << name(dtype);
      EXPECT_TRUE(std::ranges::equal(actual, wanted, same_bits)) << name(dtype) << ", " << dims[0] << " by " << dims[1];
    }
  }
  const Value x = input("x", shape(f32, "n"));
  const Graph graph({x}, {{"sum", cumulative_sum(x, 0)}});
  const std::vector<Array> inputs{random_array(f32, {5000}, random)};  // one line: the host's
  EXPECT_TRUE(same_bits(compile(graph, on_gpu()).run(inputs)[0], compile(graph).run(inputs)[0]));
}

}  // namespace
}  // namespace tenon::errors_test
