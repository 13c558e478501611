// Kernels that the scheduler makes come back from their text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "compiler/pipeline.h"
#include "kernel/facts/in_place.h"
#include "kernel/loop/loop_parse.h"
#include "kernel/loop/loop_walk.h"
#include "schedule/schedule.h"
#include "support/random_graph.h"
#include "tenon/models.h"

namespace tenon::schedule::parse_test {
namespace {

std::vector<loops::Product> products_of(const loops::Kernel& kernel) {
  std::vector<loops::Product> products;
  for_each_product(kernel, [&](const loops::Product& product) { products.push_back(product); });
  return products;
}

bool is_nan(const loops::Value& value) {
  const auto* compute = std::get_if<loops::Compute>(&value.what);
  return compute != nullptr && std::isnan(compute->literal);
}

void expect_same(const loops::Kernel& parsed, const loops::Kernel& kernel) {
  EXPECT_EQ(to_string(parsed), to_string(kernel));
  EXPECT_EQ(to_string(parsed, true), to_string(kernel, true));
  for (const loops::Phase& phase : kernel.phases) {
    loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
      if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
        const auto i = static_cast<size_t>(define->value);
        EXPECT_TRUE(parsed.values.at(i) == kernel.values.at(i) || is_nan(kernel.values.at(i))) << "v" << i;
      } else if (const auto* accumulate = std::get_if<loops::Accumulate>(&statement.what)) {
        const auto i = static_cast<size_t>(accumulate->accumulator);
        EXPECT_EQ(parsed.accumulators.at(i), kernel.accumulators.at(i)) << "a" << i;
      }
    });
  }
  const std::vector<loops::Product> expected = products_of(kernel);
  const std::vector<loops::Product> actual = products_of(parsed);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].work, expected[i].work);
    EXPECT_EQ(actual[i].rows, expected[i].rows);
    EXPECT_EQ(actual[i].columns, expected[i].columns);
    EXPECT_EQ(actual[i].depth, expected[i].depth);
  }
}

void expect_all_come_back(const Graph& graph, const ScheduleOptions& options = {}) {
  std::vector<PassRun> runs;
  const Program program = make_program(compiler::optimize(graph, {}, runs), options, compiler::body_optimizer({}));
  for (const loops::Kernel* kernel : all_kernels(program)) {
    loops::Kernel parsed = loops::parse_kernel(to_string(*kernel));
    parsed.may_share = loops::find_may_share(parsed);  // which people are not shown, and loops decide
    verify(parsed);
    expect_same(parsed, *kernel);
  }
}

const ModelEntry& model(std::string_view name) {
  const auto found = std::ranges::find(model_table(), name, &ModelEntry::name);
  TENON_CHECK(found != model_table().end(), "{}", name);
  return *found;
}

class ParsedModels : public testing::TestWithParam<const char*> {};

TEST_P(ParsedModels, ComeBackFromTheirText) { expect_all_come_back(model(GetParam()).build().graph); }

INSTANTIATE_TEST_SUITE_P(All, ParsedModels,
                         testing::Values("mlp", "small_cnn", "resnet18", "unet", "bert_base", "lstm_lm"),
                         [](const auto& each) { return std::string(each.param); });

TEST(ParsedKernels, OfConstantWeightsComeBack) {
  expect_all_come_back(with_weights(model("small_cnn").build()), {.panel = 32});
}

TEST(ParsedKernels, OfRandomGraphsComeBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    expect_all_come_back(random_graph(seed).graph);
  }
}

}  // namespace
}  // namespace tenon::schedule::parse_test
