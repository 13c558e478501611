// Numbers that differ from recording to recording become symbols; results are the same.
#include "tensor/realize/generalize.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/refused.h"
#include "support/arrays.h"
#include "tenon/compile.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"
#include "tensor/realize/extents.h"
#include "tensor/realize/plain_names.h"
#include "tensor/realize/programs.h"
#include "tensor/record/cell.h"

namespace tenon::tensors::generalize_test {
namespace {

std::shared_ptr<const Pending> recorded(const Tensor& tensor) {
  const Value value = Access::handle(tensor).value();
  return std::make_shared<const Pending>(std::span(&value, 1));
}

std::string result_shape(const Pending& pending) { return pending.at(pending.roots()[0]).shape().to_string(); }

/// x[1:n-1, :] of x: f32[n, 8], all in numbers, laid end to end.
Tensor middle(int64_t n) {
  const Tensor x = tensor(counted({n, 8}), {n, 8});
  return (x.slice_axis(0, 1, n - 1) * 2).reshape({(n - 2) * 8});
}

TEST(Generalize, NumbersThatFollowFromOthersStaySo) {
  const auto now = recorded(middle(9));
  const auto general = generalized(*now, std::vector{recorded(middle(4)), recorded(middle(7))});
  ASSERT_TRUE(general.has_value());
  const Pending plain = with_names(*general, plain_names(names_of(*general)));
  EXPECT_EQ(result_shape(plain), "f32[8*n0-16]");
  const auto sizes = sizes_as(*recorded(middle(30)), plain);
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(sizes->size(), 1);
  EXPECT_EQ(sizes->begin()->second, 30);
}

TEST(Generalize, OtherOperationsAreNoCase) {
  const auto now = recorded(middle(9));
  const Tensor x = tensor(counted({9, 8}), {9, 8});
  const auto other = recorded((x.slice_axis(0, 1, 8) + 2).reshape({56}));
  EXPECT_FALSE(align(*now, *other).has_value());
  EXPECT_FALSE(generalized(*now, std::vector{other}).has_value());
  EXPECT_FALSE(sizes_as(*now, *other).has_value());
}

TEST(Generalize, EqualRecordingsHaveNothingToGeneralize) {
  const auto now = recorded(middle(9));
  EXPECT_FALSE(generalized(*now, std::vector{recorded(middle(9))}).has_value());
}

TEST(Generalize, OffsetsThatMoveCompileThreeTimes) {
  clear_programs();
  clear_realizations();
  const Tensor x = tensor(counted({40, 3}), {40, 3});
  for (int64_t i = 0; i < 40; ++i) {
    const Array row = (x.select_at(i) + 0.5).to_array();
    EXPECT_EQ(row.at(0), static_cast<double>(3 * i) + 0.5);
  }
  EXPECT_EQ(realization_counts().compiles, 3);
}

TEST(Generalize, WritesThatMoveCompileFewTimes) {
  clear_programs();
  clear_realizations();
  Tensor x = tensor(counted({30}), {30});
  for (int64_t i = 0; i < 30; ++i) {
    Tensor one = x.select_at(i);
    one += 1;
    realize({x});
  }
  EXPECT_LE(realization_counts().compiles, 4);
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(x.to_array().at(i), static_cast<double>(i) + 1);
  }
}

TEST(Generalize, SizesThatAreEqualByChanceAreACaseOfTheGeneralProgram) {
  clear_programs();
  clear_realizations();
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{{3, 4}, {5, 7}, {9, 2}, {6, 6}, {2, 11}, {8, 8}}) {
    const Tensor x = tensor(counted({n, m}), {n, m});
    EXPECT_EQ((x * 3).sum({1}).to_array().at(0), 3.0 * static_cast<double>(m * (m - 1)) / 2);
  }
  EXPECT_EQ(realization_counts().compiles, 3);
}

/// A pad that crops is a negative number, which no symbol stands for.
TEST(Generalize, NegativeNumbersAreNoSizes) {
  clear_programs();
  clear_realizations();
  const std::vector<std::pair<int64_t, int64_t>> cases = {{8, 2}, {9, 1}, {12, 0}, {7, -3}, {20, -1}, {6, 4}, {5, -2}};
  for (const auto& [n, high] : cases) {
    const Tensor x = tensor(counted({n}), {n});
    const int64_t kept = n + std::min<int64_t>(high, 0);
    EXPECT_EQ(pad(x, {0}, {high}).sum({0}).to_array().at(0), static_cast<double>(kept * (kept - 1)) / 2);
  }
  for (const int64_t high : {-1, -4, 3, -2, 0}) {
    const Tensor x = tensor(counted({10}), {10});
    const int64_t kept = 10 + std::min<int64_t>(high, 0);
    EXPECT_EQ(pad(x, {0}, {high}).sum({0}).to_array().at(0), static_cast<double>(kept * (kept - 1)) / 2);
  }
}

/// What no program can be made of for all sizes is tried once: each further size compiles with its numbers alone.
TEST(Generalize, WhatIsRefusedIsNotTriedAgain) {
  clear_programs();
  clear_realizations();
  const std::string first = compile_passes().front();
  int of_symbols = 0;
  set_compile_options({.on_pass = [&](const PassRun& run) {
    if (run.name == first && run.after.inputs()[0].shape().is_dynamic()) {
      ++of_symbols;
      refuse("no program for all sizes");
    }
  }});
  constexpr int kSizes = 6;
  for (int64_t n = 1; n <= kSizes; ++n) {
    const Tensor x = tensor(counted({n, 6}), {n, 6});
    EXPECT_EQ((x + 1).to_array().at(6 * n - 1), 6.0 * static_cast<double>(n));
  }
  set_compile_options({});
  EXPECT_EQ(realization_counts().compiles, kSizes);
  EXPECT_EQ(of_symbols, 1);
}

}  // namespace
}  // namespace tenon::tensors::generalize_test
