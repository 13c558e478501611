#include "native/target.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include "base/cpu_features.h"
#include "codegen/llvm_text.h"
#include "codegen/targets.h"
#include "support/error_text.h"

namespace tenon::codegen::target_test {
namespace {

constexpr uint64_t bit(int position) { return uint64_t{1} << position; }

TEST(Target, LevelsOfX86) {
  const Target v2 = target_of(machine_named("x86-64-v2"));
  EXPECT_EQ(v2.vector_bits, 128);
  EXPECT_FALSE(v2.fma);
  EXPECT_FALSE(v2.f16_convert);
  const Target v3 = target_of(machine_named("x86-64-v3"));
  EXPECT_EQ(v3.vector_bits, 256);
  EXPECT_EQ(v3.lanes(32), 8);
  EXPECT_EQ(v3.vector_registers, 16);
  EXPECT_TRUE(v3.fma);
  EXPECT_FALSE(v3.i8_dot);
  const Target v4 = target_of(machine_named("x86-64-v4"));
  EXPECT_EQ(v4.vector_bits, 512);
  EXPECT_EQ(v4.vector_registers, 32);
  EXPECT_EQ(v4.cpu, "x86-64-v4");
  EXPECT_EQ(v4.features, "");
}

TEST(Target, FeaturesBeyondALevel) {
  const Target target = x86_target(4, {CpuFeature::avx512vnni, CpuFeature::avx512bf16});
  EXPECT_EQ(target.features, "+avx512vnni,+avx512bf16");
  EXPECT_TRUE(target.i8_dot);
  EXPECT_TRUE(target.bf16_dot);
  EXPECT_FALSE(target.f16_math);
  // A virtual machine that hides one bit of level 3 still has its registers.
  const Target hidden = x86_target(2, {CpuFeature::avx2, CpuFeature::fma});
  EXPECT_EQ(hidden.vector_bits, 256);
  EXPECT_TRUE(hidden.fma);
  EXPECT_FALSE(hidden.f16_convert);
}

TEST(Target, ArmGoesByCapabilityWords) {
  const Target plain = arm64_target(0, 0);
  EXPECT_EQ(plain.cpu, "generic");
  EXPECT_EQ(plain.features, "");
  EXPECT_EQ(plain.vector_registers, 32);
  EXPECT_TRUE(plain.fma);
  EXPECT_FALSE(plain.i8_dot);
  const Target rich = arm64_target(bit(20) | bit(22), bit(1) | bit(13) | bit(14));  // dotprod, SVE; SVE2, i8mm, bf16
  EXPECT_EQ(rich.features, "+dotprod,+i8mm,+bf16");
  EXPECT_TRUE(rich.i8_dot);
  EXPECT_TRUE(rich.i8_matmul);
  EXPECT_TRUE(rich.bf16_dot);
  EXPECT_FALSE(rich.f16_math);
  EXPECT_TRUE(rich.bf16_matmul);
  EXPECT_EQ(rich.vector_bits, 128);
}

TEST(Target, ArmUsesSveWhereItsVectorsAreLong) {
  EXPECT_EQ(arm64_target(bit(22), 0, 512).sve_bits, 512);
  EXPECT_EQ(arm64_target(bit(22), 0, 256).sve_bits, 0);
  EXPECT_EQ(arm64_target(0, 0, 512).sve_bits, 0);
  const Target wide = arm64_target(bit(22), 0, 512);
  EXPECT_EQ(wide.vector_bits, 128);
  EXPECT_FALSE(runs_on(wide, arm64_target(bit(22), 0, 256)));
  EXPECT_TRUE(runs_on(arm64_target(bit(22), 0, 256), wide));
}

TEST(Target, OfMachines) {
  EXPECT_EQ(target_of(machine_named("armv8.2")).features, "+lse,+fullfp16,+rdm,+dotprod");
  EXPECT_EQ(target_of(this_machine()), host_target());
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8.2"}) {
    EXPECT_EQ(target_of(machine_named(name)).name, name);
  }
  const Target amx = target_of(machine_named("x86-64-v4-amx"));
  EXPECT_EQ(amx.features,
            "+avxvnni,+avx512vnni,+avx512vbmi,+avx512vbmi2,+avx512bf16,+avx512fp16,+amx-tile,+amx-bf16,+amx-int8");
  EXPECT_TRUE(amx.bf16_dot && amx.i8_dot && amx.f16_math);
  EXPECT_FALSE(target_of(machine_named("armv8.2")).i8_matmul);
  const Target matrices = target_of(machine_named("armv8.6"));
  EXPECT_EQ(matrices.features, "+lse,+fullfp16,+rdm,+dotprod,+fp16fml,+i8mm,+bf16");
  EXPECT_TRUE(matrices.i8_matmul && matrices.bf16_matmul);
  EXPECT_EQ(target_of(machine_named("armv9")), matrices);  // SVE of 128 bits is not used
  EXPECT_EQ(target_of(machine_named("armv8.2-sve512")).sve_bits, 512);
  EXPECT_EQ(error_text([] { target_of(machine_named("sm_80")); }), "machine `sm_80` is a GPU, and a CPU is wanted");
  EXPECT_EQ(error_text([] { target_of({.name = "z80"}); }),
            "native code is made for x86-64 and for ARM64 under Linux; machine `z80` is neither");
}

/// Facts that went through a file are the same, and what all processors of a set have need not be said.
TEST(Target, IsByTheFactsAlone) {
  EXPECT_EQ(target_of(parse_machine(to_text(this_machine()))), host_target());
  const Target level = x86_target(3);
  EXPECT_EQ(x86_target(3, {CpuFeature::avx2, CpuFeature::fma}), level);
  Machine machine = machine_named("x86-64-v3");
  machine.name = "renamed";
  machine.cpu().cores = 3;
  machine.cpu().last_cache = 1;
  EXPECT_EQ(target_of(machine), level);
}

#if defined(__x86_64__)
/// LLVM reads the processor in its own way. It does not ask the system for the matrix unit, which may refuse it.
TEST(Target, OfThisHostHasTheFeaturesThatLlvmFinds) {
  const llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  const CpuMachine& cpu = this_machine().cpu();
  for (const CpuFeatureRow& row : cpu_features()) {
    if (!may_have(cpu.instructions, row.feature)) continue;
    const auto entry = found.find(row.name);
    const bool has = entry != found.end() && entry->second;
    if (cpu.has(row.feature)) {
      EXPECT_TRUE(has) << row.name;
    } else if (!row.name.starts_with("amx")) {
      EXPECT_FALSE(has) << row.name;
    }
  }
}
#endif

TEST(Target, RunsWhereAllOfItsFeaturesAre) {
  EXPECT_TRUE(runs_on(host_target(), host_target()));
  EXPECT_TRUE(runs_on(x86_target(3), x86_target(4, {CpuFeature::avx512bf16})));
  EXPECT_FALSE(runs_on(x86_target(4), x86_target(3)));
  EXPECT_FALSE(runs_on(x86_target(3), x86_target(2, {CpuFeature::avx2, CpuFeature::fma})));
  EXPECT_FALSE(runs_on(x86_target(4, {CpuFeature::avx512bf16}), x86_target(4, {CpuFeature::avx512vnni})));
  const Target arm = target_of(machine_named("armv8.2"));
  EXPECT_TRUE(runs_on(arm, arm64_target(~uint64_t{0}, ~uint64_t{0})));
  EXPECT_TRUE(runs_on(arm64_target(0, 0), arm));
  EXPECT_FALSE(runs_on(arm, arm64_target(bit(8) | bit(10) | bit(12), 0)));  // no dotprod
  EXPECT_FALSE(runs_on(arm, x86_target(4)));
}

TEST(Target, DescribesItself) {
  EXPECT_EQ(describe(target_of(machine_named("x86-64-v4"))), "x86-64-v4, 512-bit vectors, fma");
  EXPECT_EQ(describe(target_of(machine_named("x86-64-v2"))), "x86-64-v2, 128-bit vectors");
  EXPECT_EQ(describe(target_of(machine_named("armv8.2"))), "armv8.2, 128-bit vectors, fma");
}

TEST(Target, CodeForAnyTargetOnAnyHost) {
  for (const std::string& name : machine_names()) {
    if (machine_named(name).is_gpu()) continue;
    const Target target = target_of(machine_named(name));
    const Jit::Request request = sum_request(target.lanes(32));
    EXPECT_FALSE(emit_object(request, target).empty()) << name;
    EXPECT_NE(emit_assembly(request, target).find("sum"), std::string::npos) << name;
  }
}

TEST(Target, WideRegistersExactlyWhereTheyAre) {
  const Jit::Request request = sum_request(16);
  const std::string v4 = emit_assembly(request, target_of(machine_named("x86-64-v4")));
  EXPECT_NE(v4.find("zmm"), std::string::npos) << v4;
  const std::string v3 = emit_assembly(request, target_of(machine_named("x86-64-v3")));
  EXPECT_EQ(v3.find("zmm"), std::string::npos) << v3;
  EXPECT_NE(v3.find("ymm"), std::string::npos) << v3;
  const std::string v2 = emit_assembly(request, target_of(machine_named("x86-64-v2")));
  EXPECT_EQ(v2.find("ymm"), std::string::npos) << v2;
  const std::string arm = emit_assembly(request, target_of(machine_named("armv8.2")));
  EXPECT_NE(arm.find("fadd\tv"), std::string::npos) << arm;
}

TEST(Target, ProductsAndSumsFuseOnlyWhenAsked) {
  const Jit::Request apart = request_of("f", R"(
    define <4 x float> @f(<4 x float> %a, <4 x float> %b, <4 x float> %c) {
      %product = fmul <4 x float> %a, %b
      %sum = fadd <4 x float> %product, %c
      ret <4 x float> %sum
    })");
  const Jit::Request fused = request_of("f", R"(
    define <4 x float> @f(<4 x float> %a, <4 x float> %b, <4 x float> %c) {
      %sum = call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %c)
      ret <4 x float> %sum
    }
    declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>))");
  for (const char* name : {"x86-64-v3", "armv8.2"}) {
    const Target target = target_of(machine_named(name));
    const std::string instruction = target.cpu == "generic" ? "fmla" : "vfmadd";
    EXPECT_EQ(emit_assembly(apart, target).find(instruction), std::string::npos) << name;
    EXPECT_NE(emit_assembly(fused, target).find(instruction), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tenon::codegen::target_test
