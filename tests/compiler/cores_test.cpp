// Programs compiled for machines with other numbers of cores: other tiles, the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lowered.h"
#include "shape/constraint_set.h"
#include "support/arrays.h"
#include "support/random_graph.h"
#include "support/random_network.h"
#include "support/small_graph.h"
#include "tenon/models.h"
#include "tenon/tenon.h"

namespace tenon::cores_test {
namespace {

Executable compile_for(const Graph& graph, int64_t cores) {
  CompileOptions options{.least_shared_work = 0};
  options.machine = this_machine();
  options.machine.cpu().cores = cores;
  return compile(graph, options);
}

void expect_same_bits(const Graph& graph, const std::vector<Bindings>& bindings, uint64_t seed) {
  const Executable two = compile_for(graph, 2);
  for (const int64_t cores : {4, 16, 64}) {
    const Executable many = compile_for(graph, cores);
    for (const Bindings& at : bindings) {
      const std::vector<Array> inputs =
          random_graph_inputs({.graph = graph, .tolerances = {}, .special = seed % 3 == 0}, at, seed);
      EXPECT_TRUE(std::ranges::equal(many.run(inputs, {.bindings = at}), two.run(inputs, {.bindings = at}), same_bits))
          << cores << " cores at " << at.to_string() << "\n"
          << to_text(graph, {.max_constant_elements = 0});
    }
  }
}

TEST(Cores, DoNotChangeBitsOfProducts) {
  const SmallGraph graphs[] = {
      {"dense", "x: f32[m, 96], w: f32[96, 300], b: f32[300]", "y = gelu(add(matmul(x, w), b))"},
      {"two_inputs", "x: f32[b, m, 40], z: f32[b, 40, n]", "y = relu(matmul(x, z))"},
      {"attention", "q: f32[b, 4, m, 32], k: f32[b, 4, n, 32], v: f32[b, 4, n, 32]",
       "y = matmul(softmax(matmul(q, transpose(k, [0, 1, 3, 2])), -1), v)"},
  };
  for (const SmallGraph& each : graphs) {
    SCOPED_TRACE(each.name);
    const Graph graph = make(each);
    std::vector<Bindings> bindings;
    for (const int64_t m : {0, 1, 13, 49, 128, 335}) {
      Bindings at{{"m", m}};
      if (each.inputs.find("[b,") != std::string::npos) {
        at.set("b", 2);
        at.set("n", 70);
      }
      bindings.push_back(at);
    }
    expect_same_bits(graph, bindings, 1);
  }
}

size_t segments_for(const Graph& graph, int64_t cores) {
  Machine machine = machine_named("x86-64-v4");
  machine.cpu().cores = cores;
  CompileReport report;
  return compiler::lower(graph, {.machine = machine}, report).segments.size();
}

TEST(SlowCores, MayBeManyForModels) {
  for (const char* name : {"resnet18", "mobilenet_v2", "unet", "vit_b16"}) {
    const Graph graph = with_weights(find_model(name).build());
    EXPECT_EQ(segments_for(graph, 16), 1) << name;
    EXPECT_EQ(segments_for(graph, 64), 1) << name;
  }
}

TEST(Cores, MayBeManyWhateverTheSizesAre) {
  std::string axes = "7*n0+5*m0+3";
  int tried = 0;
  for (int i = 1; i < 4; ++i) {
    const Graph graph = make({"long", "x: f32[" + axes + ", 300], w: f32[300, 500]", "y = gelu(matmul(x, w))"});
    try {
      segments_for(graph, 2);
    } catch (const Error&) {
      break;  // too long anyway
    }
    EXPECT_EQ(segments_for(graph, 64), 1) << axes;
    axes += fmt::format(", 7*n{}+5*m{}+3", i, i);
    ++tried;
  }
  EXPECT_GE(tried, 1);
}

TEST(Cores, DoNotChangeBitsOfNetworks) {
  for (uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_network(seed);
    std::vector<Bindings> fitting;
    for (const Bindings& at : random_bindings(graph, seed, 3)) {
      try {
        graph.constraints().check(at);
        fitting.push_back(at);
      } catch (const Error&) {
        continue;
      }
    }
    expect_same_bits(graph, fitting, seed);
  }
}

}  // namespace
}  // namespace tenon::cores_test
