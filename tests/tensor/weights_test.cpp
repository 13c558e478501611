// Weights that stay the same are constants of programs, until somebody writes to them.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/autograd.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace tenon::weights_test {
namespace {

struct Weights : testing::Test {
  void SetUp() override {
    clear_programs();
    clear_realizations();
  }

  /// The last run's number of weights.
  static int weights() { return realizations().back().weights; }
  static int64_t laid_out() { return realization_counts().laid_out; }
};

/// Numbers around 0 that all differ.
Array numbers(std::vector<int64_t> dims, float step = 0.37F) {
  Array made(Dtype::f32, std::move(dims));
  float value = -0.9F;
  for (float& each : made.mutable_values<float>()) {
    each = value;
    value = value > 0.8F ? value - 1.7F : value + step;
  }
  return made;
}

/// The same of the interpreter's kind: one product at a time, of arrays.
void expect_product(const Array& got, const Array& x, const Array& w) {
  const int64_t n = x.dims()[0];
  const int64_t depth = x.dims()[1];
  const int64_t units = w.dims()[1];
  ASSERT_EQ(got.dims(), (std::vector<int64_t>{n, units}));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < units; ++k) {
      double sum = 0;
      for (int64_t d = 0; d < depth; ++d) {
        sum += x.at(i * depth + d) * w.at(d * units + k);
      }
      ASSERT_NEAR(got.at(i * units + k), sum, 1e-4) << i << ", " << k;
    }
  }
}

TEST_F(Weights, AreConstantsAfterSomeRunsAtAllSizes) {
  const Tensor w = tensor(numbers({40, 33}));
  for (const int64_t batch : {3, 1, 8, 9, 5, 16, 2, 0}) {
    const Array x = numbers({batch, 40}, 0.21F);
    expect_product(matmul(tensor(x, {"batch", 40}), w).to_array(), x, numbers({40, 33}));
  }
  EXPECT_EQ(realization_counts().compiles, 1) << "for all sizes";
  EXPECT_EQ(laid_out(), 1);
  EXPECT_EQ(weights(), 1);
  EXPECT_EQ(realizations()[3].weights, 0) << "not before the fifth run";
  EXPECT_TRUE(realizations()[4].laid_out);
}

TEST_F(Weights, AWriteBringsTheGeneralProgramBack) {
  Tensor w = tensor(numbers({40, 33}));
  const Array x = numbers({5, 40}, 0.21F);
  const auto look = [&] { return matmul(tensor(x), w).to_array(); };
  for (int i = 0; i < 6; ++i) {
    look();
  }
  ASSERT_EQ(weights(), 1);
  w *= 2;
  expect_product(look(), x, w.to_array());
  EXPECT_EQ(weights(), 0);
  w.select_at(3, 0).fill_(7);  // through a view
  expect_product(look(), x, w.to_array());
  EXPECT_EQ(w.to_array().at(3 * 33), 7);
  for (int i = 0; i < 10; ++i) {
    expect_product(look(), x, w.to_array());
  }
  EXPECT_EQ(weights(), 1) << "it has been still again";
  EXPECT_EQ(laid_out(), 2);
  EXPECT_EQ(realization_counts().compiles, 3) << "x w, x (2 w), x w with a row";
}

TEST_F(Weights, WritesThatComeOftenAreWaitedFor) {
  Tensor w = tensor(numbers({40, 33}));
  const Array x = numbers({5, 40}, 0.21F);
  for (int i = 0; i < 300; ++i) {
    expect_product(matmul(tensor(x), w).to_array(), x, w.to_array());
    if (i % 6 == 5) {
      w += 0.01;
      w.to_array();
    }
  }
  EXPECT_LE(laid_out(), 2) << "each time that a version served for two runs, the next one waits twice as long";
}

TEST_F(Weights, InTrainingWhatIsFrozenIsAConstant) {
  const Tensor frozen = tensor(numbers({32, 48}));
  Tensor w = tensor(numbers({48, 32}, 0.11F));
  w.requires_grad_();
  const Array x = numbers({4, 32}, 0.21F);
  std::vector<double> losses;
  for (int i = 0; i < 12; ++i) {
    const Tensor loss = matmul(tanh(matmul(tensor(x), frozen)), w).square().mean();
    loss.backward();
    {
      const NoGrad off;
      w -= w.grad() * 0.1;
    }
    w.set_grad({});
    losses.push_back(loss.item());
  }
  EXPECT_EQ(weights(), 1);
  EXPECT_LE(laid_out(), 1);
  set_weight_budget(0);
  Tensor again = tensor(numbers({48, 32}, 0.11F));
  again.requires_grad_();
  for (const double expected : losses) {
    const Tensor loss = matmul(tanh(matmul(tensor(x), frozen)), again).square().mean();
    loss.backward();
    {
      const NoGrad off;
      again -= again.grad() * 0.1;
    }
    again.set_grad({});
    EXPECT_NEAR(loss.item(), expected, 1e-5 * std::abs(expected));
    EXPECT_EQ(weights(), 0);
  }
  set_weight_budget(int64_t{1} << 30);
}

