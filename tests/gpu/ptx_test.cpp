// PTX of kernels: NVIDIA's assembler takes it.
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "compiler/lowered.h"
#include "schedule/blocks/map_to_blocks.h"
#include "support/error_text.h"
#include "support/loop_kernels.h"
#include "support/model_cases.h"
#include "support/ptxas.h"
#include "tenon/tenon.h"

namespace tenon::ptx_test {
namespace {

/// As the schedule gives it to a back end.
loops::Kernel mapped(const loops::Kernel& kernel) { return schedule::map_to_blocks(kernel); }

class Ptx : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!backend::has_native_code()) GTEST_SKIP() << "this build makes no code";
    if (!has_ptxas()) GTEST_SKIP() << "there is no ptxas";
  }

  Machine machine() const { return machine_named(GetParam()); }

  devices::Module code(std::span<const loops::Kernel* const> kernels) const {
    return backend::backend_for(machine(), true).compile(kernels, machine(), {}).module;
  }
};

TEST_P(Ptx, OfKernelsAssembles) {
  for (const LoopCase& each : loop_cases()) {
    const loops::Kernel kernel = mapped(each.kernel);
    const loops::Kernel* const one = &kernel;
    EXPECT_EQ(assemble(code({&one, 1})), "") << each.name;
  }
}

using SlowPtx = Ptx;

TEST_P(SlowPtx, OfModelsAssembles) {
  for (const ModelCase& each : model_cases()) {
    const Model model = each.build();
    CompileReport report;
    const compiler::Lowered lowered = compiler::lower(model.graph, {.machine = machine()}, report);
    EXPECT_EQ(assemble(code(lowered.kernels())), "") << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(On, Ptx, testing::Values("sm_90a"));
INSTANTIATE_TEST_SUITE_P(On, SlowPtx, testing::Values("sm_80", "sm_90a"));

TEST_P(Ptx, OfSinesAssembles) {
  const Value x = input("x", shape(f32, "n"));
  CompileReport report;
  const compiler::Lowered lowered =
      compiler::lower(Graph({x}, {{"y", sin(x) * cos(x)}}), {.machine = machine()}, report);
  EXPECT_EQ(assemble(code(lowered.kernels())), "");
}

TEST(PtxOf, FunctionsThatOnlyCpusHaveIsAnError) {
  if (!backend::has_native_code()) GTEST_SKIP() << "this build makes no code";
  const Value x = input("x", shape(f64, "n"));
  const std::string error =
      error_text([&] { compile(Graph({x}, {{"y", exp(x)}}), {.machine = machine_named("sm_80")}); });
  EXPECT_NE(error.find("which there is no code for on GPUs"), std::string::npos) << error;
}

}  // namespace
}  // namespace tenon::ptx_test
