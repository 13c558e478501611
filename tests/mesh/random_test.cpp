// Random graphs with random shardings over random meshes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/data_axes.h"
#include "support/on_mesh.h"
#include "tenon/interpreter.h"

namespace tenon::mesh::random_test {
namespace {

constexpr const char* kMeshes[] = {"a=2", "a=3", "a=4", "a=2,b=2", "a=1,b=3", "a=3,b=2"};

/// Some axes of some inputs along each axis of the mesh.
std::string random_sharding(const Graph& graph, const MeshShape& mesh, std::mt19937_64& rng) {
  std::string text;
  for (const Value& input : graph.inputs()) {
    std::vector<int> axes;
    for (int i = 0; i < input.rank(); ++i) {
      axes.push_back(i);
    }
    std::shuffle(axes.begin(), axes.end(), rng);
    for (size_t m = 0; m < std::min(mesh.axes.size(), axes.size()); ++m) {
      if (rng() % 3 == 0) continue;
      text += fmt::format("{}{}.{}={}", text.empty() ? "" : ",", input.name(), axes[m], mesh.axes[m].name);
    }
  }
  return text;
}

/// How many were compared.
int compare_graphs(uint64_t first, uint64_t count) {
  int compared = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomGraph random = random_graph(seed);
    if (!data_axes(random.graph).empty()) continue;
    std::mt19937_64 rng(seed);
    const std::string mesh = kMeshes[rng() % std::size(kMeshes)];
    const std::string sharding = random_sharding(random.graph, MeshShape::parse(mesh), rng);
    const ShardOptions options = rng() % 2 == 0 ? free_network() : ShardOptions{};
    for (const Bindings& bindings : random_bindings(random.graph, seed, 2)) {
      const std::vector<Array> inputs = random_graph_inputs(random, bindings, seed);
      try {
        interpret(random.graph, inputs, {.bindings = bindings});
      } catch (const Error&) {
        continue;  // sizes that break a constraint
      }
      // Parts of sums are rounded once more.
      std::vector<Tolerance> tolerances = random.tolerances;
      for (Tolerance& each : tolerances) {
        each = {.absolute = 4 * each.absolute, .relative = 4 * each.relative};
      }
      const auto difference = mesh_difference(random.graph, mesh, sharding, inputs, bindings, tolerances, options);
      EXPECT_EQ(difference.value_or(""), "") << "seed " << seed;
      ++compared;
    }
  }
  return compared;
}

TEST(RandomShardings, EqualTheWhole) { EXPECT_GT(compare_graphs(0, 150), 100); }
TEST(SlowRandomShardings, EqualTheWhole) { EXPECT_GT(compare_graphs(1000, 5000), 4000); }

}  // namespace
}  // namespace tenon::mesh::random_test
