#include "base/host_cpu.h"

#include <algorithm>
#include <array>
#include <thread>

#include "base/host_caches.h"

#if defined(__linux__)
#include <sched.h>
#endif
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

namespace tenon {
namespace {

// A bit of Linux's capability words and the feature that it stands for. The numbers are part of the kernel's interface;
// asm/hwcap.h has them on ARM alone.
struct ArmCapability {
  int word;
  int bit;
  CpuFeature feature;
};
constexpr std::array kArmCapabilities = {
    ArmCapability{1, 8, CpuFeature::lse},      ArmCapability{1, 10, CpuFeature::fullfp16},
    ArmCapability{1, 12, CpuFeature::rdm},     ArmCapability{1, 20, CpuFeature::dotprod},
    ArmCapability{1, 23, CpuFeature::fp16fml}, ArmCapability{2, 13, CpuFeature::i8mm},
    ArmCapability{2, 14, CpuFeature::bf16},
};
constexpr int kArmSve = 22;  // of the first word

/// That this process may run on, which may be fewer than there are: taskset and containers see to that.
int64_t cores_of_process() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return CPU_COUNT(&set);
  }
#endif
  return std::thread::hardware_concurrency();
}

#if defined(__x86_64__)
// The tiles of the matrix unit are large, so the system hands them to a process only when asked.
void add_matrix_unit(CpuMachine& cpu) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
  const auto has = [&](int bit) { return (d >> bit & 1) != 0; };
  if (!has(24)) return;
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return;
#else
  return;
#endif
  cpu.features.insert(CpuFeature::amx_tile);
  if (has(22)) cpu.features.insert(CpuFeature::amx_bf16);
  if (has(25)) cpu.features.insert(CpuFeature::amx_int8);
}

// The compiler's runtime reads the processor's bits and, for the wide registers, whether the system saves them.
CpuMachine host_instructions() {
  __builtin_cpu_init();
  CpuMachine cpu{.instructions = InstructionSet::x86_64};
  if (__builtin_cpu_supports("x86-64-v2") != 0) cpu.instructions = InstructionSet::x86_64_v2;
  if (__builtin_cpu_supports("x86-64-v3") != 0) cpu.instructions = InstructionSet::x86_64_v3;
  if (__builtin_cpu_supports("x86-64-v4") != 0) cpu.instructions = InstructionSet::x86_64_v4;
  const auto add = [&](CpuFeature feature, int supported) {
    if (supported != 0) cpu.features.insert(feature);
  };
  if (cpu.instructions < InstructionSet::x86_64_v3) {
    add(CpuFeature::avx, __builtin_cpu_supports("avx"));
    add(CpuFeature::avx2, __builtin_cpu_supports("avx2"));
    add(CpuFeature::fma, __builtin_cpu_supports("fma"));
    add(CpuFeature::f16c, __builtin_cpu_supports("f16c"));
  }
  add(CpuFeature::avxvnni, __builtin_cpu_supports("avxvnni"));
  if (cpu.instructions == InstructionSet::x86_64_v4) {
    add(CpuFeature::avx512vnni, __builtin_cpu_supports("avx512vnni"));
    add(CpuFeature::avx512vbmi, __builtin_cpu_supports("avx512vbmi"));
    add(CpuFeature::avx512vbmi2, __builtin_cpu_supports("avx512vbmi2"));
    add(CpuFeature::avx512bf16, __builtin_cpu_supports("avx512bf16"));
    add(CpuFeature::avx512fp16, __builtin_cpu_supports("avx512fp16"));
    add_matrix_unit(cpu);
  }
  return cpu;
}
#elif defined(__aarch64__) && defined(__linux__)
CpuMachine host_instructions() {
  constexpr int kGetSveLength = 51;  // PR_SVE_GET_VL: bytes, below flags
  const int length = prctl(kGetSveLength, 0, 0, 0, 0);
  return arm_cpu(getauxval(AT_HWCAP), getauxval(AT_HWCAP2), length < 0 ? 0 : 8 * (length & 0xffff));
}
#else
CpuMachine host_instructions() { return {}; }
#endif

}  // namespace

CpuMachine arm_cpu(uint64_t hwcap, uint64_t hwcap2, int64_t sve_bits) {
  CpuMachine cpu{.instructions = InstructionSet::arm64};
  for (const ArmCapability& row : kArmCapabilities) {
    if (((row.word == 1 ? hwcap : hwcap2) >> row.bit & 1) != 0) cpu.features.insert(row.feature);
  }
  cpu.sve_bits = (hwcap >> kArmSve & 1) != 0 ? sve_bits : 0;
  return cpu;
}

CpuMachine host_cpu() {
  CpuMachine cpu = host_instructions();
  cpu.cores = std::max<int64_t>(1, cores_of_process());
  const HostCaches caches = host_caches();
  if (caches.first > 0) cpu.first_cache = caches.first;
  if (caches.second > 0) cpu.second_cache = caches.second;
  cpu.last_cache = caches.last;
  return cpu;
}

}  // namespace tenon
