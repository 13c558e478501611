// The table of operators, chains, residual epilogues and blocks of well-known models.
#include "tenon/models.h"

#include <gtest/gtest.h>

#include "tenon/partition.h"

namespace tenon::partition::models_test {
namespace {

struct Counts {
  const char* model;
  size_t operators, chains, residual, blocks;
  double gmac;
};

void PrintTo(const Counts& counts, std::ostream* out) { *out << counts.model; }

class ModelParts : public testing::TestWithParam<Counts> {};

size_t parts_of(const WorkGraph& work, const Bindings& bindings, std::vector<std::string> fuse, const std::string& by) {
  const PlanOptions options{.fuse = std::move(fuse), .by = by};
  return make_plan(work, bindings, profile_named("cpu64"), options).parts.size();
}

TEST_P(ModelParts, AreThoseOfTheTable) {
  const ModelEntry& entry = find_model(GetParam().model);
  const Bindings bindings = Bindings::parse(entry.typical);
  const WorkGraph work = work_graph(with_weights(entry.build()));
  EXPECT_EQ(work.operators.size(), GetParam().operators);
  EXPECT_EQ(parts_of(work, bindings, {"vertical"}, "fusion"), GetParam().chains);
  EXPECT_EQ(parts_of(work, bindings, {"vertical", "residual"}, "fusion"), GetParam().residual);
  EXPECT_EQ(parts_of(work, bindings, {}, "blocks"), GetParam().blocks);
  Extent macs = 0;
  for (const Operator& op : work.operators) {
    macs += op.macs;
  }
  EXPECT_NEAR(static_cast<double>(evaluate(macs, bindings)) / 1e9, GetParam().gmac, 0.001);
}

INSTANTIATE_TEST_SUITE_P(Table, ModelParts,
                         testing::Values(Counts{"resnet18", 68, 31, 23, 10, 1.814},
                                         Counts{"resnet50", 174, 72, 56, 18, 4.089},
                                         Counts{"mobilenet_v2", 151, 64, 54, 19, 0.301},
                                         Counts{"vit_b16", 235, 211, 187, 14, 17.564},
                                         Counts{"bert_base", 240, 216, 180, 12, 11.174}));

}  // namespace
}  // namespace tenon::partition::models_test
