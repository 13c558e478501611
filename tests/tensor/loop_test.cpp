// A long training loop over random batch sizes: one compile, and nothing that grows.
#include <gtest/gtest.h>

#include <random>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"

namespace tenon::loop_test {
namespace {

/// Steps of a small network; `axes` are those of the data.
class Loop {
 public:
  explicit Loop(bool named) : named_(named) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const auto batch = static_cast<int64_t>(rng_() % 50) + 1;
      const Array data = random_array(Dtype::f32, {batch, 6}, rng_, -1, 1);
      Array target(Dtype::i64, {batch});
      for (int64_t k = 0; k < batch; ++k) {
        target.mutable_values<int64_t>()[static_cast<size_t>(k)] = data.at(k * 6) > 0 ? 1 : 0;
      }
      const Tensor x = named_ ? tensor(data, {"batch", 6}) : tensor(data);
      const Tensor y = named_ ? tensor(target, {"batch"}) : tensor(target);
      const Tensor loss = cross_entropy(net_(x), y);
      loss.backward();
      optimizer_.step();
      optimizer_.zero_grad();
      last_ = loss.item();
    }
  }
  double last() const { return last_; }

 private:
  bool named_;
  std::mt19937_64 rng_{1};
  nn::Sequential net_{nn::Linear(6, 16), nn::BatchNorm(16), nn::Activation("relu"), nn::Linear(16, 2)};
  optim::Adam optimizer_{net_.parameters(), {.learning_rate = 1e-2}};
  double last_ = 0;
};

TEST(TrainingLoop, CompilesOnceAndNothingGrows) {
  Loop loop(true);
  clear_realizations();
  loop.run(400);
  const size_t nodes = live_node_count();
  loop.run(600);
  EXPECT_EQ(realization_counts().compiles, 1);
  EXPECT_EQ(realization_counts().runs, 1000);
  EXPECT_LE(live_node_count(), nodes + nodes / 50) << "nodes that are alive, after all sizes were met";
  EXPECT_LT(loop.last(), 0.4) << "it learns";
}

TEST(TrainingLoop, CompilesTwiceWithoutNames) {
  Loop loop(false);
  clear_programs();
  clear_realizations();
  loop.run(100);
  EXPECT_EQ(realization_counts().compiles, 2);
}

}  // namespace
}  // namespace tenon::loop_test