TEST_F(Weights, BatchNormsFoldIntoConvolutions) {
  const Tensor w = tensor(numbers({16, 8, 3, 3}));
  const Tensor scale = tensor(numbers({16, 1, 1}));
  const Tensor shift = tensor(numbers({16, 1, 1}, 0.2F));
  const Array x = numbers({1, 8, 12, 12}, 0.21F);
  const auto look = [&] {
    return (conv(tensor(x), w, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}) * scale + shift).to_array();
  };
  const Array expected = look();
  for (int i = 0; i < 6; ++i) {
    const Array got = look();
    for (int64_t k = 0; k < got.size(); ++k) {
      ASSERT_NEAR(got.at(k), expected.at(k), 1e-4);
    }
  }
  EXPECT_EQ(weights(), 3);
}

TEST_F(Weights, DataThatStayAreNoWeights) {
  const Tensor x = tensor(numbers({5, 40}));
  const Tensor w = tensor(numbers({40, 33}));
  const Tensor v = tensor(numbers({33, 40}));
  for (int i = 0; i < 8; ++i) {
    matmul(relu(matmul(x, w)), v).to_array();
  }
  EXPECT_EQ(weights(), 2) << "w and v; x comes first";
  EXPECT_GE(realizations().back().kernels, 1) << "the result is computed";
}

TEST_F(Weights, TwoModelsOfOneStructureHaveTheirOwn) {
  const Tensor w = tensor(numbers({40, 33}));
  const Tensor v = tensor(numbers({40, 33}, 0.5F));
  const Array x = numbers({5, 40}, 0.21F);
  for (int i = 0; i < 8; ++i) {
    expect_product(matmul(tensor(x), w).to_array(), x, w.to_array());
    expect_product(matmul(tensor(x), v).to_array(), x, v.to_array());
    EXPECT_EQ(weights(), i < 4 ? 0 : 1);
  }
  EXPECT_EQ(realization_counts().compiles, 1);
  EXPECT_EQ(laid_out(), 2);
}

TEST_F(Weights, WhatIsLaidOutGoesWithTheTensor) {
  size_t nodes = 0;
  for (int i = 0; i < 20; ++i) {
    const Tensor w = tensor(numbers({40, 33}, 0.01F * static_cast<float>(i + 1)));
    const Array x = numbers({5, 40}, 0.21F);
    for (int k = 0; k < 6; ++k) {
      expect_product(matmul(tensor(x), w).to_array(), x, w.to_array());
    }
    nodes = i == 2 ? live_node_count() : nodes;
  }
  EXPECT_LE(live_node_count(), nodes);
}

TEST_F(Weights, TheBudgetBoundsThem) {
  std::vector<Tensor> many;
  for (int i = 0; i < 6; ++i) {
    many.push_back(tensor(numbers({40, 33}, 0.05F * static_cast<float>(i + 1))));
  }
  const Array x = numbers({5, 40}, 0.21F);
  const int64_t each = 40 * 48 * 4;  // with room for a layout's columns
  set_weight_budget(2 * each);
  for (int i = 0; i < 10; ++i) {
    for (const Tensor& w : many) {
      expect_product(matmul(tensor(x), w).to_array(), x, w.to_array());
    }
  }
  set_weight_budget(int64_t{1} << 30);
  EXPECT_LE(laid_out(), 24) << "those that are dropped again and again are waited for";
}

TEST_F(Weights, ManyThreads) {
  const Tensor w = tensor(numbers({40, 33}));
  const Array x = numbers({5, 40}, 0.21F);
  matmul(tensor(x), w).to_array();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const Tensor own = tensor(x);
        expect_product(matmul(own, w).to_array(), x, w.to_array());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(laid_out(), 1);
}

}  // namespace
}  // namespace tenon::weights_test
