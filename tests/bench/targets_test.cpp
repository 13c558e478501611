// Code for other machines can be made on any: every kernel of the table, for each target.
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "compiler/inspect.h"
#include "support/count_graphs.h"

namespace bench::targets_test {
namespace {

namespace compiler = tenon::compiler;

compiler::Lowered lowered_for(const tenon::Graph& graph, std::string_view target) {
  tenon::CompileReport report;
  return compiler::lower(graph, {.machine = tenon::machine_named(target)}, report);
}

class Targets : public testing::TestWithParam<const char*> {};

TEST_P(Targets, EveryKernelOfTheTableIsEmitted) {
  if (!tenon::backend::has_native_code()) {
    GTEST_SKIP() << "this build makes no machine code";
  }
  const std::string target = GetParam();
  const std::string register_name = target == "armv8.2" ? ".4s" : target == "x86-64-v4" ? "%zmm" : "%ymm";
  for (const CountGraph& each : count_graphs()) {
    const compiler::Lowered lowered = lowered_for(each.graph, target);
    for (int64_t step = 1; step <= std::ssize(lowered.steps()); ++step) {
      const std::string code = step_assembly(lowered, step);
      EXPECT_NE(code.find(register_name), std::string::npos) << each.name;
      EXPECT_EQ(target == "x86-64-v3" && code.find("%zmm") != std::string::npos, false) << each.name;
    }
  }
}

TEST_P(Targets, EveryKernelWithProductsIsEmitted) {
  if (!tenon::backend::has_native_code()) {
    GTEST_SKIP() << "this build makes no machine code";
  }
  for (const CountGraph& each : product_graphs()) {
    const compiler::Lowered lowered = lowered_for(each.graph, GetParam());
    std::string code;
    for (int64_t step = 1; step <= std::ssize(lowered.steps()); ++step) {
      code += step_assembly(lowered, step);
    }
    EXPECT_NE(code.find("tenon_product_f32"), std::string::npos) << each.name;
    EXPECT_EQ(std::string_view(GetParam()) == "x86-64-v3" && code.find("%zmm") != std::string::npos, false)
        << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Targets, testing::Values("x86-64-v3", "x86-64-v4", "armv8.2"), [](const auto& each) {
  std::string name = each.param;
  std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
  return name;
});

}  // namespace
}  // namespace bench::targets_test
