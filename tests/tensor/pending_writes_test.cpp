// What was recorded is never lost: looks that fail, or are cancelled, change nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/autograd.h"
#include "tenon/cancel.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace tenon::pending_writes_test {
namespace {

/// Whether a look on this thread ends as cancelled.
template <class Look>
bool is_cancelled(Look look) {
  CancelToken token;
  token.cancel();
  LazySettings settings;
  settings.cancel = &token;
  const WithLazySettings with(std::move(settings));
  try {
    look();
  } catch (const Cancelled&) {
    return true;
  }
  return false;
}

Tensor position(int64_t i) { return tensor(Array::from<int64_t>({1}, {i})); }

TEST(PendingWrites, AreThereAfterALookThatWasCancelled) {
  Tensor x = tensor({1, 2});
  realize({x += 0});
  x += 5;
  const Tensor y = x * 2;
  EXPECT_TRUE(is_cancelled([&] { y.to_array(); }));
  EXPECT_EQ(x.to_array().at(0), 6);
  EXPECT_EQ(y.to_array().at(1), 14);
}

TEST(PendingWrites, OfOthersAreThereAfterOneThatCannotBeComputed) {
  const Tensor u = tensor({1, 2}) * 10;
  Tensor a = tensor({1, 2});
  Tensor b = tensor({1, 2});
  realize({a += 0, b += 0});
  a += u;
  b += u;
  b.put_(position(7), tensor({1}));
  for (int look = 0; look < 2; ++look) {
    EXPECT_TRUE(mentions(error_text([&] { b.to_array(); }), {"7"})) << "at each look";
  }
  EXPECT_EQ(a.to_array().at(1), 22);
  EXPECT_EQ(u.to_array().at(1), 20);
  EXPECT_TRUE(mentions(error_text([&] { (b * 2).to_array(); }), {"7"})) << "and of what depends on it";
}

TEST(PendingWrites, ThatCannotBeComputedEndWithTheTensorsNextContent) {
  Tensor b = tensor({1, 2});
  b.put_(position(7), tensor({1}));
  EXPECT_NE(error_text([&] { b.to_array(); }), "no error");
  b.copy_(tensor({3, 4}));
  EXPECT_EQ(b.to_array().at(1), 4);
}

TEST(PendingWrites, CanBeTakenBack) {
  Tensor b = tensor({1, 2});
  realize({b *= 10});
  b += 1;
  b.put_(position(7), tensor({1}));
  EXPECT_NE(error_text([&] { b.to_array(); }), "no error");
  discard_writes({b});
  EXPECT_EQ(b.to_array().at(1), 20) << "what was computed last";
  discard_writes({b});
  EXPECT_EQ(b.to_array().at(1), 20) << "there is nothing to take back";
  Tensor made = tensor({1, 2}) * 2;
  made += 1;
  EXPECT_TRUE(mentions(error_text([&] { discard_writes({made}); }), {"ever computed", "f32[2]"}));
  EXPECT_EQ(made.to_array().at(1), 5);
}

TEST(PendingWrites, OfAnOptimiserAreThereAfterALossThatWasCancelled) {
  Tensor w = tensor({1, 2}).requires_grad_();
  realize({w});
  optim::SGD optimizer({w}, {.learning_rate = 0.5, .momentum = 0.9});
  const Tensor loss = (w * w).sum();
  loss.backward();
  optimizer.step();
  optimizer.zero_grad();
  EXPECT_TRUE(is_cancelled([&] { loss.item(); }));
  EXPECT_EQ(optimizer.steps(), 1);
  EXPECT_EQ(w.to_array().at(1), 0) << "2 - 0.5 * 4";
  EXPECT_EQ(loss.item(), 5) << "of the weights before";
}

TEST(PendingWrites, OfABatchNormAreThereAfterALookThatWasCancelled) {
  const nn::BatchNorm norm(2, 0.5);
  const Tensor y = norm(tensor(Array::from<float>({2, 2}, {1, 2, 3, 6})));
  EXPECT_TRUE(is_cancelled([&] { y.to_array(); }));
  EXPECT_EQ(norm.running_mean.to_array().at(1), 2) << "half of the batch's";
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
}

TEST(PendingWrites, AStepThatCannotBeComputedIsTakenBack) {
  const nn::Embedding table(3, 2);
  optim::Adam optimizer(table.parameters(), {.learning_rate = 0.1});
  const auto step = [&](int64_t word) {
    const Tensor loss = table(position(word)).square().sum();
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.item();
  };
  step(1);
  const Array before = table.weight.to_array();
  const SafeTensors state = optimizer.state();
  EXPECT_TRUE(mentions(error_text([&] { step(7); }), {"7"}));
  EXPECT_TRUE(mentions(error_text([&] { table.weight.to_array(); }), {"7"}));
  EXPECT_TRUE(mentions(error_text([&] { optimizer.step(); }), {"7"}));
  EXPECT_TRUE(optimizer.undo_step());
  EXPECT_FALSE(optimizer.undo_step());
  EXPECT_EQ(optimizer.steps(), 1);
  EXPECT_TRUE(same_bits(table.weight.to_array(), before));
  EXPECT_TRUE(same_bits(*optimizer.state().find("0.mean"), *state.find("0.mean")));
  EXPECT_TRUE(same_bits(*optimizer.state().find("steps"), *state.find("steps")));
  const double loss = step(1);
  EXPECT_LT(step(1), loss) << "and training goes on";
}

TEST(PendingWrites, InPlaceAreDoneOnceWheneverTheRunIsCancelled) {
  constexpr int64_t kCount = 1 << 20;
  Tensor x = tensor(Array(Dtype::f32, {kCount}));
  realize({x += 0});
  int cancelled = 0;
  for (int i = 0; i < 40; ++i) {
    x += 1;
    CancelToken token;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
      token.cancel();
    });
    LazySettings settings;
    settings.cancel = &token;
    const WithLazySettings with(std::move(settings));
    try {
      realize({x});
    } catch (const Cancelled&) {
      ++cancelled;
    }
    other.join();
  }
  const Array all = x.to_array();
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(all.at(i), 40) << "at " << i << ", cancelled " << cancelled << " times";
  }
}

}  // namespace
}  // namespace tenon::pending_writes_test
