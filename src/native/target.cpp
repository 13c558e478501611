#include "native/target.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "base/fail.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace tenon::codegen {

namespace {

std::string feature_text(const std::vector<std::string>& features) {
  std::string text;
  for (const std::string& feature : features) {
    text += (text.empty() ? "+" : ",+") + feature;
  }
  return text;
}

// A bit of Linux's capability words and the feature that it stands for. The numbers are part of the kernel's interface;
// asm/hwcap.h has them on ARM alone.
struct ArmCapability {
  int word;
  int bit;
  const char* feature;
};
constexpr std::array kArmCapabilities = {
    ArmCapability{1, 8, "lse"},      ArmCapability{1, 10, "fullfp16"}, ArmCapability{1, 12, "rdm"},
    ArmCapability{1, 20, "dotprod"}, ArmCapability{1, 23, "fp16fml"},  ArmCapability{2, 13, "i8mm"},
    ArmCapability{2, 14, "bf16"},
};

uint64_t arm_bit(std::string_view feature, int word) {
  for (const ArmCapability& row : kArmCapabilities) {
    if (row.feature == feature && row.word == word) return uint64_t{1} << row.bit;
  }
  return 0;
}

#if defined(__x86_64__)
// The tiles of the matrix unit are large, so the system hands them to a process only when asked.
std::vector<const char*> matrix_unit_features() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return {};
  const auto has = [&](int bit) { return (d >> bit & 1) != 0; };
  if (!has(24)) return {};
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return {};
#else
  return {};
#endif
  std::vector<const char*> features = {"amx-tile"};
  if (has(22)) features.push_back("amx-bf16");
  if (has(25)) features.push_back("amx-int8");
  return features;
}

// The compiler's runtime reads the processor's bits and, for the wide registers, whether the system saves them.
Target detect_host() {
  __builtin_cpu_init();
  int level = 1;
  if (__builtin_cpu_supports("x86-64-v2") != 0) level = 2;
  if (__builtin_cpu_supports("x86-64-v3") != 0) level = 3;
  if (__builtin_cpu_supports("x86-64-v4") != 0) level = 4;
  std::vector<std::string> features;
  const auto add = [&](const char* feature, int supported) {
    if (supported != 0) features.emplace_back(feature);
  };
  if (level < 3) {  // levels are all or nothing; a virtual machine may hide one small bit of level 3
    add("avx", __builtin_cpu_supports("avx"));
    add("avx2", __builtin_cpu_supports("avx2"));
    add("fma", __builtin_cpu_supports("fma"));
    add("f16c", __builtin_cpu_supports("f16c"));
  }
  add("avxvnni", __builtin_cpu_supports("avxvnni"));
  if (level == 4) {
    add("avx512vnni", __builtin_cpu_supports("avx512vnni"));
    add("avx512vbmi", __builtin_cpu_supports("avx512vbmi"));
    add("avx512vbmi2", __builtin_cpu_supports("avx512vbmi2"));
    add("avx512bf16", __builtin_cpu_supports("avx512bf16"));
    add("avx512fp16", __builtin_cpu_supports("avx512fp16"));
    for (const char* feature : matrix_unit_features()) {
      features.emplace_back(feature);
    }
  }
  return x86_target(level, features);
}
#elif defined(__aarch64__) && defined(__linux__)
Target detect_host() {
  constexpr int kGetSveLength = 51;  // PR_SVE_GET_VL: bytes, below flags
  const int length = prctl(kGetSveLength, 0, 0, 0, 0);
  return arm64_target(getauxval(AT_HWCAP), getauxval(AT_HWCAP2), length < 0 ? 0 : 8 * (length & 0xffff));
}
#else
Target detect_host() { fail("native code is made for x86-64 and for ARM64 under Linux; this machine is neither"); }
#endif

}  // namespace

Target x86_target(int level, const std::vector<std::string>& features) {
  TENON_CHECK(level >= 1 && level <= 4, "x86-64 level {}", level);
  const auto has = [&](std::string_view feature) { return std::ranges::find(features, feature) != features.end(); };
  Target target;
  target.name = level == 1 ? "x86-64" : fmt::format("x86-64-v{}", level);
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = target.name;
  target.features = feature_text(features);
  target.vector_bits = level == 4 ? 512 : level == 3 || has("avx2") ? 256 : 128;
  target.vector_registers = level == 4 ? 32 : 16;
  target.fma = level >= 3 || has("fma");
  target.f16_convert = level >= 3 || has("f16c");
  target.f16_math = has("avx512fp16");
  target.bf16_dot = has("avx512bf16");
  target.i8_dot = has("avx512vnni") || (has("avxvnni") && target.vector_bits < 512);
  return target;
}

Target arm64_target(uint64_t hwcap, uint64_t hwcap2, int sve_bits) {
  constexpr int kSve = 22;  // of the first word
  constexpr int kSveUsed = 512;
  std::vector<std::string> features;
  for (const ArmCapability& row : kArmCapabilities) {
    if (((row.word == 1 ? hwcap : hwcap2) >> row.bit & 1) != 0) features.emplace_back(row.feature);
  }
  const auto has = [&](std::string_view feature) { return std::ranges::find(features, feature) != features.end(); };
  Target target;
  target.name = "arm64";
  target.triple = "aarch64-unknown-linux-gnu";
  target.cpu = "generic";
  target.features = feature_text(features);
  target.vector_bits = 128;
  target.vector_registers = 32;
  target.sve_bits = (hwcap >> kSve & 1) != 0 && sve_bits == kSveUsed ? sve_bits : 0;
  target.fma = true;
  target.f16_convert = true;
  target.f16_math = has("fullfp16");
  target.bf16_dot = has("bf16");
  target.i8_dot = has("dotprod");
  target.bf16_matmul = has("bf16");
  target.i8_matmul = has("i8mm");
  target.lane_operands = true;
  return target;
}

const Target& host_target() {
  static const Target target = detect_host();
  return target;
}

Target target_of(const Machine& machine) {
  switch (machine.instructions) {
    case InstructionSet::host: return host_target();
    case InstructionSet::x86_64_v2: return x86_target(2, {});
    case InstructionSet::x86_64_v3: return x86_target(3, {});
    case InstructionSet::x86_64_v4: return x86_target(4, {});
    case InstructionSet::armv8_2: break;
  }
  Target target =
      arm64_target(arm_bit("lse", 1) | arm_bit("rdm", 1) | arm_bit("fullfp16", 1) | arm_bit("dotprod", 1), 0);
  target.name = name(InstructionSet::armv8_2);
  return target;
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
          .loads_addends = !is_x86};
}

}  // namespace tenon::codegen
