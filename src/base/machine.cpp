#include "tenon/machine.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <array>
#include <thread>

#include "base/fail.h"
#include "base/host_caches.h"

namespace tenon {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;

/// A machine for each instruction set, in the order of these; "host" stands for what is found.
struct NamedMachine {
  InstructionSet instructions;
  std::string_view name;
  int64_t cores, first_cache, second_cache;
};
constexpr std::array kMachines = {
    NamedMachine{InstructionSet::host, "host", 0, 0, 0},
    NamedMachine{InstructionSet::x86_64_v2, "x86-64-v2", 4, 32 * kKiB, 256 * kKiB},
    NamedMachine{InstructionSet::x86_64_v3, "x86-64-v3", 8, 32 * kKiB, 512 * kKiB},
    NamedMachine{InstructionSet::x86_64_v4, "x86-64-v4", 16, 48 * kKiB, 2 * kMiB},
    NamedMachine{InstructionSet::armv8_2, "armv8.2", 16, 64 * kKiB, kMiB},
};

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

Machine find_this_machine() {
  Machine machine;
  machine.cores = std::max<int64_t>(1, cores_of_process());
  const HostCaches& caches = host_caches();
  machine.first_cache = caches.first > 0 ? caches.first : machine.first_cache;
  machine.second_cache = caches.second > 0 ? caches.second : machine.second_cache;
  return machine;
}

}  // namespace

std::string_view name(InstructionSet set) { return kMachines.at(static_cast<size_t>(set)).name; }

const Machine& this_machine() {
  static const Machine machine = find_this_machine();
  return machine;
}

Machine machine_named(std::string_view name) {
  const auto* const found = std::ranges::find(kMachines, name, &NamedMachine::name);
  if (found == kMachines.end()) {
    fail("there is no machine `{}`; the machines are {}", name, fmt::join(machine_names(), ", "));
  }
  if (found->instructions == InstructionSet::host) return this_machine();
  return {.name = std::string(found->name),
          .instructions = found->instructions,
          .cores = found->cores,
          .first_cache = found->first_cache,
          .second_cache = found->second_cache};
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const NamedMachine& machine : kMachines) {
    names.emplace_back(machine.name);
  }
  return names;
}

}  // namespace tenon
