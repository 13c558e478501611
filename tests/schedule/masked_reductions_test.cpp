// What is reduced as a whole is reduced once, also where padding says that its result is needed in some places only.
#include <gtest/gtest.h>

#include <variant>

#include "compiler/pipeline.h"
#include "schedule/schedule.h"
#include "support/compiled.h"
#include "tenon/ops.h"

namespace tenon::schedule::masked_reductions_test {
namespace {

Graph padded_quotient() {
  const Value x = input("x", shape(f32, "n", "m"));
  return Graph({x}, {{"y", pad(x / reduce_max(x), {1, 2}, {1, 0})}});
}

TEST(MaskedReductions, AreComputedOnce) {
  std::vector<PassRun> runs;
  const Program program = make_program(compiler::optimize(padded_quotient(), {}, runs));
  int reductions = 0;
  for (const loops::Kernel& kernel : program.kernels) {
    for (const loops::Accumulator& accumulator : kernel.accumulators) {
      const auto& value = kernel.values.at(static_cast<size_t>(accumulator.input));
      const auto* load = std::get_if<loops::Load>(&value.what);
      ASSERT_NE(load, nullptr) << to_string(kernel);
      EXPECT_TRUE(load->inside.empty()) << to_string(kernel);
      ++reductions;
    }
  }
  EXPECT_GT(reductions, 0);
}

TEST(MaskedReductions, EveryWayGivesTheSame) { EXPECT_TRUE(matches_every_way(padded_quotient())); }

}  // namespace
}  // namespace tenon::schedule::masked_reductions_test
