#include "native/target.h"

#include <algorithm>
#include <ranges>

#include "base/cpu_features.h"
#include "base/fail.h"

namespace tenon::codegen {

namespace {

/// Those that `is_named` holds for, as LLVM reads them.
std::string feature_text(const auto& is_named) {
  std::string text;
  for (const CpuFeatureRow& row : cpu_features()) {
    if (is_named(row.feature)) text += fmt::format("{}+{}", text.empty() ? "" : ",", row.name);
  }
  return text;
}

Target x86_target(const CpuMachine& cpu) {
  const bool has_avx512 = cpu.instructions == InstructionSet::x86_64_v4;
  Target target;
  target.name = name(cpu.instructions);
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = target.name;
  // A level is all or nothing: what it lacks is named, and nothing that it has.
  const CpuMachine level{.instructions = cpu.instructions};
  target.features = feature_text([&](CpuFeature each) { return cpu.has(each) && !level.has(each); });
  target.vector_bits = has_avx512 ? 512 : cpu.has(CpuFeature::avx2) ? 256 : 128;
  target.vector_registers = has_avx512 ? 32 : 16;
  target.fma = cpu.has(CpuFeature::fma);
  target.f16_convert = cpu.has(CpuFeature::f16c);
  target.f16_math = cpu.has(CpuFeature::avx512fp16);
  target.bf16_dot = cpu.has(CpuFeature::avx512bf16);
  target.i8_dot = cpu.has(CpuFeature::avx512vnni) || (cpu.has(CpuFeature::avxvnni) && !has_avx512);
  return target;
}

Target arm64_target(const CpuMachine& cpu) {
  constexpr int kSveUsed = 512;
  Target target;
  target.name = name(cpu.instructions);
  target.triple = "aarch64-unknown-linux-gnu";
  target.cpu = "generic";
  target.features = feature_text([&](CpuFeature each) { return cpu.has(each); });
  target.vector_bits = 128;
  target.vector_registers = 32;
  target.sve_bits = cpu.sve_bits == kSveUsed ? kSveUsed : 0;
  target.fma = true;
  target.f16_convert = true;
  target.f16_math = cpu.has(CpuFeature::fullfp16);
  target.bf16_dot = cpu.has(CpuFeature::bf16);
  target.i8_dot = cpu.has(CpuFeature::dotprod);
  target.bf16_matmul = cpu.has(CpuFeature::bf16);
  target.i8_matmul = cpu.has(CpuFeature::i8mm);
  target.lane_operands = true;
  return target;
}

}  // namespace

const Target& host_target() {
  static const Target target = target_of(this_machine());
  return target;
}

Target target_of(const Machine& machine) {
  const CpuMachine& cpu = machine.cpu();
  if (cpu.instructions == InstructionSet::other) {
    fail("native code is made for x86-64 and for ARM64 under Linux; machine `{}` is neither", machine.name);
  }
  return is_arm(cpu.instructions) ? arm64_target(cpu) : x86_target(cpu);
}

bool runs_on(const Target& code, const Target& machine) {
  const auto has = [&](std::string_view feature) {
    return std::ranges::any_of(std::views::split(std::string_view(machine.features), ','),
                               [&](auto each) { return std::string_view(each.begin(), each.end()) == feature; });
  };
  // Names of levels sort as the levels do.
  return code.triple == machine.triple && code.cpu <= machine.cpu &&
         (code.sve_bits == 0 || code.sve_bits == machine.sve_bits) &&
         std::ranges::all_of(std::views::split(std::string_view(code.features), ','), [&](auto each) {
           return each.empty() || has(std::string_view(each.begin(), each.end()));
         });
}

std::string code_identity(const Target& target) {
  return fmt::format("{} {} {} {} {}", target.triple, target.cpu, target.features, target.vector_bits, target.sve_bits);
}

std::string describe(const Target& target) {
  return fmt::format("{}, {}-bit vectors{}", target.name, target.vector_bits, target.fma ? ", fma" : "");
}

MathOptions math_options(const Target& target) {
  const bool is_x86 = target.triple.starts_with("x86_64");
  const bool has_avx512 = is_x86 && target.vector_bits == 512;
  return {.fma = target.fma,
          .f16 = target.f16_convert,
          .scale = has_avx512,
          .tables = has_avx512,
          .limits = !is_x86,
          .loads_addends = target.triple.starts_with("aarch64")};
}

}  // namespace tenon::codegen
