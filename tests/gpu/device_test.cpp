// Everything on the GPU of this machine, held against the interpreter. Skipped where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "backend/backend.h"
#include "devices/gpu/gpu_device.h"
#include "support/arrays.h"
#include "support/differential.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "tenon/tenon.h"
#include "tenon/text.h"

namespace tenon::device_test {
namespace {

/// Why there is no GPU; empty where there is one.
const std::string& no_gpu() {
  static const std::string why = error_text([] { devices::host_gpu_facts(); });
  static const std::string reason = why == "no error" ? "" : why;
  return reason;
}

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend::has_native_code()) GTEST_SKIP() << "this build makes no code";
    if (!no_gpu().empty()) GTEST_SKIP() << no_gpu();
  }
};

/// An emulated GPU is slow: few sizes, and small ones.
bool is_emulated() { return gpu().name == "an emulated GPU"; }

CompileOptions on_gpu() { return {.machine = gpu()}; }

TEST_F(OnGpu, ChainsAndRows) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Value chain = tanh(exp(x * 0.5) + 1.0) * sigmoid(x) - x;
  const Graph graph({x}, {{"chain", chain},
                          {"softmax", softmax(x)},
                          {"sum", reduce_sum(x)},
                          {"max", reduce_max(x)},
                          {"columns", reduce_sum(x, {0})},
                          {"turned", transpose(x, {1, 0})}});
  const Executable executable = compile(graph, on_gpu());
  std::mt19937_64 random(3);
  std::vector<std::vector<int64_t>> sizes{{1, 1}, {0, 5}, {5, 0}, {3, 31}, {33, 257}, {3, 5000}};
  if (!is_emulated()) sizes.insert(sizes.end(), {{1000, 1000}, {3, 100'000}});
  for (const std::vector<int64_t>& dims : sizes) {
    const std::vector<Array> inputs{random_array(f32, dims, random)};
    const auto wanted = interpret(graph, inputs);
    const auto actual = executable.run(inputs);
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(close(actual[i], wanted[i], 2e-5, 1e-3)) << dims[0] << " by " << dims[1] << ", output " << i;
    }
    EXPECT_TRUE(std::ranges::equal(executable.run(inputs), actual, same_bits)) << "the same bits again";
  }
}

TEST_F(OnGpu, Models) {
  const std::set<std::string_view> large{"resnet18", "resnet50", "resnet_training", "efficientnet_b0"};
  for (const ModelCase& each : model_cases()) {
    if (is_emulated() && large.contains(each.name)) continue;
    const Model model = each.build();
    const Executable executable = compile(model.graph, on_gpu());
    for (const Bindings& bindings : each.bindings) {
      const std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
      const auto wanted = interpret(model.graph, inputs, {.bindings = bindings});
      const auto actual = executable.run(inputs, {.bindings = bindings});
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_TRUE(close(actual[i], wanted[i], 1e-3, 1e-4))
            << each.name << " at " << bindings.to_string() << ", output " << i;
      }
    }
  }
}

/// By instructions on matrices: tiles that are not whole, operands of all orders, constants, long sums.
TEST_F(OnGpu, ProductsOfFewerBits) {
  const Value x = input("x", shape(f32, "m", "k"));
  const Value y = input("y", shape(f32, "k", "n"));
  const Value z = input("z", shape(f32, "n", "k"));
  std::mt19937_64 random(8);
  const Value w = constant(random_array(f32, {300, 70}, random));
  const Value image = input("image", shape(f32, "b", 24, "h", "w"));
  const Value kernel = constant(random_array(f32, {40, 24, 3, 3}, random));
  const Graph graph({x, y, z, image}, {{"plain", relu(matmul(x, y))},
                                       {"turned", matmul(x, transpose(z, {1, 0})) * 0.5},
                                       {"left", matmul(transpose(y, {1, 0}), transpose(x, {1, 0}))},
                                       {"constant", matmul(slice_axis(x, 1, 0, 300), w)},
                                       {"conv", conv(image, kernel, {.low = {1, 1}, .high = {1, 1}})}});
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::f16}) {
    const Executable executable = compile(graph, {.machine = gpu(), .precision = precision});
    const Executable on_cpu = compile(graph, {.precision = precision});
    std::vector<std::array<int64_t, 3>> sizes{{1, 300, 40}, {65, 301, 33}};
    if (!is_emulated()) sizes.insert(sizes.end(), {{64, 512, 128}, {65, 300, 130}, {200, 2000, 44}, {500, 333, 700}});
    for (const auto& [m, k, n] : sizes) {
      const std::vector<Array> inputs{random_array(f32, {m, k}, random), random_array(f32, {k, n}, random),
                                      random_array(f32, {n, k}, random),
                                      random_array(f32, {2, 24, 9, is_emulated() ? 9 : n}, random)};
      const auto wanted = on_cpu.run(inputs);
      const auto actual = executable.run(inputs);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(close(actual[i], wanted[i], 1e-3, 2e-3))
            << name(precision) << ", output " << i << ", " << m << " by " << k << " by " << n;
    }
  }
}

