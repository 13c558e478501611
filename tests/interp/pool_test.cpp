// Windows and pools against lists of what is under each window, over symbolic positions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/make.h"
#include "support/arrays.h"
#include "tenon/convolution.h"
#include "tenon/interpreter.h"

namespace tenon::pool_test {
namespace {

using Dims = std::vector<int64_t>;

int64_t floor_quotient(int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; }

/// One axis as model files describe it: how many windows there are, and what is under each.
struct PoolAxis {
  int64_t n, size, stride, dilation, low, high;
  bool ceil_mode;

  int64_t positions() const {
    const int64_t room = n + low + high - ((size - 1) * dilation + 1) + (ceil_mode ? stride - 1 : 0);
    const int64_t count = floor_quotient(room, stride) + 1;
    return ceil_mode && (count - 1) * stride >= n + low ? count - 1 : count;
  }
  std::vector<int64_t> elements(int64_t position) const {
    std::vector<int64_t> result;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = position * stride - low + k * dilation;
      if (at >= 0 && at < n) {
        result.push_back(at);
      }
    }
    return result;
  }
  int64_t count_with_padding(int64_t position) const {
    int64_t count = 0;
    for (int64_t k = 0; k < size; ++k) {
      count += position * stride + k * dilation < low + n + high ? 1 : 0;
    }
    return count;
  }
};

/// Element [h, w] from the values under the window and the number of elements with padding.
template <class F>
Array reference_pool(const Array& x, const PoolAxis& h, const PoolAxis& w, F&& combine) {
  const int64_t planes = x.dims()[0] * x.dims()[1];
  Array y(f64, {x.dims()[0], x.dims()[1], h.positions(), w.positions()});
  size_t to = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t i = 0; i < h.positions(); ++i) {
      for (int64_t j = 0; j < w.positions(); ++j) {
        std::vector<double> values;
        for (const int64_t row : h.elements(i)) {
          for (const int64_t column : w.elements(j)) {
            values.push_back(x.at((plane * h.n + row) * w.n + column));
          }
        }
        y.mutable_values<double>()[to++] = combine(values, h.count_with_padding(i) * w.count_with_padding(j));
      }
    }
  }
  return y;
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

double norm(const std::vector<double>& values, double p) {
  double sum = 0;
  for (const double value : values) {
    sum += std::pow(std::fabs(value), p);
  }
  return std::pow(sum, 1 / p);
}

