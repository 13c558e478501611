#include "tenon/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/error_text.h"

namespace tenon::sampling_test {
namespace {

const std::vector<float> kLogits = {std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};

std::vector<double> frequencies(SamplingOptions options, const std::vector<float>& logits = kLogits) {
  options.seed = 7;
  Sampler sampler(options);
  std::vector<double> counts(logits.size());
  for (int i = 0; i < 8000; ++i) {
    counts[static_cast<size_t>(sampler.choose(logits, {}))] += 1.0 / 8000;
  }
  return counts;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], expected[i] == 0 ? 0 : 0.02) << i;
  }
}

TEST(Sampling, TokensComeAsOftenAsTheyAreLikely) {
  expect_near(frequencies({.temperature = 1}), {0.5, 0.3, 0.15, 0.05});
  expect_near(frequencies({.temperature = 0.5}), {0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365});
  expect_near(frequencies({.temperature = 1, .top_k = 3}), {0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0});
  expect_near(frequencies({.temperature = 1, .top_p = 0.75}), {0.625, 0.375, 0, 0});
  expect_near(frequencies({.temperature = 1, .top_k = 3, .top_p = 0.6}), {0.625, 0.375, 0, 0});
  expect_near(frequencies({.temperature = 1, .top_p = 1e-9}), {1, 0, 0, 0});
}

/// More equal tokens than are sorted first, so that all are.
TEST(Sampling, ManyTokensOfOneLikelihood) {
  Sampler sampler({.temperature = 1, .top_p = 0.999, .seed = 3});
  const std::vector<float> logits(5000, 1.0F);
  int64_t largest = 0;
  for (int i = 0; i < 200; ++i) {
    largest = std::max(largest, sampler.choose(logits, {}));
  }
  EXPECT_GT(largest, 4000);
  EXPECT_LT(largest, 4996);  // of equals the first are taken
}

TEST(Sampling, TheMostLikelyTokenIsTheFirstOfEquals) {
  Sampler sampler;
  EXPECT_EQ(sampler.choose(std::vector<float>{1, 3, 3, 2}, {}), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{-std::numeric_limits<float>::infinity(), -5}, {}), 1);
  Sampler one_of_all({.temperature = 2, .top_k = 1});
  EXPECT_EQ(one_of_all.choose(std::vector<float>{1, 3, 3, 2}, {}), 1);
}

TEST(Sampling, TokensThatWereThereAreLessLikely) {
  Sampler sampler({.repetition_penalty = 2});
  EXPECT_EQ(sampler.choose(std::vector<float>{3, 2, -1}, std::vector<int64_t>{0}), 1);
  EXPECT_EQ(sampler.choose(std::vector<float>{3, 2, -1}, std::vector<int64_t>{0, 0, 1}), 0);  // each counts once
  EXPECT_EQ(sampler.choose(std::vector<float>{-3, -2, -4}, std::vector<int64_t>{61, 7, 98, 51, 82, 60}), 0);
}

/// What a seed gives is the same on every machine, and from Python.
TEST(Sampling, ASeedGivesTheSameTokens) {
  const std::vector<float> logits(100, 0.0F);
  std::vector<int64_t> tokens;
  Sampler sampler({.temperature = 1, .seed = 42});
  for (int i = 0; i < 6; ++i) {
    tokens.push_back(sampler.choose(logits, {}));
  }
  EXPECT_EQ(tokens, (std::vector<int64_t>{61, 7, 98, 51, 82, 60}));
  Sampler again({.temperature = 1, .seed = 42});
  EXPECT_EQ(again.choose(logits, {}), tokens[0]);
  Sampler without({.temperature = 1});
  Sampler other({.temperature = 1});
  std::vector<int64_t> a;
  std::vector<int64_t> b;
  for (int i = 0; i < 20; ++i) {
    a.push_back(without.choose(logits, {}));
    b.push_back(other.choose(logits, {}));
  }
  EXPECT_NE(a, b);
}

TEST(Sampling, WhatCannotBeIsTold) {
  EXPECT_EQ(error_text([] { Sampler({.temperature = -1}); }), "temperature is -1, which is out of its range");
  EXPECT_EQ(error_text([] { Sampler({.top_k = -1}); }), "top_k is -1, which is out of its range");
  EXPECT_EQ(error_text([] { Sampler({.top_p = 0}); }), "top_p is 0, which is out of its range");
  EXPECT_EQ(error_text([] { Sampler({.repetition_penalty = 0}); }),
            "repetition_penalty is 0, which is out of its range");
  EXPECT_EQ(error_text([] { Sampler().choose({}, {}); }), "there are no logits to choose from");
  EXPECT_EQ(error_text([] { Sampler().choose(std::vector<float>{1, std::nanf("")}, {}); }),
            "the model gave logits that are no numbers (NaN)");
  EXPECT_EQ(
      error_text([] { Sampler({.repetition_penalty = 2}).choose(std::vector<float>{1, 2}, std::vector<int64_t>{2}); }),
      "token 2 has no logit among 2");
}

}  // namespace
}  // namespace tenon::sampling_test