/// The second time from disk.
TEST_F(OnGpu, KeptCodeIsWhatWasMade) {
  const Value x = input("x", shape(f32, "row", "col"));
  const Graph graph({x}, {{"y", softmax(x * 1.25 + 0.5)}});
  std::mt19937_64 random(4);
  const std::vector<Array> inputs{random_array(f32, {37, 1500}, random)};
  const auto wanted = compile(graph, {.disk_cache = false, .machine = gpu()}).run(inputs);
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(std::ranges::equal(compile(graph, on_gpu()).run(inputs), wanted, same_bits)) << i;
}

TEST_F(OnGpu, RandomGraphs) {
  for (uint64_t seed = 9000; seed < (is_emulated() ? 9010 : 9100); ++seed) {
    const RandomGraph random = random_graph(seed);
    const auto difference = find_difference(random, seed, on_gpu());
    EXPECT_FALSE(difference) << "seed " << seed << ": " << *difference << "\n" << to_text(random.graph);
  }
}

TEST_F(OnGpu, TellsOfPositionsOutOfRange) {
  const Value x = input("x", shape(f32, 4));
  const Value at = input("at", shape(i64, "n"));
  const Graph graph({x, at}, {{"y", take(x, at)}});
  const Executable executable = compile(graph, on_gpu());
  const std::vector<Array> wrong{Array::full(f32, {4}, 1), Array::from<int64_t>({3}, {0, 9, 1})};
  EXPECT_NE(error_text([&] { (void)executable.run(wrong); }).find("position 9 is out of range"), std::string::npos);
  const std::vector<Array> right{Array::full(f32, {4}, 1), Array::from<int64_t>({3}, {0, 3, 1})};
  EXPECT_EQ(executable.run(right)[0].values<float>()[1], 1) << "a failure is told once";
}

/// Of numbers that are far from zero, and of positions as transformers have them.
TEST_F(OnGpu, SinesAndCosines) {
  const Value x = input("x", shape(f32, "n"));
  const Graph graph({x}, {{"sin", sin(x)}, {"cos", cos(x)}});
  const Array data = Array::from<float>({9}, {0, -0.0f, 1, -3, 512, 1e5f, -3e6f, 1e30f, 3.4e38f});
  const auto wanted = interpret(graph, {data});
  const auto actual = compile(graph, on_gpu()).run({data});
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(close(actual[i], wanted[i], 1e-6, 1e-7)) << "output " << i;
}

TEST_F(OnGpu, ArraysStayThere) {
  const Value x = input("x", shape(f32, "n"));
  const Executable executable = compile(Graph({x}, {{"y", x + 1.0}}), on_gpu());
  Array there = executable.to_device(Array::full(f32, {1000}, 1));
  EXPECT_EQ(there.place().kind, DeviceKind::gpu);
  for (int i = 0; i < 3; ++i)
    there = executable.run({there}, {.results_on_device = true})[0];
  EXPECT_EQ(executable.to_cpu(there).at(999), 4);
}

TEST(WithoutGpu, IsOneErrorAndTheProcessGoesOn) {
  if (!backend::has_native_code()) GTEST_SKIP() << "this build makes no code";
  if (no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  const Value x = input("x", shape(f32, "n"));
  const Graph graph({x}, {{"y", x + 1.0}});
  for (int i = 0; i < 2; ++i) {
    const std::string error = error_text([&] { compile(graph, {.machine = machine_named("sm_80")}); });
    EXPECT_TRUE(error.starts_with("there is no GPU that can be used")) << error;
    EXPECT_EQ(error_text([] { (void)machine_of_device("cuda"); }), error);
  }
  EXPECT_EQ(machine_of_device("cpu"), this_machine());
  EXPECT_EQ(compile(graph).run({Array::full(f32, {3}, 1)})[0].values<float>()[2], 2);
}

}  // namespace
}  // namespace tenon::device_test
