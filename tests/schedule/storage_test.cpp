// Which values lie with their channels side by side, and what that makes of their kernels.
#include "schedule/nest/storage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "interp/view_map.h"
#include "kernel/constants/storage_order.h"
#include "schedule/schedule.h"
#include "support/small_graph.h"
#include "tenon/tenon.h"

namespace tenon::schedule::storage_test {
namespace {

/// The order of the value that was made first among those of this kind; empty where it lies row by row.
std::vector<int> order_of(const Graph& graph, std::string_view op) {
  const StorageOrders storage(graph);
  for (const Node* node : graph.nodes()) {
    if (op_name(node->op) == op) {
      const std::vector<int>* order = storage.of(Value(node, 0));
      return order ? *order : std::vector<int>{};
    }
  }
  ADD_FAILURE() << "there is no " << op;
  return {};
}

struct OrderCase {
  SmallGraph graph;
  std::string op;
  std::vector<int> order = {};
};
void PrintTo(const OrderCase& each, std::ostream* out) { *out << each.graph.name; }

class StorageOrder : public testing::TestWithParam<OrderCase> {};

TEST_P(StorageOrder, IsThatOfItsReaders) {
  EXPECT_EQ(order_of(make(GetParam().graph), GetParam().op), GetParam().order);
}

const std::vector<int> kChannelsLast{0, 2, 3, 1};

INSTANTIATE_TEST_SUITE_P(
    All, StorageOrder,
    testing::Values(
        OrderCase{{"between", "x: f32[b, 3, h, v], w: f32[16, 3, 3, 3], w2: f32[4, 16, 3, 3]",
                   "a = conv(x, w); y = conv(a, w2)"},
                  "conv",
                  kChannelsLast},
        OrderCase{{"through_maps", "x: f32[b, 3, h, v], w: f32[16, 3, 3, 3], w2: f32[4, 16, 3, 3]",
                   "a = relu(conv(x, w)); y = conv(a, w2)"},
                  "relu",
                  kChannelsLast},
        OrderCase{{"of_one_position", "x: f32[b, 3, h], w: f32[16, 3, 3], w2: f32[4, 16, 3]",
                   "a = conv(x, w); y = conv(a, w2)"},
                  "conv",
                  {0, 2, 1}},
        OrderCase{{"summed", "x: f32[b, 3, h, v], w: f32[16, 3, 3, 3]", "y = reduce(conv(x, w), op=sum, axes=[2, 3])"},
                  "conv",
                  kChannelsLast},
        OrderCase{{"with_more_positions", "x: f32[b, 3, h, 8], w: f32[16, 3, 1, 1], w2: f32[4, 16, 1, 2, 2]",
                   "a = conv(x, w); r = reshape(a, to=[b, 16, h, 2, 4]); y = conv(r, w2)"},
                  "reshape",
                  {0, 2, 3, 4, 1}},
        OrderCase{{"other_channels", "x: f32[b, 3, h, 8], w: f32[16, 3, 1, 1], w2: f32[4, 8, 2, 1, 2]",
                   "a = conv(x, w); r = reshape(a, to=[b, 8, 2, h, 8]); y = conv(r, w2)"},
                  "reshape"},
        OrderCase{{"turned", "x: f32[b, 3, h, v], w: f32[16, 3, 1, 1]",
                   "a = conv(x, w); t = transpose(a, axes=[0, 2, 3, 1]); y = reduce(t, op=sum, axes=[1])"},
                  "transpose"},  // there they are last already
        OrderCase{{"picked", "x: f32[b, 3, h, v], i: i64[n], w: f32[16, 3, 1, 1], w2: f32[4, 16, 1, 1]",
                   "g = gather(conv(x, w), i, axes=[2]); t = transpose(g, axes=[1, 2, 0, 3]); y = conv(t, w2)"},
                  "gather",
                  {0, 1, 3, 2}},
        OrderCase{{"picked_channels", "x: f32[b, 3, h, v], i: i64[n], w: f32[16, 3, 1, 1]",
                   "g = gather(conv(x, w), i, axes=[1]); y = reduce(g, op=sum, axes=[1])"},
                  "gather"},
        // Callers, and steps that are no kernels, read rows.
        OrderCase{{"output", "x: f32[b, 3, h, v], w: f32[16, 3, 3, 3]", "y = conv(x, w)"}, "conv"},
        OrderCase{{"sorted", "x: f32[b, 3, h, v], w: f32[16, 3, 3, 3]", "a = conv(x, w); y = sort(a, axis=1)"}, "conv"},
        OrderCase{{"few_channels", "x: f32[b, 3, h, v], w: f32[15, 3, 3, 3], w2: f32[4, 15, 3, 3]",
                   "a = conv(x, w); y = conv(a, w2)"},
                  "conv"},
        OrderCase{{"given_weights", "x: f32[b, 3, h, v], v: f32[16, 3, 3, 3], u: f32[4, 16, 3, 3]",
                   "a = conv(x, v); y = conv(a, u)"},
                  "conv",
                  kChannelsLast},
        OrderCase{{"read_with_given_weights", "x: f32[b, 3, h, v], w: f32[16, 3, 3, 3], u: f32[4, 16, 3, 3]",
                   "a = conv(x, w); y = conv(a, u)"},
                  "conv",
                  kChannelsLast},
        OrderCase{{"depthwise_weights", "x: f32[b, 16, h, v], w: f32[16, 1, 3, 3]", "y = relu(conv(x, w, groups=16))"},
                  "constant",
                  {2, 3, 1, 0}}),
    [](const auto& each) { return each.param.graph.name; });

/// What no loops tell apart is one line: the image lies in rows, and nothing is copied for it.
TEST(StorageOrders, GiveWayToReshapes) {
  for (const char* to : {"[b, 9, 7, 16]", "[b, 7, 48, 3]", "[b, 63, 16]"}) {
    const Graph graph = make({"reshaped", "x: f32[b, 3, 7, 9], w: f32[16, 3, 1, 1]",
                              fmt::format("a = relu(conv(x, w)); y = exp(reshape(a, to={}))", to)});
    const Program program = make_program(graph);
    EXPECT_LE(program.steps.size(), 2) << to;
  }
}

TEST(StorageOrders, OfConstantsAreTransposes) {
  Array x = Array::uninitialized(i32, {3, 4, 2, 5});
  for (int32_t i = 0; int32_t& each : x.mutable_values<int32_t>()) {
    each = i++;
  }
  const std::vector<int> order{2, 3, 1, 0};
  const Array stored = layouts::in_storage_order(x, order);
  const Array expected = transposed(x, order);
  EXPECT_EQ(stored.dims(), expected.dims());
  EXPECT_TRUE(std::ranges::equal(stored.values<int32_t>(), expected.values<int32_t>()));
  EXPECT_EQ(layouts::in_storage_order(Array::uninitialized(f32, {3, 0, 2, 5}), order).size(), 0);
}

}  // namespace
}  // namespace tenon::schedule::storage_test
