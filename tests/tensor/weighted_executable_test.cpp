// Graphs whose weights are inputs: constants while they stay the same.
#include "tenon/weighted_executable.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"
#include "tenon/realizations.h"

namespace tenon::weighted_executable_test {
namespace {

/// y = relu(x w) v + b, of any number of rows.
Graph two_layers() {
  const Value x = input("x", {Dtype::f32, {"rows", 40}});
  const Value w = input("w", {Dtype::f32, {40, 33}});
  const Value v = input("v", {Dtype::f32, {33, 48}});
  const Value b = input("b", {Dtype::f32, {48}});
  return {{x, w, v, b}, {{"y", add(matmul(relu(matmul(x, w)), v), b)}}};
}

Array numbers(std::vector<int64_t> dims, float value) {
  Array made(Dtype::f32, std::move(dims));
  for (float& each : made.mutable_values<float>()) {
    each = value;
    value = value > 0.8F ? value - 1.7F : value + 0.37F;
  }
  return made;
}

struct Net {
  explicit Net(std::vector<size_t> expected = {}) : program(two_layers(), std::move(expected)) {}

  /// Runs it and compares; how many weights were constants.
  int run(int64_t rows) {
    const std::vector<Array> inputs = {numbers({rows, 40}, 0.1F), w, v, b};
    const auto chosen = program.choose(contents, [&](size_t i) { return inputs[i]; });
    compiles += chosen.compiled;
    const std::vector<Array> got = chosen.executable.run(inputs);
    const std::vector<Array> wanted = interpret(program.graph(), inputs);
    EXPECT_EQ(got[0].dims(), wanted[0].dims());
    for (int64_t i = 0; i < got[0].size(); ++i) {
      EXPECT_NEAR(got[0].at(i), wanted[0].at(i), 1e-4) << i;
    }
    return chosen.weights;
  }

  /// The weight `w` gets other elements.
  void write(float start) {
    program.forget(contents[1]);
    w = numbers({40, 33}, start);
    contents[1] = ++last;
  }

  WeightedExecutable program;
  Array w = numbers({40, 33}, -0.9F);
  Array v = numbers({33, 48}, -0.5F);
  Array b = numbers({48}, 0.0F);
  std::vector<uint64_t> contents = {0, 1, 2, 3};
  uint64_t last = 3;
  int compiles = 0;
};

TEST(WeightedExecutable, InputsThatStayAreConstantsAfterSomeRuns) {
  Net net;
  for (const int64_t rows : {3, 1, 0, 8}) {
    EXPECT_EQ(net.run(rows), 0);
  }
  for (const int64_t rows : {9, 0, 1, 7}) {
    EXPECT_EQ(net.run(rows), 3);
  }
  EXPECT_EQ(net.compiles, 2);
}

TEST(WeightedExecutable, ThoseThatAreExpectedAreSoAtOnce) {
  Net net({1, 2, 3});
  EXPECT_EQ(net.run(5), 3);
  EXPECT_EQ(net.run(2), 3);
  EXPECT_EQ(net.compiles, 1);
  net.write(0.4F);
  EXPECT_EQ(net.run(5), 0);
  EXPECT_EQ(net.compiles, 2);
}

TEST(WeightedExecutable, WritesThatComeOftenAreWaitedFor) {
  Net net;
  for (int i = 0; i < 300; ++i) {
    net.run(2);
    if (i % 6 == 5) {
      net.write(0.001F * static_cast<float>(i));
    }
  }
  EXPECT_LE(net.compiles, 4) << "one for v and b alone, then each waits twice as long";
}

TEST(WeightedExecutable, WhatStaysIsAConstantBesideWhatChanges) {
  Net net;
  int weights = 0;
  for (int i = 0; i < 10; ++i) {
    weights = net.run(3);
    net.write(0.01F * static_cast<float>(i));
  }
  EXPECT_EQ(weights, 2) << "v and b";
}

TEST(WeightedExecutable, NothingIsKnownOfContents0) {
  Net net({1, 2, 3});
  net.contents = {0, 0, 0, 0};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(net.run(3), 0);
  }
  EXPECT_EQ(net.compiles, 1);
}

TEST(WeightedExecutable, TheBudgetTakesThemBack) {
  Net net({1, 2, 3});
  EXPECT_EQ(net.run(3), 3);
  set_weight_budget(0);
  EXPECT_EQ(net.run(3), 0);
  set_weight_budget(int64_t{1} << 34);
}

TEST(WeightedExecutable, ManyThreadsCallWhileWeightsChange) {
  const WeightedExecutable program(two_layers(), {1, 2, 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 40; ++i) {
        const float start = 0.01F * static_cast<float>(i / 8);
        const std::vector<Array> inputs = {numbers({t, 40}, 0.1F), numbers({40, 33}, start), numbers({33, 48}, start),
                                           numbers({48}, start)};
        const uint64_t which = 1 + i / 8;
        const std::vector<uint64_t> contents = {0, 3 * which, 3 * which + 1, 3 * which + 2};
        const auto chosen = program.choose(contents, [&](size_t k) { return inputs[k]; });
        const Array got = chosen.executable.run(inputs)[0];
        const Array wanted = interpret(program.graph(), inputs)[0];
        for (int64_t k = 0; k < got.size(); ++k) {
          ASSERT_NEAR(got.at(k), wanted.at(k), 1e-4);
        }
        if (t == 0 && i % 8 == 7) {
          program.forget(3 * which);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(WeightedExecutable, AGraphWithoutProductsHasNoWeights) {
  const Value x = input("x", {Dtype::f32, {"rows", 2000}});
  const Value w = input("w", {Dtype::f32, {2000}});
  const WeightedExecutable program(Graph({x, w}, {{"y", mul(x, w)}}), {1});
  const auto chosen = program.choose(std::vector<uint64_t>{0, 1}, [](size_t) { return Array(); });
  EXPECT_EQ(chosen.weights, 0);
}

}  // namespace
}  // namespace tenon::weighted_executable_test