TEST(Pool, EveryOptionAtEverySize) {
  std::mt19937_64 rng(31);
  const Value x = input("x", Shape::parse("f64[n, 2, h, w]"));
  int refused = 0;
  for (int trial = 0; trial < 160; ++trial) {
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
    PoolAxis h{.n = 0,
               .size = pick(1, 4),
               .stride = pick(1, 4),
               .dilation = pick(1, 2),
               .low = 0,
               .high = 0,
               .ceil_mode = pick(0, 1) == 1};
    PoolAxis w = h;
    w.size = pick(1, 3);
    w.stride = pick(1, 3);
    h.low = pick(0, h.size - 1);
    h.high = pick(0, h.size - 1);
    w.low = pick(0, w.size - 1);
    PoolOptions options{.stride = {h.stride, w.stride},
                        .dilation = {h.dilation, w.dilation},
                        .low = {h.low, w.low},
                        .high = {h.high, w.high},
                        .padding = "explicit",
                        .ceil_mode = h.ceil_mode,
                        .count_include_pad = false};
    const Dims size{h.size, w.size};
    PoolOptions included = options;
    included.count_include_pad = true;
    const Graph graph({x}, {{"max", max_pool(x, size, options)},
                            {"sum", sum_pool(x, size, options)},
                            {"average", average_pool(x, size, options)},
                            {"included", average_pool(x, size, included)},
                            {"l1", lp_pool(x, size, 1, options)},
                            {"l2", lp_pool(x, size, 2, options)},
                            {"l3", lp_pool(x, size, 3, options)}});
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 9}, {7, 8}, {2, 1}, {9, 3}}) {
      h.n = rows;
      w.n = columns;
      const Array data = random_array(f64, {trial % 3, 2, rows, columns}, rng);
      if (h.positions() < 1 || w.positions() < 1) {
        EXPECT_NE(error_text([&] { interpret(graph, {data}); }).find("needed by window"), std::string::npos);
        ++refused;
        continue;
      }
      const std::vector<Array> y = interpret(graph, {data});
      const auto expect = [&](size_t output, auto&& combine) {
        EXPECT_TRUE(close(y[output], reference_pool(data, h, w, combine), 1e-12, 1e-12))
            << "trial " << trial << " output " << output << " at " << rows << ", " << columns;
      };
      const double lowest = -std::numeric_limits<double>::infinity();
      expect(0, [&](const auto& v, int64_t) { return v.empty() ? lowest : *std::ranges::max_element(v); });
      expect(1, [](const auto& v, int64_t) { return total(v); });
      expect(2, [](const auto& v, int64_t) { return total(v) / static_cast<double>(v.size()); });
      expect(3, [](const auto& v, int64_t count) { return total(v) / static_cast<double>(count); });
      expect(4, [](const auto& v, int64_t) { return norm(v, 1); });
      expect(5, [](const auto& v, int64_t) { return norm(v, 2); });
      expect(6, [](const auto& v, int64_t) { return norm(v, 3); });
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Pool, ExtremesOfEveryDtypeIgnorePadding) {
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == boolean) {
      continue;
    }
    const Value x = input("x", shape(dtype, 1, 1, "t"));
    const auto window = [&](ReduceOp op) {
      return make(Window{op, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}}, {x});
    };
    const Graph graph({x}, {{"max", window(ReduceOp::max)},
                            {"min", window(ReduceOp::min)},
                            {"sum", window(ReduceOp::sum)},
                            {"product", window(ReduceOp::product)}});
    const double sign = is_unsigned_integer(dtype) ? 1 : -1;
    const Array data = Array::from<double>({1, 1, 4}, {sign * 3, sign * 2, sign * 7, sign * 5}).cast(dtype);
    const std::vector<Array> y = interpret(graph, {data});
    const auto expect = [&](size_t output, double first, double second) {
      EXPECT_TRUE(same(y[output], Array::from<double>({1, 1, 2}, {first, second}).cast(dtype))) << name(dtype);
    };
    expect(0, sign < 0 ? -2 : 3, sign < 0 ? -2 : 7);
    expect(1, sign < 0 ? -3 : 2, sign < 0 ? -7 : 2);
    expect(2, sign * 5, sign * 14);
    expect(3, 6, sign * 70);
  }
}

TEST(Pool, NaNReachesEveryWindowItIsUnder) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Value x = input("x", Shape::parse("f32[1, 1, t]"));
  const Graph graph({x}, {{"y", max_pool(x, {2}, {.stride = {1}})}});
  const Array y = interpret(graph, {Array::from<float>({1, 1, 5}, {inf, nan, 1, -inf, -inf})})[0];
  EXPECT_TRUE(close(y, Array::from<float>({1, 1, 4}, {nan, nan, 1, -inf})));
}

TEST(Pool, GlobalAndAdaptive) {
  std::mt19937_64 rng(32);
  const Value x = input("x", Shape::parse("f64[n, c, h, w]"));
  const Graph graph(
      {x},
      {{"mean", global_average_pool(x)}, {"max", global_max_pool(x)}, {"adaptive", adaptive_average_pool(x, {3, 2})}});
  for (const Dims& dims : std::vector<Dims>{{2, 3, 3, 2}, {1, 1, 9, 8}, {0, 2, 6, 4}}) {
    const Array data = random_array(f64, dims, rng);
    const PoolAxis h{
        .n = dims[2], .size = dims[2], .stride = 1, .dilation = 1, .low = 0, .high = 0, .ceil_mode = false};
    const PoolAxis w{
        .n = dims[3], .size = dims[3], .stride = 1, .dilation = 1, .low = 0, .high = 0, .ceil_mode = false};
    PoolAxis third = h;
    third.size = third.stride = dims[2] / 3;
    PoolAxis half = w;
    half.size = half.stride = dims[3] / 2;
    const auto mean = [](const std::vector<double>& v, int64_t) { return total(v) / static_cast<double>(v.size()); };
    const std::vector<Array> y = interpret(graph, {data});
    EXPECT_TRUE(close(y[0], reference_pool(data, h, w, mean), 1e-12, 1e-12));
    EXPECT_TRUE(
        same(y[1], reference_pool(data, h, w, [](const auto& v, int64_t) { return *std::ranges::max_element(v); })));
    EXPECT_TRUE(close(y[2], reference_pool(data, third, half, mean), 1e-12, 1e-12));
  }
  EXPECT_NE(error_text([&] { interpret(graph, {Array(f64, {1, 1, 7, 4})}); }), "no error");
}

}  // namespace
}  // namespace tenon::pool_test
