// Convolutions of random parameters, and their gradients, against the interpreter.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/compiled.h"
#include "support/small_graph.h"
#include "tenon/autodiff.h"
#include "tenon/convolution.h"
#include "tenon/text.h"

namespace tenon::conv_random_test {
namespace {

/// A convolution and sizes for its names.
struct RandomConv {
  Graph graph;
  Bindings bindings;
};

class ConvMaker {
 public:
  explicit ConvMaker(uint64_t seed) : rng_(seed) {}

  RandomConv make() {
    const size_t positions = 1 + pick(3);
    ConvOptions options{.groups = one_in(3) ? 1 + number(0, 3) : 1};
    std::vector<Axis> x_axes{size("batch", number(0, 3)), options.groups * number(1, one_in(4) ? 20 : 4)};
    std::vector<Axis> w_axes{options.groups * number(1, one_in(4) ? 40 : 4),
                             *x_axes[1].extent().constant() / options.groups};
    if (one_in(6)) {  // depthwise
      options.groups = *x_axes[1].extent().constant();
      w_axes = {options.groups * number(1, 2), 1};
    }
    for (size_t i = 0; i < positions; ++i) {
      const int64_t window = number(1, positions == 3 ? 2 : 4);
      const int64_t dilation = one_in(3) ? number(2, 3) : 1;
      const int64_t spread = one_in(6) ? 2 : 1;
      const int64_t low = number(-1, 3);
      const int64_t high = number(-1, 3);
      const int64_t span = (window - 1) * dilation + 1;
      int64_t n = number(1, positions == 3 ? 6 : 12);
      while ((n - 1) * spread + 1 + low + high < span || (n - 1) * spread + 1 + std::min(low, high) < 1) {
        ++n;
      }
      x_axes.push_back(size("xyz"[i], n));
      w_axes.emplace_back(window);
      options.stride.push_back(one_in(2) ? number(2, 3) : 1);
      options.dilation.push_back(dilation);
      options.x_dilation.push_back(spread);
      options.low.emplace_back(low);
      options.high.emplace_back(high);
    }
    const Value x = input("x", Shape(f32, x_axes));
    const Value w = input("w", Shape(f32, w_axes));
    std::vector<Value> inputs{x, w};
    Value y = conv(one_in(4) ? sin(x) : x, w, options);
    if (one_in(2)) {
      std::vector<Axis> channels(positions + 1, 1);
      channels[0] = w_axes[0];
      inputs.push_back(input("bias", Shape(f32, channels)));
      y = tanh(y + inputs.back());
    }
    return {.graph = Graph("convolution", inputs, {{"y", y}}), .bindings = bindings_};
  }

 private:
  size_t pick(size_t count) { return rng_() % count; }
  bool one_in(size_t count) { return pick(count) == 0; }
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1)));
  }

  /// An axis that is known, or has a name.
  Axis size(std::string name, int64_t n) {
    if (one_in(2)) {
      return n;
    }
    bindings_.set(name, n);
    return Axis(name);
  }
  Axis size(char name, int64_t n) { return size(std::string(1, name), n); }

  std::mt19937_64 rng_;
  Bindings bindings_;
};

void expect_equal(uint64_t seed) {
  const RandomConv made = ConvMaker(seed).make();
  const CompiledCheck check{.relative = 1e-4, .of_largest = 1e-5, .at = {made.bindings}};
  EXPECT_TRUE(matches_every_way(made.graph, check)) << "seed " << seed << "\n" << to_text(made.graph);
  if (seed % 2 == 0) {
    const Graph weights = with_constants(made.graph, "w");
    EXPECT_TRUE(matches_every_way(weights, check)) << "constant weights, seed " << seed << "\n" << to_text(made.graph);
  } else {
    const Graph gradients = differentiate(made.graph, {.keep_outputs = true, .seed_input = true});
    EXPECT_TRUE(matches_every_way(gradients, check)) << "gradients, seed " << seed << "\n" << to_text(made.graph);
  }
}

class RandomConvs : public testing::TestWithParam<uint64_t> {};
class SlowRandomConvs : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomConvs, EqualTheInterpreter) {
  for (uint64_t seed = GetParam() * 10; seed < GetParam() * 10 + 10; ++seed) {
    expect_equal(seed);
  }
}

TEST_P(SlowRandomConvs, EqualTheInterpreter) {
  for (uint64_t seed = GetParam() * 50; seed < GetParam() * 50 + 50; ++seed) {
    expect_equal(seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomConvs, testing::Range(uint64_t{0}, uint64_t{2}));
INSTANTIATE_TEST_SUITE_P(Seeds, SlowRandomConvs, testing::Range(uint64_t{0}, uint64_t{20}));

}  // namespace
}  // namespace tenon::conv_random_test
