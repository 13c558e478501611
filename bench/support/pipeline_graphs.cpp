#include "support/pipeline_graphs.h"

#include "support/numbers.h"
#include "tenon/tenon.h"

namespace bench {
namespace {

using namespace tenon;  // NOLINT: the graphs read like the documentation

Value weights(std::vector<int64_t> dims) { return constant(bench::numbers(std::move(dims))) * 0.02; }

Graph graph_of(const Value& x, const Value& y) { return {"block", {x}, {{.name = "y", .value = y}}}; }

Value image(int64_t channels) { return input("x", shape(f32, "batch", channels, "height", "width")); }

Value convolved(const Value& x, int64_t in, int64_t out, int64_t window, int64_t groups = 1, int64_t stride = 1) {
  const Extent edge = (window - 1) / 2;
  return conv(x, weights({out, in / groups, window, window}),
              {.stride = {stride, stride}, .low = {edge, edge}, .high = {edge, edge}, .groups = groups});
}

}  // namespace

Graph dense_dense_norm(int64_t hidden) {
  const Value x = input("x", shape(f32, "rows", hidden));
  const Value a = gelu(matmul(x, weights({hidden, 4 * hidden})));
  return graph_of(x, layer_norm(matmul(a, weights({4 * hidden, hidden})) + x));
}

Graph depthwise_pointwise(int64_t channels) {
  const Value x = image(channels);
  const Value a = relu(convolved(x, channels, channels, 3, channels));
  return graph_of(x, relu(convolved(a, channels, 2 * channels, 1)));
}

Graph inverted_residual(int64_t channels) {
  const Value x = image(channels);
  const Value a = relu(convolved(x, channels, 6 * channels, 1));
  const Value b = relu(convolved(a, 6 * channels, 6 * channels, 3, 6 * channels));
  return graph_of(x, convolved(b, 6 * channels, channels, 1) + x);
}

Graph two_convolutions(int64_t channels) {
  const Value x = image(channels);
  return graph_of(x, relu(convolved(relu(convolved(x, channels, channels, 3)), channels, channels, 3)));
}

Graph inception() {
  const Value x = image(192);
  const Value a = relu(convolved(x, 192, 64, 1));
  const Value b = relu(convolved(relu(convolved(x, 192, 96, 1)), 96, 128, 3));
  const Value c = relu(convolved(relu(convolved(x, 192, 16, 1)), 16, 32, 5));
  const Value d = relu(convolved(max_pool(x, {3, 3}, {.stride = {1, 1}, .low = {1, 1}, .high = {1, 1}}), 192, 32, 1));
  return graph_of(x, concat({a, b, c, d}, 1));
}

Graph norms() {
  const Value x = input("x", shape(f32, "rows", 1024));
  Value y = x;
  for (int i = 0; i < 4; ++i) {
    y = gelu(layer_norm(y)) + x;
  }
  return graph_of(x, y);
}

}  // namespace bench
