// State that a loop carries is computed once, however often it is looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/autograd.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace tenon::stored_along_test {
namespace {

struct StoredAlong : testing::Test {
  void SetUp() override {
    clear_programs();
    clear_realizations();
  }
  /// The most operations of a look, but for the first `but` ones.
  static int most_operations(size_t but) {
    int most = 0;
    const std::vector<Realization> all = realizations();
    for (size_t i = but; i < all.size(); ++i) {
      most = std::max(most, all[i].operations);
    }
    return most;
  }
};

TEST_F(StoredAlong, APowerIterationThatIsWatched) {
  const Tensor a = tensor(Array::from<float>({2, 2}, {2, 1, 1, 2}));
  Tensor v = tensor(Array::from<float>({2, 1}, {1, 0}));
  double norm = 0;
  size_t nodes = 0;
  for (int i = 0; i < 40; ++i) {
    nodes = i == 10 ? live_node_count() : nodes;
    v = matmul(a, v);
    const Tensor length = (v * v).sum().sqrt();
    v = v / length;
    norm = length.item();
  }
  EXPECT_LE(live_node_count(), nodes) << "nothing grows with the number of looks";
  EXPECT_NEAR(norm, 3, 1e-5);
  EXPECT_NEAR(v.to_array().at(0), std::sqrt(0.5), 1e-5);
  EXPECT_LE(realization_counts().compiles, 4) << "three of the loop, and that of the last line";
  EXPECT_LE(most_operations(2), 6) << "each look computes one step";
}

TEST_F(StoredAlong, ACacheThatGrows) {
  Tensor k = tensor(counted({1, 4}));
  Tensor x = tensor(counted({1, 4}));
  for (int i = 0; i < 40; ++i) {
    const Tensor row = x * 0.5;
    k = concat({k, row}, 0);
    x = (k.sum({0}, true) * 0.01).exp();
    x.sum().item();
  }
  EXPECT_EQ(k.dims()[0], 41);
  EXPECT_LE(realization_counts().compiles, 4);
  EXPECT_LE(most_operations(2), 11) << "each look computes one step";
}

TEST_F(StoredAlong, WhatItStoresIsWhatItComputes) {
  Tensor x = tensor(counted({6}));
  Tensor y = tensor(counted({6}));
  double expected = 0;
  std::vector<double> plain(6);
  for (int i = 0; i < 6; ++i) {
    plain[static_cast<size_t>(i)] = i;
  }
  for (int step = 0; step < 20; ++step) {
    x = x * 0.9 + 1;
    y = x.flip({0});
    Tensor z = y + x;
    x += 0.5;  // a write to what the look keeps
    const double got = z.sum().item();
    expected = 0;
    for (double& one : plain) {
      one = one * 0.9 + 1;
      expected += 2 * one;
      one += 0.5;
    }
    EXPECT_NEAR(got, expected, 1e-3) << "step " << step;
  }
}

TEST_F(StoredAlong, ALossThatIsLookedAtBeforeTheStep) {
  std::mt19937_64 rng(1);
  nn::Sequential net{nn::Linear(6, 16), nn::Activation("tanh"), nn::Linear(16, 2)};
  optim::SGD optimizer{net.parameters(), {.learning_rate = 1e-2}};
  int forward = 0;
  for (int i = 0; i < 12; ++i) {
    const Tensor x = tensor(random_array(Dtype::f32, {5, 6}, rng, -1, 1), {5, 6});
    const Tensor loss = (net(x) * net(x)).mean();
    loss.item();
    forward = realizations().back().operations;
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  EXPECT_LE(realization_counts().compiles, 5);
  EXPECT_GT(forward, 0);
}

}  // namespace
}  // namespace tenon::stored_along_test
