// Random kernels as native code, against the interpreter of the loop IR.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "codegen/native_kernel.h"
#include "codegen/random_kernel.h"
#include "kernel/loop/loop_run.h"
#include "support/arrays.h"

namespace tenon::codegen::emit_random_test {
namespace {

/// Specials among the floats; positions of which a few are out of range when `failing`.
void prepare(std::vector<Array>& buffers, const RandomKernel& kernel, const loops::Kernel& what,
             const Bindings& bindings, bool failing, std::mt19937_64& rng) {
  const std::vector<double> specials = {
      std::numeric_limits<double>::quiet_NaN(), -0.0, std::numeric_limits<double>::infinity(),
      -std::numeric_limits<double>::infinity(), 1e30, 1e-40};
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (what.buffers[i].role != loops::Role::input || !is_float(buffers[i].dtype())) continue;
    std::vector<double> values;
    for (int64_t k = 0; k < buffers[i].size(); ++k) {
      values.push_back(rng() % 37 == 0 ? specials[rng() % specials.size()] : buffers[i].at(k));
    }
    buffers[i] = Array::from<double>(buffers[i].dims(), values).cast(buffers[i].dtype());
  }
  const auto rows = static_cast<uint64_t>(evaluate(Extent::name("rows"), bindings));
  for (const int each : kernel.position_buffers()) {
    for (int64_t& value : buffers[static_cast<size_t>(each)].mutable_values<int64_t>()) {
      value = static_cast<int64_t>(rng() % std::max<uint64_t>(rows, 1));
      if (failing && rng() % 29 == 0) value = rng() % 2 == 0 ? -1 : static_cast<int64_t>(rows);
    }
  }
}

struct Case {
  uint64_t seed = 0;
  RandomKernel random;
  loops::Kernel kernel;
};

std::vector<Case> make_cases(uint64_t first, int count) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    Case& made = cases.emplace_back(Case{.seed = seed, .random = RandomKernel(seed), .kernel = {}});
    made.kernel = made.random.make();
  }
  return cases;
}

/// Outputs and status of both; bits may differ in the sign of a zero, of which either may be an extreme.
void expect_agreement(const Case& each, KernelFunction native, const Bindings& bindings) {
  SCOPED_TRACE(fmt::format("seed {} at {}\n{}", each.seed, bindings.to_string(), loops::to_string(each.kernel)));
  std::mt19937_64 rng(each.seed);
  const bool failing = each.seed % 4 == 0;
  std::vector<Array> expected = make_buffers(each.kernel, bindings, each.seed);
  prepare(expected, each.random, each.kernel, bindings, failing, rng);
  std::vector<Array> actual = guarded(expected);
  std::vector<Array> split = guarded(expected);
  const KernelStatus wanted = launch(each.kernel, loops::interpreted(each.kernel), bindings, expected);
  const KernelStatus status = launch(each.kernel, native, bindings, actual);
  EXPECT_EQ(status.failed != 0, wanted.failed != 0);
  if (status.failed != 0) return;
  launch(each.kernel, native, bindings, split, 1);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(actual[i], expected[i])) << "buffer " << i;
    EXPECT_TRUE(same(split[i], actual[i])) << "buffer " << i << ", one iteration of the grid a call";
  }
}

void run_seeds(uint64_t first, int count, Jit& jit) {
  const std::vector<Case> cases = make_cases(first, count);
  std::vector<loops::Kernel> kernels;
  for (const Case& each : cases)
    kernels.push_back(each.kernel);
  const std::vector<KernelFunction> functions = compile_all(kernels, jit);
  const std::vector<int64_t> columns = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 131, 260};
  for (size_t i = 0; i < cases.size(); ++i) {
    std::mt19937_64 rng(cases[i].seed);
    for (int n = 0; n < 6; ++n) {
      const Bindings bindings = {{"rows", static_cast<int64_t>(rng() % 6)},
                                 {"cols", columns[rng() % columns.size()]},
                                 {"stride", static_cast<int64_t>(rng() % 3)}};
      expect_agreement(cases[i], functions[i], bindings);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(EmitRandomKernels, AgreeWithTheInterpreter) { run_seeds(1, 150, native_jit()); }

/// Narrower vectors, masks for some types alone, no masks at all: each target lays its loops out in another way.
TEST(EmitRandomKernels, AgreeForOlderMachinesThatThisOneIncludes) {
  for (const char* name : {"x86-64-v2", "x86-64-v3"}) {
    SCOPED_TRACE(name);
    JitOptions options = native_options();
    options.target = target_of(machine_named(name));
    if (options.target.triple != host_target().triple || options.target.vector_bits > host_target().vector_bits) {
      GTEST_SKIP() << "this is no " << name;
    }
    Jit jit(options);
    run_seeds(400, 80, jit);
  }
}

TEST(EmitRandomKernels, SlowAgreeWithTheInterpreter) { run_seeds(1000, 1500, native_jit()); }

}  // namespace
}  // namespace tenon::codegen::emit_random_test
