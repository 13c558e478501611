// Windows along split positions, and lookups in tables that are split by rows: what moves, and what stays.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "support/on_mesh.h"
#include "tenon/autodiff.h"
#include "tenon/interpreter.h"
#include "tenon/models.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::mesh::halos_test {
namespace {

std::vector<std::string> kinds_of(const ShardedGraph& graph) {
  std::vector<std::string> names;
  for (const Collective& each : graph.collectives) {
    names.emplace_back(name(each.kind));
  }
  return names;
}

TEST(Cuts, AWindowReadsWhatItsPositionsReach) {
  // Seven positions of a window of three over seven elements, with one of padding at both ends.
  Cut need = Cut::of(7, 1, 3);
  need.reach = Reach{.stride = 1, .low = 1, .span = 3, .size = 7};
  const std::vector<int64_t> begins{0, 2, 4}, sizes{4, 4, 3};
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(need.begin(rank, 3), Extent(begins[static_cast<size_t>(rank)]));
    EXPECT_EQ(need.size(rank, 3), Extent(sizes[static_cast<size_t>(rank)]));
  }
  EXPECT_EQ(missing(Cut::of(7, 1, 3), need, 0, 3), Extent(1));
  EXPECT_EQ(missing(Cut::of(7, 1, 3), need, 1, 3), Extent(2));
  EXPECT_NE(need, Cut::of(7, 1, 3));
}

TEST(Halos, RowsAtTheEdgesAreAllThatConvolutionsSend) {
  const Graph graph = parse_graph(
      "graph main(x: f32[1, 4, h, 6], u: f32[4, 4, 3, 3], v: f32[4, 4, 3, 3]) {\n"
      "  a = relu(conv(x, u, stride=[1, 1], x_dilation=[1, 1], w_dilation=[1, 1], low=[1, 1], high=[1, 1], groups=1, "
      "dtype=f32))\n"
      "  return y=conv(a, v, stride=[1, 1], x_dilation=[1, 1], w_dilation=[1, 1], low=[1, 1], high=[1, 1], groups=1, "
      "dtype=f32)\n}");
  ShardOptions options = free_network();
  options.whole_outputs = false;
  const Bindings bindings{{"h", 8}};
  const std::vector<Array> inputs = random_inputs(graph, bindings, 1);
  const MeshRun run = run_on_threads(graph, "rows=2", "h=rows", inputs, bindings, options);
  EXPECT_EQ(kinds_of(run.graph), (std::vector<std::string>{"halo_exchange", "halo_exchange"}));
  // Each of the two ranks sends one row of 4 channels, twice.
  EXPECT_DOUBLE_EQ(run.traffic.bytes, 2.0 * 4 * 6 * sizeof(float));
  EXPECT_EQ(evaluate(run.graph.collectives[0].bytes, bindings), 4 * 6 * static_cast<int64_t>(sizeof(float)));
  for (const int64_t h : {1, 2, 3, 5, 8, 9}) {
    const Bindings sizes{{"h", h}};
    EXPECT_EQ(mesh_difference(graph, "rows=4", "h=rows", random_inputs(graph, sizes, 2), sizes).value_or(""), "");
  }
}

TEST(Halos, ImagesInRowsAndColumnsThroughANetwork) {
  const Model model = resnet({.blocks = {1, 1}, .width = 4, .classes = 3});
  for (const auto& [height, width] : {std::pair(33, 17), std::pair(64, 40)}) {
    const Bindings bindings{{"batch", 1}, {"height", height}, {"width", width}};
    std::vector<Array> inputs = random_inputs(model.graph, bindings, 3);
    const std::vector<Array> weights = initial_values(model);
    for (size_t i = 0; i < weights.size(); ++i) {
      inputs[model.data_inputs + i] = weights[i];
    }
    EXPECT_EQ(
        mesh_difference(model.graph, "rows=2,columns=2", "height=rows,width=columns", inputs, bindings).value_or(""),
        "");
  }
}

