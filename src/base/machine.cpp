#include "tenon/machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/fail.h"
#include "base/host_cpu.h"

namespace tenon {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kMHz = 1'000'000;
constexpr int64_t kGBs = 1'000'000'000;  // gigabytes a second
constexpr int64_t kPtx = 80;             // that drivers take since CUDA 12.0

Machine find_this_machine() { return {.name = "host", .facts = host_cpu()}; }

std::vector<Machine> make_named_machines() {
  using enum CpuFeature;
  const CpuMachine v4{
      .instructions = InstructionSet::x86_64_v4, .cores = 16, .first_cache = 48 * kKiB, .second_cache = 2 * kMiB};
  CpuMachine amx = v4;
  amx.features = {avxvnni, avx512vnni, avx512vbmi, avx512vbmi2, avx512bf16, avx512fp16, amx_tile, amx_bf16, amx_int8};
  const CpuMachine arm{
      .instructions = InstructionSet::armv8_2, .cores = 16, .first_cache = 64 * kKiB, .second_cache = kMiB};
  CpuMachine matrices = arm;
  matrices.features = {fp16fml, i8mm, bf16};
  CpuMachine scalable = matrices;
  scalable.sve_bits = 128;
  scalable.second_cache = 2 * kMiB;
  return {
      {"x86-64-v2", CpuMachine{.instructions = InstructionSet::x86_64_v2, .cores = 4, .second_cache = 256 * kKiB}},
      {"x86-64-v3", CpuMachine{.instructions = InstructionSet::x86_64_v3, .cores = 8, .second_cache = 512 * kKiB}},
      {"x86-64-v4", v4},
      {"x86-64-v4-amx", amx},
      {"armv8.2", arm},
      {"armv8.2-sve512", CpuMachine{.instructions = InstructionSet::arm64,
                                    .features = {lse, fullfp16, rdm},
                                    .sve_bits = 512,
                                    .cores = 48,
                                    .first_cache = 64 * kKiB,
                                    .second_cache = 512 * kKiB}},
      {"armv8.6", matrices},
      {"armv9", scalable},
      {"sm_80", GpuMachine{.architecture = "sm_80",
                           .multiprocessors = 108,
                           .clock = 1410 * kMHz,
                           .memory = 80 * kGiB,
                           .bandwidth = 2039 * kGBs,
                           .second_cache = 40 * kMiB,
                           .shared_memory = 164 * kKiB,
                           .block_shared_memory = 163 * kKiB,
                           .registers = 65536,
                           .threads = 2048,
                           .ptx = kPtx}},
      {"sm_86", GpuMachine{.architecture = "sm_86",
                           .multiprocessors = 82,
                           .clock = 1695 * kMHz,
                           .memory = 24 * kGiB,
                           .bandwidth = 936 * kGBs,
                           .second_cache = 6 * kMiB,
                           .shared_memory = 100 * kKiB,
                           .block_shared_memory = 99 * kKiB,
                           .registers = 65536,
                           .threads = 1536,
                           .ptx = kPtx}},
      {"sm_89", GpuMachine{.architecture = "sm_89",
                           .multiprocessors = 58,
                           .clock = 2040 * kMHz,
                           .memory = 24 * kGiB,
                           .bandwidth = 300 * kGBs,
                           .second_cache = 48 * kMiB,
                           .shared_memory = 100 * kKiB,
                           .block_shared_memory = 99 * kKiB,
                           .registers = 65536,
                           .threads = 1536,
                           .ptx = kPtx}},
      {"sm_90a", GpuMachine{.architecture = "sm_90a",
                            .multiprocessors = 132,
                            .clock = 1980 * kMHz,
                            .memory = 80 * kGiB,
                            .bandwidth = 3350 * kGBs,
                            .second_cache = 50 * kMiB,
                            .shared_memory = 228 * kKiB,
                            .block_shared_memory = 227 * kKiB,
                            .registers = 65536,
                            .threads = 2048,
                            .ptx = kPtx}},
  };
}

/// All but this one, in the order in which they are listed.
const std::vector<Machine>& named_machines() {
  static const std::vector<Machine> machines = make_named_machines();
  return machines;
}

template <class Facts>
auto& facts_of(auto& machine, const char* wanted) {
  if (auto* const facts = std::get_if<Facts>(&machine.facts)) return *facts;
  fail("machine `{}` is a {}, and a {} is wanted", machine.name, machine.is_gpu() ? "GPU" : "CPU", wanted);
}

}  // namespace

const CpuMachine& Machine::cpu() const { return facts_of<CpuMachine>(*this, "CPU"); }
CpuMachine& Machine::cpu() { return facts_of<CpuMachine>(*this, "CPU"); }
const GpuMachine& Machine::gpu() const { return facts_of<GpuMachine>(*this, "GPU"); }
GpuMachine& Machine::gpu() { return facts_of<GpuMachine>(*this, "GPU"); }

const Machine& this_machine() {
  static const Machine machine = find_this_machine();
  return machine;
}

Machine machine_named(std::string_view name) {
  if (name == this_machine().name) return this_machine();
  const auto found = std::ranges::find(named_machines(), name, &Machine::name);
  if (found == named_machines().end()) {
    fail("there is no machine `{}`; the machines are {}", name, fmt::join(machine_names(), ", "));
  }
  return *found;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names = {this_machine().name};
  std::ranges::transform(named_machines(), std::back_inserter(names), &Machine::name);
  return names;
}

}  // namespace tenon
