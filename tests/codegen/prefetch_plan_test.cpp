// Which loops fetch ahead, and what.
#include "codegen/prefetch_plan.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "codegen/native_kernel.h"
#include "support/loop_kernels.h"

namespace tenon::codegen {
namespace {

/// The loop that `n` others come before in a block.
const loops::Loop& nth_loop(const loops::Block& block, int n) {
  for (const loops::Statement& statement : block) {
    const auto* const found = std::get_if<loops::Loop>(&statement.what);
    if (found != nullptr && n-- == 0) return *found;
  }
  throw std::out_of_range("no such loop");
}

TEST(PrefetchPlan, TheDearestOfSeveralLoopsFetchesTheNextRow) {
  const loops::Kernel kernel = softmax_case().kernel;
  const PrefetchPlan plan = plan_prefetches(kernel);
  ASSERT_EQ(plan.size(), 1u);
  const loops::Loop& exponentials = nth_loop(kernel.phases[0].body, 1);
  ASSERT_TRUE(plan.contains(&exponentials));
  const std::vector<Prefetch>& fetched = plan.at(&exponentials);
  ASSERT_EQ(fetched.size(), 2u);
  EXPECT_EQ(kernel.buffers[static_cast<size_t>(fetched[0].buffer)].role, loops::Role::input);
  EXPECT_EQ(fetched[0].ahead, Extent::name("cols"));
  EXPECT_FALSE(fetched[0].writes);
  EXPECT_EQ(kernel.buffers[static_cast<size_t>(fetched[1].buffer)].role, loops::Role::output);
  EXPECT_TRUE(fetched[1].writes);
}

TEST(PrefetchPlan, ALoopOnItsOwnFetchesAsNearAsHelps) {
  const loops::Kernel kernel = elementwise_case().kernel;
  const PrefetchPlan plan = plan_prefetches(kernel);
  ASSERT_EQ(plan.size(), 1u);
  for (const Prefetch& each : plan.begin()->second)
    EXPECT_EQ(each.ahead, Extent(0));
}

TEST(PrefetchPlan, NothingInsideALoopInsideAVectorisedOne) {
  for (const auto& [loop, fetched] : plan_prefetches(column_sums_case().kernel)) {
    for (const Prefetch& each : fetched)
      EXPECT_TRUE(each.writes);
  }
}

TEST(PrefetchPlan, IsInTheCode) {
  for (const auto& [name, instruction] : {std::pair("x86-64-v3", "\tprefetch"), std::pair("armv8.2", "\tprfm")}) {
    const Target target = target_named(name);
    const std::string code = emit_assembly(kernel_request(softmax_case().kernel, target), target);
    EXPECT_NE(code.find(instruction), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tenon::codegen