TEST(Halos, CompiledRanksGiveTheSame) {
  const Graph graph = parse_graph(
      "graph main(x: f32[2, 3, h, w], k: f32[4, 3, 3, 3]) {\n"
      "  a = conv(x, k, stride=[2, 2], x_dilation=[1, 1], w_dilation=[1, 1], low=[1, 1], high=[1, 1], groups=1, "
      "dtype=f32)\n"
      "  return y=window(a, op=max, size=[1, 1, 3, 3], stride=[1, 1, 2, 2], dilation=[1, 1, 1, 1], low=[0, 0, 1, 1], "
      "high=[0, 0, 1, 1])\n}");
  for (const int64_t h : {1, 7, 20}) {
    const Bindings bindings{{"h", h}, {"w", 9}};
    const std::vector<Array> inputs = random_inputs(graph, bindings, 1);
    const Array expected = interpret(graph, inputs, {.bindings = bindings})[0];
    const MeshRun run = run_on_threads(graph, "rows=3", "h=rows", inputs, bindings, free_network(),
                                       compiling({.disk_cache = false}, 1));
    for (const std::vector<Array>& outputs : run.outputs) {
      EXPECT_TRUE(close(outputs[0], expected, 1e-5, 1e-5)) << h;
    }
  }
}

Graph lookup() {
  return parse_graph(
      "graph main(table: f32[1000, 16], i: i64[n]) { return y=gather(table, i, axes=[0], x_batch=[], index_batch=[]) "
      "}");
}

TEST(Lookups, ATableInRowsStaysWhereItIs) {
  const Bindings bindings{{"n", 3}};
  const std::vector<Array> inputs{random_inputs(lookup(), bindings, 1)[0], Array::from<int64_t>({3}, {0, 999, -400})};
  const MeshRun run = run_on_threads(lookup(), "m=4", "table.0=m", inputs, bindings, {.typical = bindings});
  EXPECT_EQ(kinds_of(run.graph), std::vector<std::string>{"all_reduce"});
  EXPECT_DOUBLE_EQ(run.traffic.bytes, 2.0 * 3 / 4 * 3 * 16 * sizeof(float));
  for (const std::vector<Array>& outputs : run.outputs) {
    EXPECT_TRUE(same(outputs[0], interpret(lookup(), inputs)[0]));
  }
}

TEST(Lookups, APositionOutsideOfTheTableIsAnError) {
  const Bindings bindings{{"n", 2}};
  for (const int64_t wrong : {1000, 1250, -1001, -100000}) {
    const std::vector<Array> inputs{random_inputs(lookup(), bindings, 1)[0], Array::from<int64_t>({2}, {3, wrong})};
    for (const Engine& engine : {interpreting(), compiling({.disk_cache = false}, 1)}) {
      const std::string text = error_text(
          [&] { run_on_threads(lookup(), "m=4", "table.0=m", inputs, bindings, {.typical = bindings}, engine); });
      EXPECT_NE(text.find(std::to_string(wrong)), std::string::npos) << text;
    }
  }
}

TEST(Lookups, GradientsOfATableInRowsStayInRows) {
  const Graph forward = parse_graph(
      "graph main(table: f32[1000, 16], i: i64[n]) {\n"
      "  y = gather(table, i, axes=[0], x_batch=[], index_batch=[])\n"
      "  return loss=reduce(mul(y, y), op=sum, axes=[0, 1])\n}");
  const Value gradient = gradients(forward.outputs()[0].value, {forward.inputs()[0]})[0];
  const Graph step(
      "step", forward.inputs(),
      {forward.outputs()[0], {.name = "next", .value = forward.inputs()[0] - gradient * 0.1, .aliases = 0}});
  ShardOptions options{.typical = {{"n", 12}}};
  options.state_stays = true;
  const ShardedGraph sharded = shard(step, MeshShape::parse("m=4"), Sharding::parse("table.0=m"), 0, options);
  EXPECT_EQ(kinds_of(sharded), std::vector<std::string>{"all_reduce"});  // of the rows that were looked up
  EXPECT_TRUE(sharded.output_layouts[1][0].is_split());
  const Bindings bindings{{"n", 12}};
  std::vector<Array> inputs = random_inputs(step, bindings, 1);
  EXPECT_EQ(mesh_difference(step, "m=4", "table.0=m", inputs, bindings).value_or(""), "");
  EXPECT_EQ(mesh_difference(step, "m=2,data=2", "table.0=m,i.0=data", inputs, bindings).value_or(""), "");
}

}  // namespace
}  // namespace tenon::mesh::halos_test
