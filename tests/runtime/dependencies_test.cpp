// What waits for what, what runs side by side, and that nothing of it shows in results.
#include "runtime/plan/dependencies.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/pool.h"
#include "devices/cpu/cpu_device.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/specialization.h"
#include "runtime/plan/tile_choices.h"
#include "runtime/plan/waves.h"
#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::runtime::dependencies_test {
namespace {

const Extent kN = Extent::name("n");

struct Uses {
  std::vector<int> reads, writes;
};

StepGraph derive(const std::vector<Uses>& steps, size_t places) {
  std::vector<StepUse> uses;
  for (const Uses& step : steps) {
    uses.push_back({.reads = step.reads, .writes = step.writes});
  }
  return derive_dependencies(uses, places);
}

std::vector<int> before(const StepGraph& graph, size_t step) {
  const auto steps = graph.predecessors(step);
  return {steps.begin(), steps.end()};
}

TEST(Dependencies, ReadersWaitForWritersAndWritersForReaders) {
  const StepGraph graph = derive({{{0}, {1}}, {{1}, {2}}, {{1}, {3}}, {{0}, {1}}, {{2, 3}, {0}}, {{}, {4}}}, 5);
  ASSERT_EQ(graph.size(), 6u);
  EXPECT_EQ(before(graph, 0), (std::vector<int>{}));
  EXPECT_EQ(before(graph, 1), (std::vector<int>{0})) << "read after write";
  EXPECT_EQ(before(graph, 2), (std::vector<int>{0}));
  EXPECT_EQ(before(graph, 3), (std::vector<int>{0, 1, 2})) << "write after write, and after reads";
  EXPECT_EQ(before(graph, 4), (std::vector<int>{0, 1, 2, 3})) << "what is overwritten was read by the first and fourth";
  EXPECT_EQ(before(graph, 5), (std::vector<int>{}));
}

TEST(Waves, IndependentStepsJoinWhereItPays) {
  const StepGraph graph = derive({{{0}, {1}}, {{0}, {2}}, {{1}, {3}}, {{2}, {4}}, {{3, 4}, {5}}}, 6);
  const std::vector<double> medium(5, kLeastSharedWork);
  const Waves waves = form_waves(graph, medium, 4);
  EXPECT_EQ(waves.steps, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(waves.first, (std::vector<uint32_t>{0, 2, 4, 5}));

  EXPECT_EQ(form_waves(graph, medium, 1).size(), 0u) << "no second thread";
  EXPECT_EQ(form_waves(graph, std::vector<double>(5, 100), 4).size(), 0u) << "not worth one";
  EXPECT_EQ(form_waves(graph, std::vector<double>(5, 1e9), 4).size(), 0u) << "each has work for all";
  EXPECT_EQ(
      form_waves(derive({{{0}, {1}}, {{1}, {2}}, {{2}, {0}}}, 3), std::vector<double>(3, kLeastSharedWork), 4).size(),
      0u)
      << "a chain";
}

/// Scalings between random buffers, in an order that makes sense. Buffers are written several times.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : rng_(seed), program_("random") {
    buffers_.push_back(program_.input("x", shape(f32, "n")));
    for (int i = 0; i < 8; ++i) {
      buffers_.push_back(i < 6 ? program_.intermediate(f32, kN)
                               : program_.output(fmt::format("y{}", i), shape(f32, "n")));
    }
    written_ = {buffers_[0]};
    for (int i = 0; i < 24; ++i) {
      add_step();
    }
    for (size_t i = 7; i < buffers_.size(); ++i) {  // outputs must have values
      add(buffers_[0], buffers_[i]);
    }
  }

  const ProgramBuilder& builder() const { return program_; }

  /// What each buffer holds after all steps in order.
  std::vector<Array> expected(const Array& x) const {
    std::vector<Array> values(buffers_.size(), x);
    for (const Scale& step : steps_) {
      const Array from = values[static_cast<size_t>(step.from)];
      Array to(f32, from.dims());
      for (size_t i = 0; i < static_cast<size_t>(to.size()); ++i) {
        to.mutable_values<float>()[i] = from.values<float>()[i] * step.factor + 1;
      }
      values[static_cast<size_t>(step.to)] = to;
    }
    return {values.end() - 2, values.end()};
  }

 private:
  struct Scale {
    int from, to;
    float factor;
  };

  void add_step() {
    const int from = written_[rng_() % written_.size()];
    int to = from;
    while (to == from) {
      to = buffers_[1 + rng_() % (buffers_.size() - 1)];
    }
    add(from, to);
  }

  void add(int from, int to) {
    const auto factor = static_cast<float>(1 + rng_() % 7) * 0.25F;
    program_.step(scale_kernel(kN, static_cast<double>(factor), 1), {from, to});
    steps_.push_back({from, to, factor});
    if (std::ranges::find(written_, to) == written_.end()) {
      written_.push_back(to);
    }
  }

  std::mt19937_64 rng_;
  ProgramBuilder program_;
  std::vector<int> buffers_;
  std::vector<int> written_;
  std::vector<Scale> steps_;
};

TEST(Waves, RandomStepsGiveWhatTheyGiveInOrder) {
  Pool pool(4);
  int joined = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const RandomProgram random(seed);
    const Program& program = random.builder().program();
    TileChoices tiles;
    const Specialization s = specialize(program, make_plan(program), {{"n", 30000}}, 4, tiles);
    check_races(program, make_plan(program), s);
    joined += static_cast<int>(std::ranges::count(s.stages, -1, &Stage::step));

    const Executable executable =
        random.builder().executable({}, {.device = std::make_shared<devices::CpuDevice>(pool)});
    std::mt19937_64 rng(seed);
    const Array x = random_array(f32, {30000}, rng);
    const std::vector<Array> expected = random.expected(x);
    for (const int threads : {1, 2, 4}) {
      const std::vector<Array> results = executable.run({x}, {.threads = threads});
      ASSERT_TRUE(same(results[0], expected[0]) && same(results[1], expected[1])) << seed << ", " << threads;
    }
  }
  EXPECT_GT(joined, 30) << "else nothing was tried";
}

TEST(Waves, RacesAreFound) {
  ProgramBuilder builder("race");
  const int x = builder.input("x", shape(f32, "n"));
  const int a = builder.intermediate(f32, kN);
  const int b = builder.intermediate(f32, kN);
  const int y = builder.output("y", shape(f32, "n"));
  const int z = builder.output("z", shape(f32, "n"));
  builder.step(scale_kernel(kN, 1, 0), {x, a});
  builder.step(scale_kernel(kN, 2, 0), {x, b});
  builder.step(scale_kernel(kN, 1, 0), {a, y});
  builder.step(scale_kernel(kN, 1, 0), {b, z});
  const Program& program = builder.program();
  const Plan plan = make_plan(program);
  TileChoices tiles;
  Specialization s = specialize(program, plan, {{"n", 80000}}, 4, tiles);
  ASSERT_EQ(s.stages.size(), 2u);
  check_races(program, plan, s);
  EXPECT_NE(s.offsets[static_cast<size_t>(a)], s.offsets[static_cast<size_t>(b)]);
  s.offsets[static_cast<size_t>(b)] = s.offsets[static_cast<size_t>(a)] + 64;
  EXPECT_THROW(check_races(program, plan, s), InternalError);
}

}  // namespace
}  // namespace tenon::runtime::dependencies_test
