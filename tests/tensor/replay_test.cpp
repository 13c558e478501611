// Operations that are recorded again upon other operands.
#include "tensor/record/replay.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenon/error.h"
#include "tenon/ops.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace tenon::replay_test {
using namespace tensors;

namespace {

std::vector<double> elements(const Tensor& x) {
  const Array array = x.to_array();
  std::vector<double> all;
  for (int64_t i = 0; i < array.size(); ++i) {
    all.push_back(array.at(i));
  }
  return all;
}

Tensor given(std::initializer_list<double> values) { return tensor(values, f32); }

TEST(ReplayTest, RecordsTheSameUponOtherOperands) {
  const std::vector<Tensor> blank = Replay::stand_ins({Shape(f32, {3}), Shape(f32, {3})});
  const Tensor sum = add(blank[0], mul(blank[1], 2.0));
  const auto replay = Replay::between(blank, std::vector{sum, blank[1], exp(sum)}, 2);
  ASSERT_TRUE(replay.has_value());
  EXPECT_EQ(replay->operand_of(0), -1);
  EXPECT_EQ(replay->operand_of(1), 1);
  for (const double scale : {1.0, 5.0}) {
    const std::vector<Tensor> operands{given({1, 2, 3}), mul(given({1, 1, -1}), scale)};
    const std::vector<Tensor> results = replay->record(operands);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(elements(results[0]), (std::vector<double>{1 + 2 * scale, 2 + 2 * scale, 3 - 2 * scale}));
    EXPECT_EQ(elements(results[1]), elements(operands[1]));
    const std::vector<Tensor> rest = replay->record_rest(operands);
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(elements(rest[0]), elements(exp(results[0])));
  }
}

TEST(ReplayTest, ResultsAreTensorsOfTheirOwn) {
  const std::vector<Tensor> blank = Replay::stand_ins({Shape(f32, {2})});
  const auto replay = Replay::between(blank, blank, 1);
  ASSERT_TRUE(replay.has_value());
  Tensor x = given({1, 2});
  const Tensor copy = replay->record(std::vector{x}).front();
  x.fill_(7);
  EXPECT_EQ(elements(copy), (std::vector<double>{1, 2}));
}

TEST(ReplayTest, GivesWhatTheBuilderGives) {
  const auto build = [](const Tensor& x) { return layer_norm(x, Tensor(), Tensor(), {1}); };
  const std::vector<Tensor> blank = Replay::stand_ins({Shape(f32, {2, 4})});
  const auto replay = Replay::between(blank, std::vector{build(blank[0])}, 1);
  ASSERT_TRUE(replay.has_value());
  const Tensor x = tensor(Array::from<float>({2, 4}, std::vector<float>{1, 2, 3, 4, 9, 7, 5, 1}));
  EXPECT_EQ(recorded_graph({replay->record(std::vector{x}).front()}), recorded_graph({build(x)}));
}

TEST(ReplayTest, RefusesWhatFollowsFromElements) {
  const std::vector<Tensor> blank = Replay::stand_ins({Shape(f32, {2})});
  EXPECT_FALSE(Replay::between(blank, std::vector{add(blank[0], given({1, 2}))}, 1).has_value());
  Tensor deep = blank[0];
  for (size_t i = 0; i <= Replay::kMostSteps; ++i) {
    deep = exp(deep);
  }
  EXPECT_FALSE(Replay::between(blank, std::vector{deep}, 1).has_value());
}

TEST(ReplayTest, LooksAreErrorsWhereThereAreNoElements) {
  const Tensor x = add(given({1, 2}), 1.0);
  {
    const WithoutElements blind;
    EXPECT_FALSE(blind.has_looked());
    EXPECT_THROW((void)x.to_array(), Error);
    EXPECT_TRUE(blind.has_looked());
  }
  EXPECT_EQ(elements(x), (std::vector<double>{2, 3}));
}

}  // namespace
}  // namespace tenon::replay_test
