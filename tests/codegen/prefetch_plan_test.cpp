// Which loops fetch ahead, and what.
#include "codegen/emit/prefetch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "codegen/native_kernel.h"
#include "support/loop_kernels.h"

namespace tenon::codegen::prefetch_plan_test {
namespace {

/// The loop that `n` others come before in a block.
const loops::Loop& nth_loop(const loops::Block& block, int n) {
  for (const loops::Statement& statement : block) {
    const auto* const found = std::get_if<loops::Loop>(&statement.what);
    if (found != nullptr && n-- == 0) return *found;
  }
  throw std::out_of_range("no such loop");
}

TEST(PrefetchPlan, SeveralLoopsShareWhatTheNextRowNeeds) {
  const loops::Kernel kernel = softmax_case().kernel;
  const PrefetchPlan plan = plan_prefetches(kernel);
  std::map<std::pair<int, int>, int> times;  // by buffer and part
  std::vector<int> shares;
  for (int i = 0; i < 3; ++i) {
    const loops::Loop& loop = nth_loop(kernel.phases[0].body, i);
    ASSERT_TRUE(plan.contains(&loop)) << "loop " << i << " leaves memory idle";
    int& all = shares.emplace_back();
    for (const Prefetch& each : plan.at(&loop)) {
      EXPECT_EQ(each.ahead, Extent::name("cols"));
      EXPECT_EQ(each.writes, kernel.buffers[static_cast<size_t>(each.buffer)].role == loops::Role::output);
      EXPECT_EQ(each.parts, 4);
      all += each.share;
      for (int k = 0; k < each.share; ++k)
        ++times[{each.buffer, each.first_part + k}];
    }
  }
  EXPECT_EQ(shares[1], std::ranges::max(shares)) << "exponentials take longest";
  EXPECT_EQ(times.size(), 8u) << "four parts of what is read, four of what is written";
  for (const auto& [part, count] : times)
    EXPECT_EQ(count, 1) << "buffer " << part.first << ", part " << part.second;
}

TEST(PrefetchPlan, TheFirstLoopFetchesWhatIsReadOnlyIfNothingIsWritten) {
  loops::Kernel kernel = softmax_case().kernel;
  const auto reads_in_first_loop = [&] {
    const PrefetchPlan plan = plan_prefetches(kernel);
    const auto fetched = plan.find(&nth_loop(kernel.phases[0].body, 0));
    return fetched == plan.end() ? 0 : std::ranges::count(fetched->second, false, &Prefetch::writes);
  };
  EXPECT_EQ(reads_in_first_loop(), 0);
  kernel.phases[0].body.pop_back();  // the loop that stores
  EXPECT_EQ(reads_in_first_loop(), 1);
}

TEST(PrefetchPlan, ALoopOnItsOwnFetchesAsNearAsHelps) {
  const loops::Kernel kernel = elementwise_case().kernel;
  const PrefetchPlan plan = plan_prefetches(kernel);
  ASSERT_EQ(plan.size(), 1u);
  for (const Prefetch& each : plan.begin()->second)
    EXPECT_EQ(each.ahead, Extent(0));
}

TEST(PrefetchPlan, ATileFetchesWholeRowsAhead) {
  loops::Kernel kernel = elementwise_case().kernel;
  loops::Phase& phase = kernel.phases[0];
  const int inner = std::get<loops::Loop>(phase.body.back().what).axis;
  const Extent apart = kernel.axes[static_cast<size_t>(inner)].extent + 5;
  for (loops::Value& value : kernel.values) {
    auto* const load = std::get_if<loops::Load>(&value.what);
    if (load == nullptr) continue;
    for (loops::Term& term : load->at.terms) {
      if (term.axis == phase.grid.back()) term.scale = apart;
    }
  }
  int found = 0;
  for (const auto& [loop, fetched] : plan_prefetches(kernel)) {
    for (const Prefetch& each : fetched) {
      if (each.writes) continue;
      EXPECT_EQ(each.ahead, apart);
      EXPECT_EQ(each.apart, kernel.axes[static_cast<size_t>(inner)].extent);
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(PrefetchPlan, ATileOfASingleRowGoesOnAlongIt) {
  // A grid over tiles of 4096 columns, in each a loop over rows, in which lanes run.
  const Extent rows = Extent::name("rows");
  const Extent cols = Extent::name("cols");
  const Extent tile = 4096;
  loops::Kernel kernel;
  kernel.axes = {{.extent = ceildiv(cols, tile), .name = "tiles"},
                 {.extent = rows, .name = "i"},
                 {.extent = tile, .name = "j", .tile_of = 0, .total = cols, .binding = loops::Binding::lanes}};
  kernel.buffers = {{.dtype = Dtype::f32, .role = loops::Role::input, .elements = rows * cols},
                    {.dtype = Dtype::f32, .role = loops::Role::output, .elements = rows * cols}};
  const loops::Affine at = {.base = 0, .terms = {{0, tile}, {1, cols}, {2, 1}}};
  kernel.values = {{.what = loops::Load{.buffer = 0, .at = at, .inside = {}, .lookups = {}}}};
  loops::Loop lanes{.axis = 2, .begins = {}, .body = {}};
  lanes.body.push_back({loops::Define{0}});
  lanes.body.push_back({loops::Store{.buffer = 1, .at = at, .inside = {}, .value = 0}});
  loops::Loop each_row{.axis = 1, .begins = {}, .body = {}};
  each_row.body.push_back({std::move(lanes)});
  kernel.phases = {{.grid = {0}, .body = {}}};
  kernel.phases[0].body.push_back({std::move(each_row)});

  int found = 0;
  for (const auto& [loop, fetched] : plan_prefetches(kernel)) {
    for (const Prefetch& each : fetched) {
      EXPECT_EQ(each.ahead, cols) << "from row to row";
      EXPECT_EQ(each.single, (Prefetch::SingleRow{.iterations = rows, .ahead = tile}));
      ++found;
    }
  }
  EXPECT_EQ(found, 2) << "what is read and what is written";

  const loops::Kernel whole_rows = softmax_case().kernel;
  for (const auto& [loop, fetched] : plan_prefetches(whole_rows)) {
    for (const Prefetch& each : fetched)
      EXPECT_FALSE(each.single);
  }
}

TEST(PrefetchPlan, NothingInsideALoopInsideAVectorisedOne) {
  for (const auto& [loop, fetched] : plan_prefetches(column_sums_case().kernel)) {
    for (const Prefetch& each : fetched)
      EXPECT_TRUE(each.writes);
  }
}

TEST(PrefetchPlan, IsInTheCode) {
  for (const auto& [name, instruction] : {std::pair("x86-64-v3", "\tprefetch"), std::pair("armv8.2", "\tprfm")}) {
    const Target target = target_of(machine_named(name));
    const std::string code = emit_assembly(kernel_request(softmax_case().kernel, target), target);
    EXPECT_NE(code.find(instruction), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tenon::codegen::prefetch_plan_test
