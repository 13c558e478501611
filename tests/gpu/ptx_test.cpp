// PTX of kernels: NVIDIA's assembler takes it.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "compiler/lowered.h"
#include "devices/gpu/gpu_scan.h"
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
  int at = 0;  // the assembler takes half a minute for all of them, so only one architecture has all
  for (const ModelCase& each : model_cases()) {
    if (at++ % 3 != 0 && GetParam() != std::string_view("sm_90a")) continue;
    const Model model = each.build();
    CompileReport report;
    const compiler::Lowered lowered = compiler::lower(model.graph, {.machine = machine()}, report);
    EXPECT_EQ(assemble(code(lowered.kernels())), "") << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(On, Ptx, testing::Values("sm_90a"));
INSTANTIATE_TEST_SUITE_P(On, SlowPtx, testing::Values("sm_80", "sm_90a"));

/// Instructions on matrices, where operands are rounded to fewer bits or have fewer.
TEST_P(Ptx, OfProductsOfFewerBitsHasInstructionsOnMatrices) {
  const auto instructions_of = [&](Dtype dtype, Precision precision) {
    const Value x = input("x", shape(dtype, "m", "k"));
    const Value y = input("y", shape(dtype, "k", "n"));
    CompileReport report;
    const compiler::Lowered lowered = compiler::lower(Graph({x, y}, {{"z", relu(matmul(x, y))}}),
                                                      {.machine = machine(), .precision = precision}, report);
    const devices::Module module = code(lowered.kernels());
    EXPECT_EQ(assemble(module), "") << name(dtype) << ", " << name(precision);
    std::set<std::string> found;
    for (const devices::CodeObject& object : module.objects) {
      const std::string text(object.bytes->begin(), object.bytes->end());
      const std::string begin = "mma.sync.aligned.";
      for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
        found.insert(text.substr(at + begin.size(), text.find_first_of(" \t\n", at) - at - begin.size()));
    }
    return found;
  };
  using Found = std::set<std::string>;
  EXPECT_EQ(instructions_of(f32, Precision::f32), Found{});
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::f16})
    EXPECT_EQ(instructions_of(f32, precision), Found{"m16n8k8.row.col.f32.tf32.tf32.f32"}) << name(precision);
  EXPECT_EQ(instructions_of(bf16, Precision::f32), Found{"m16n8k16.row.col.f32.bf16.bf16.f32"});
  EXPECT_EQ(instructions_of(f16, Precision::f32), Found{"m16n8k16.row.col.f32.f16.f16.f32"});
}

TEST_P(Ptx, OfScansAssembles) {
  for (const Dtype dtype : {f32, f64, f16, i32, i64}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::max, ReduceOp::min}) {
      for (const bool turned : {false, true}) {
        const std::string text = devices::scan_ptx({.op = op, .exclusive = turned, .reverse = turned}, dtype);
        devices::Module module;
        module.target = GetParam();
        module.objects.push_back({"scan", std::make_shared<const std::vector<char>>(text.begin(), text.end())});
        EXPECT_EQ(assemble(module), "") << name(dtype);
      }
    }
  }
}

/// What CPUs call functions for.
TEST_P(Ptx, OfFunctionsOfF64AndPowersAssembles) {
  const Value x = input("x", shape(f64, "n"));
  const Value y = input("y", shape(f64, "n"));
  const Value n = input("n", shape(i64, "n"));
  const Value far = input("far", shape(f32, "n"));
  CompileReport report;
  const Graph graph({x, y, n, far}, {{"a", exp(x) + log(x) + log1p(x) + expm1(x) + tanh(x) + erf(x)},
                                     {"b", sin(x) + cos(x) + pow(x, y) + mod(x, y) + atan2(x, y)},
                                     {"c", pow(n, n)},
                                     {"d", mod(far, far * 3.0)}});
  const compiler::Lowered lowered = compiler::lower(graph, {.machine = machine()}, report);
  EXPECT_EQ(assemble(code(lowered.kernels())), "");
}

TEST_P(Ptx, OfSinesAssembles) {
  const Value x = input("x", shape(f32, "n"));
  CompileReport report;
  const compiler::Lowered lowered =
      compiler::lower(Graph({x}, {{"y", sin(x) * cos(x)}}), {.machine = machine()}, report);
  EXPECT_EQ(assemble(code(lowered.kernels())), "");
}

}  // namespace
}  // namespace tenon::ptx_test
