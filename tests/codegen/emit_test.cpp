// Hand-built kernels as native code, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/native_kernel.h"
#include "disk/build_id.h"
#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"

namespace tenon::codegen::emit_test {
namespace {

const std::vector<int64_t> kSizes = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 1003};

std::vector<loops::Kernel> kernels_of(const std::vector<LoopCase>& cases) {
  std::vector<loops::Kernel> kernels;
  for (const LoopCase& each : cases)
    kernels.push_back(each.kernel);
  return kernels;
}

/// All cases, compiled together.
struct Compiled {
  std::vector<LoopCase> cases = loop_cases();
  std::vector<KernelFunction> functions = compile_all(kernels_of(cases));
};

const Compiled& compiled() {
  static const Compiled all;
  return all;
}

void expect_equal_status(const KernelStatus& actual, const KernelStatus& expected) {
  EXPECT_EQ(actual.failed, expected.failed);
  if (actual.failed != 0) {
    EXPECT_EQ(actual.position, expected.position);
    EXPECT_EQ(actual.size, expected.size);
  }
}

void expect_outputs(const LoopCase& each, const std::vector<Array>& actual, const std::vector<Array>& expected) {
  for (size_t i = 0; i < actual.size(); ++i) {
    const loops::Buffer& buffer = each.kernel.buffers[i];
    if (buffer.role == loops::Role::input) {
      EXPECT_TRUE(same(actual[i], expected[i])) << "input " << i << " has changed";
    }
    if (buffer.role != loops::Role::output) continue;
    EXPECT_TRUE(close(actual[i], expected[i], is_float(buffer.dtype) ? each.relative : 0,
                      is_float(buffer.dtype) ? each.absolute : 0))
        << "output " << i;
  }
}

TEST(EmitKernel, AgreesWithPlainLoopsAtEverySize) {
  for (size_t i = 0; i < compiled().cases.size(); ++i) {
    const LoopCase& each = compiled().cases[i];
    for (const Bindings& bindings : loop_bindings(kSizes)) {
      SCOPED_TRACE(each.name + " at " + bindings.to_string());
      std::vector<Array> expected = make_buffers(each.kernel, bindings, 1);
      each.prepare(bindings, expected);
      std::vector<Array> actual = guarded(expected);
      const KernelStatus status = launch(each.kernel, compiled().functions[i], bindings, actual);
      expect_equal_status(status, each.reference(bindings, expected));
      if (status.failed == 0) expect_outputs(each, actual, expected);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(EmitKernel, GivesTheSameBitsForAnySplitOfTheGrid) {
  for (size_t i = 0; i < compiled().cases.size(); ++i) {
    const LoopCase& each = compiled().cases[i];
    for (const Bindings& bindings : loop_bindings({33, 1003})) {
      SCOPED_TRACE(each.name + " at " + bindings.to_string());
      std::vector<Array> whole = make_buffers(each.kernel, bindings, 2);
      each.prepare(bindings, whole);
      const std::vector<Array> before = whole;
      if (launch(each.kernel, compiled().functions[i], bindings, whole).failed != 0) continue;
      for (const int64_t chunk : {1, 2, 3}) {
        std::vector<Array> split = before;
        launch(each.kernel, compiled().functions[i], bindings, split, chunk);
        for (size_t k = 0; k < whole.size(); ++k)
          EXPECT_TRUE(same(split[k], whole[k])) << chunk;
      }
    }
  }
}

TEST(EmitKernel, MakesCodeForOtherMachines) {
  for (const char* name : {"x86-64-v3", "x86-64-v4", "armv8.2"}) {
    const Target target = target_of(machine_named(name));
    for (const LoopCase& each : compiled().cases) {
      EXPECT_GT(emit_object(kernel_request(each.kernel, target), target).size(), 200u) << each.name << " for " << name;
    }
  }
}

TEST(EmitKernel, UsesTheWidestRegisters) {
  const loops::Kernel kernel = elementwise_case().kernel;
  const auto assembly = [&](const char* name) {
    const Target target = target_of(machine_named(name));
    return emit_assembly(kernel_request(kernel, target), target);
  };
  EXPECT_NE(assembly("x86-64-v4").find("%zmm"), std::string::npos);
  EXPECT_EQ(assembly("x86-64-v3").find("%zmm"), std::string::npos);
  EXPECT_NE(assembly("x86-64-v3").find("%ymm"), std::string::npos);
  EXPECT_NE(assembly("armv8.2").find(".4s"), std::string::npos);
}

TEST(CompileKernels, CompilesKernelsThatDifferInNamesOnce) {
  Jit jit(native_options());
  loops::Kernel a = elementwise_case().kernel;
  loops::Kernel b = a;
  b.name = "another";
  for (loops::Axis& axis : b.axes)
    axis.name += "_too";
  const std::vector<const loops::Kernel*> both = {&a, &b};
  const std::vector<KernelFunction> functions = compile_kernels(both, jit);
  EXPECT_EQ(functions[0], functions[1]);
  EXPECT_EQ(jit.counters().compiled, 1);
}

TEST(CompileKernels, OptionsAreOtherCode) {
  const loops::Kernel kernel = elementwise_case().kernel;
  EXPECT_NE(kernel_request(kernel, host_target(), {.nontemporal_bytes = 1}).key,
            kernel_request(kernel, host_target(), {.nontemporal_bytes = 2}).key);
}

TEST(CompileKernels, TheEmitterHasAVersion) {
  EXPECT_GE(disk::build_id().size(), 8u);
  EXPECT_EQ(disk::build_id(), kernel_jit_options().emitter);
}

}  // namespace
}  // namespace tenon::codegen::emit_test
