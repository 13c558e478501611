// Chains of reductions over the same rows, with maps between them, are one kernel.

#include <gtest/gtest.h>

#include <random>

#include "support/compiled.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::schedule::row_chains_test {
namespace {

/// Two to four reductions over the last axis, or the last two, each of the rows changed by the one before.
class RowChain {
 public:
  explicit RowChain(uint64_t seed) : rng_(seed) {}

  Graph make() {
    std::vector<Axis> axes{"row", "col"};
    axes_ = {-1};
    if (chance()) {
      axes = {"batch", "row", "col"};
      axes_ = chance() ? Axes{-1} : Axes{-2, -1};
    }
    Value x = add_input(axes);
    std::vector<Output> outputs;
    for (size_t left = pick(3) + 2; left > 0; --left) {
      const Value row = reduced(changed(x));
      if (chance() && chance()) {
        outputs.push_back({.name = "row" + std::to_string(left), .value = row});
      }
      x = chance() ? x - row : x + row * 0.5;
      if (chance()) {
        x = tanh(x);
      }
      if (chance() && chance()) {
        x = x + add_input(axes);
      }
    }
    // The last reduction is the end itself now and then.
    outputs.push_back({.name = "y", .value = chance() ? reduced(x) : x});
    return {inputs_, std::move(outputs)};
  }

 private:
  size_t pick(size_t count) { return rng_() % count; }
  bool chance() { return pick(2) == 0; }

  Value add_input(const std::vector<Axis>& axes) {
    inputs_.push_back(input("x" + std::to_string(inputs_.size()), Shape(f32, axes)));
    return inputs_.back();
  }

  Value changed(const Value& x) {
    switch (pick(5)) {
      case 0: return exp(clamp(x, -3, 3));
      case 1: return square(x);
      case 2: return sigmoid(x);
      case 3: return abs(x);
      default: return x;
    }
  }

  Value reduced(const Value& x) {
    switch (pick(5)) {
      case 0: return reduce_sum(x, axes_, true) * (1.0 / 64);
      case 1: return reduce_max(x, axes_, true);
      case 2: return reduce_min(x, axes_, true);
      case 3: return reduce_product(1 + tanh(x) * (1.0 / 64), axes_, true);
      default: return reduce_mean(x, axes_, true);
    }
  }

  std::mt19937_64 rng_;
  Axes axes_;
  std::vector<Value> inputs_;
};

class RowChains : public testing::TestWithParam<uint64_t> {};

TEST_P(RowChains, AreOneKernel) {
  for (uint64_t seed = GetParam() * 20; seed < GetParam() * 20 + 20; ++seed) {
    const Graph graph = RowChain(seed).make();
    const Executable executable = compile(graph, {.native = false});
    EXPECT_EQ(executable.steps().size(), 1U) << "seed " << seed << "\n" << executable.explain() << to_text(graph);
    EXPECT_TRUE(compiled_matches(graph, {.compile = {.native = false}, .relative = 1e-4, .absolute = 1e-4}))
        << "seed " << seed << "\n"
        << to_text(graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowChains, testing::Range(uint64_t{0}, uint64_t{10}));

}  // namespace
}  // namespace tenon::schedule::row_chains_test
